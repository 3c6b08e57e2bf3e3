// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace parley::edge {

// JSON text (whole, or cut anywhere) with `***` for what looks like a secret: the values of
// members named like one (password, token, api_key), and words with the shape of a known kind of
// token.
std::string masked(std::string_view json);

}  // namespace parley::edge
