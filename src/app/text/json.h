// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/json.h"

namespace parley::app {

// Prints an answer as it is, but for what a terminal would act on.
void print_json(std::string_view json);

// The value over several lines, for people to read: the layout is ours and not that of its text,
// and what cannot be seen or turns the direction of writing is escaped.
std::string laid_out(lib::Json value);

// The member of an object as text: a string as it is, another value as its JSON. Empty when there
// is no such member.
std::string text_of(lib::Json object, std::string_view key);

}  // namespace parley::app
