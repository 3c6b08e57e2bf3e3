// SPDX-License-Identifier: Apache-2.0
#include "lib/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

namespace parley::lib {
namespace {

TEST(WriteAll, GoesOnAfterAWriteThatTookLess) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const std::string text(1'000'000, 'x');  // more than a pipe holds
  std::string got;
  std::thread reader([&] {
    std::array<char, 4'096> buffer;
    while (true) {
      const ssize_t count = ::read(pipe[0], buffer.data(), buffer.size());
      if (count <= 0) {
        break;
      }
      got.append(buffer.data(), static_cast<size_t>(count));
    }
  });
  EXPECT_TRUE(write_all(pipe[1], text));
  ::close(pipe[1]);
  reader.join();
  ::close(pipe[0]);
  EXPECT_EQ(got, text);
}

TEST(WriteAll, SaysThatItCannot) {
  EXPECT_TRUE(write_all(-1, ""));
  EXPECT_FALSE(write_all(-1, "x"));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace parley::lib
