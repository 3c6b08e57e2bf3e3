// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "lib/json.h"

namespace parley::edge {

// Appends the value as it is kept and shown for people to decide on: without the space between its
// parts, each text written in one way, and what cannot be seen or turns the direction of writing
// escaped. So its layout says nothing that the value does not say, and equal values have equal
// digests but for the order of their keys and the form of their numbers.
//
// Fails, with the place, where an object has a key twice: of two values readers would take one or
// the other. And with payload_too_large where what it appends is longer than `bytes_max`, or the
// value as it was sent four times as long, which is found out before it is written. `place` is the
// JSON pointer of the value. What was appended then is of no use.
std::optional<base::Error> append_proposal(std::string& out, lib::Json value,
                                           std::string_view place, size_t bytes_max = SIZE_MAX);

// What people are asked to approve. What is not there is none, or empty.
struct Proposal {
  lib::Json action;          // none: the summary says it
  std::string_view summary;  // one line
  std::string_view rationale{};
  lib::Json confidence{};
  lib::Json request{};  // the message in which it is asked for, whole
};

// All that people are shown of it, in one text: what they decide on is this and nothing else. Fails
// as append_proposal does.
std::expected<std::string, base::Error> proposal_text(const Proposal& proposal, size_t bytes_max);

// The first key that the object itself has twice, as an error; nothing when there is none.
std::optional<base::Error> repeated_key(lib::Json object, std::string_view place);

}  // namespace parley::edge
