// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace parley::edge {

// The description of the interface, OpenAPI 3.1: src/edge/api/openapi.json with the schema of a
// message, put into the program by the build.
std::string_view openapi();

}  // namespace parley::edge
