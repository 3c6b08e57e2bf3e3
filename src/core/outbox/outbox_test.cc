// SPDX-License-Identifier: Apache-2.0
#include "core/outbox/outbox.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

// The bytes of outbox items to one receiver with these ids.
std::string bytes_of(uint64_t next_id, const std::vector<uint64_t>& ids,
                     OutboxKind kind = OutboxKind::delivery_failed) {
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
  Outbox outbox;
  Reader in(bytes);
  return outbox.decode(in) && in.ok();
}

TEST(Outbox, ASnapshotHasEachOnceAndNoneThatWasNotGivenYet) {
  EXPECT_TRUE(is_accepted(bytes_of(3, {1, 2})));
  EXPECT_FALSE(is_accepted(bytes_of(3, {2, 2})));
  EXPECT_FALSE(is_accepted(bytes_of(3, {1, 3})));
  EXPECT_FALSE(is_accepted(bytes_of(3, {0})));
  EXPECT_FALSE(is_accepted(bytes_of(0, {})));
}

TEST(Outbox, ASnapshotHasOneSummaryForEach) {
  EXPECT_TRUE(is_accepted(bytes_of(3, {1}, OutboxKind::summary)));
  EXPECT_FALSE(is_accepted(bytes_of(3, {1, 2}, OutboxKind::summary)));
}

}  // namespace
}  // namespace parley::core
