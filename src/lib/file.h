// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace parley::lib {

// Writes all bytes, however many calls it takes. False: errno says why, and some may be written.
bool write_all(int fd, std::string_view bytes);

}  // namespace parley::lib
