// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace parley::edge::mcp {

// The JSON Schema of an object that is written in short: its members, with spaces between them.
// One is text unless something follows its name: `?` a flag, `#` a whole number, `*` a list of
// texts, `{...}` an object of such members, or `{}` any, `[...]` a list of them. `!` before a name:
// it is always there.
//
//   !id more? messages[!id to* preview]
std::string shape(std::string_view members);

}  // namespace parley::edge::mcp
