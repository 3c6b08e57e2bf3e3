// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "lib/json.h"

namespace parley::dialect {

// What the decoders of all dialects need to read a member, or to say why they cannot.

constexpr std::string_view time_wanted = "a time in UTC such as \"2026-11-15T21:06:53.042Z\"";

// What is there, for an error: short, and cut between characters.
std::string describe(lib::Json value);

// `/` and the key, escaped as a JSON pointer wants it.
std::string pointer_step(std::string_view key);

// The opposite, in quotes: `/a~1b"`, with the quote that ends the pointer, is `"a/b"`.
std::string quoted_key(std::string_view step);

bool is_version_4(const base::Id128& id);
bool has_upper_case(std::string_view text);

// `5m` or `PT5M`; none for anything else.
std::optional<base::Duration> parse_any_duration(std::string_view text);

// A number from 0 to 1 in parts per million, from its digits in JSON: rounded down, or up. A double
// would not tell 0.9499999999999999999 from 0.95.
int32_t parts_per_million(std::string_view digits, bool up);

// Whether a time is written as format_time writes it, so that its text need not be kept.
bool is_canonical_time(std::string_view text);

}  // namespace parley::dialect
