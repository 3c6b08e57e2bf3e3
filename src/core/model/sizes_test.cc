// SPDX-License-Identifier: Apache-2.0
#include "core/model/sizes.h"

#include <gtest/gtest.h>

#include <string_view>

#include "core/model/envelope.h"

namespace parley::core {
namespace {

// Members of its own that a dialect has stand in another as `extra`. src/dialect/sizes_test.cc
// holds the codecs to the whole.
TEST(Sizes, MembersOfItsOwnCountWithTheNameTheyStandUnder) {
  Envelope e;
  e.body = "1";
  const size_t without = sizes_of(e).whole;
  e.extra = R"({"a":1})";
  EXPECT_GE(sizes_of(e).whole, without + e.extra.size() + std::string_view(R"(,"extra":)").size());
}

}  // namespace
}  // namespace parley::core
