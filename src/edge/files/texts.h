// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace parley::edge::files {

// README.md of the tree: for those who have nothing but file tools.
std::string_view readme_text();
// schema.json of the tree: the schema of squad's messages, as `/openapi.json` has it.
std::string schema_text();

// What files are dated by, and a clock that nobody sets.
base::Time wall_time();
base::Time steady_time();

}  // namespace parley::edge::files
