// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parley::edge {

// JSON text (whole, or cut anywhere) with `***` for what looks like a secret: the values of
// members named like one (password, token, api_key), and words with the shape of a known kind of
// token. Looks no further once `bytes_max` bytes are made.
std::string masked(std::string_view json, size_t bytes_max = SIZE_MAX);

}  // namespace parley::edge
