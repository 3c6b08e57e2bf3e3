// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "lib/json.h"

namespace parley::edge {

// Appends the value as it is kept and shown for people to decide on: without the space between its
// parts, each text written in one way, and what cannot be seen or turns the direction of writing
// escaped. So its layout says nothing that the value does not say, and equal values have equal
// digests but for the order of their keys and the form of their numbers.
//
// Fails, with the place, where an object has a key twice: of two values readers would take one or
// the other. `place` is the JSON pointer of the value. What was appended then is of no use.
std::optional<base::Error> append_proposal(std::string& out, lib::Json value,
                                           const std::string& place);

// The first key that the object itself has twice, as an error; nothing when there is none.
std::optional<base::Error> repeated_key(lib::Json object, const std::string& place);

}  // namespace parley::edge
