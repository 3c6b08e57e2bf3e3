// SPDX-License-Identifier: Apache-2.0
#include "lib/file.h"

#include <unistd.h>

#include <cerrno>

namespace parley::lib {

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<size_t>(count));
  }
  return true;
}

}  // namespace parley::lib
