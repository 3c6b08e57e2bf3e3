// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace parley::edge::tools {

// The JSON Schema of an object that is written in a short form: its members, with spaces between
// them. A member is text unless something follows its name: `?` a flag, `#` a whole number, `*` a
// list of texts, `{...}` an object of such members, `{}` any object, `[...]` a list of such
// objects. A member with `!` before its name is always there.
//
//   !id more? messages[!id to* preview]
std::string schema_of(std::string_view members);

}  // namespace parley::edge::tools
