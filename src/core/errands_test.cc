// SPDX-License-Identifier: Apache-2.0
#include "core/errands.h"

#include <gtest/gtest.h>

#include "core/testing.h"
#include "core/wire.h"

namespace parley::core {
namespace {

// The bytes of errands to one receiver with these ids.
std::string bytes_of(uint64_t next_id, const std::vector<uint64_t>& ids,
                     ErrandKind kind = ErrandKind::delivery_failed) {
  std::string bytes;
  Writer out(bytes);
  out.varint(next_id);
  out.varint(0);  // dropped
  out.varint(0);  // refused
  out.varint(ids.size());
  for (const uint64_t id : ids) {
    out.varint(id);
    out.enumerator(kind);
    out.text("ana");
    out.seq(Seq{1});
    out.time(testing::start_time);
    out.enumerator(Priority::normal);
    out.varint(0);  // facts
  }
  return bytes;
}

bool is_accepted(const std::string& bytes) {
  Errands errands;
  Reader in(bytes);
  return errands.decode(in) && in.ok();
}

TEST(Errands, ASnapshotHasEachOnceAndNoneThatWasNotGivenYet) {
  EXPECT_TRUE(is_accepted(bytes_of(3, {1, 2})));
  EXPECT_FALSE(is_accepted(bytes_of(3, {2, 2})));
  EXPECT_FALSE(is_accepted(bytes_of(3, {1, 3})));
  EXPECT_FALSE(is_accepted(bytes_of(3, {0})));
  EXPECT_FALSE(is_accepted(bytes_of(0, {})));
}

TEST(Errands, ASnapshotHasOneSummaryForEach) {
  EXPECT_TRUE(is_accepted(bytes_of(3, {1}, ErrandKind::summary)));
  EXPECT_FALSE(is_accepted(bytes_of(3, {1, 2}, ErrandKind::summary)));
}

}  // namespace
}  // namespace parley::core
