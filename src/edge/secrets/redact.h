// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parley::edge {

// JSON text, whole or cut anywhere, with `***` in place of what looks like a secret: the values of
// members with a name such as password, token or api_key, and words that begin like a known kind of
// token. Stops once the result has `bytes_max` bytes.
std::string redacted(std::string_view json, size_t bytes_max = SIZE_MAX);

}  // namespace parley::edge
