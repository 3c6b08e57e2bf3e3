// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"

namespace parley::dialect {

// `2026-11-15T21:06:53Z`, with a fraction of 1 to 9 digits or none (cut to microseconds), with `Z`
// or `+00:00`. None for a date or time that does not exist, another offset, or another form.
std::optional<base::Time> parse_time(std::string_view text);

// `PT5M`, `P1DT2H`, `P2W`, `PT0.5S`: weeks, days, hours, minutes, seconds; a fraction (cut to
// microseconds) in the seconds only. None for years and months, which have no fixed length.
std::optional<base::Duration> parse_iso_duration(std::string_view text);

}  // namespace parley::dialect
