// SPDX-License-Identifier: Apache-2.0
#include "core/moderation/flags.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::id_of;
using testing::start_time;

Flag flag_of(std::string_view sender, uint64_t record) {
  Flag flag;
  flag.record = base::Seq{record};
  flag.message = id_of("f" + std::to_string(record));
  flag.sender = sender;
  flag.since = start_time;
  flag.hash[0] = static_cast<uint8_t>(record);
  return flag;
}

// SP-09
TEST(Flags, OneThatIsResolvedGoesBeforeOneThatIsOpenAlsoAfterASnapshot) {
  Flags before;
  const uint64_t open = before.add(flag_of("ana", 1), 2);
  const uint64_t resolved = before.add(flag_of("ana", 2), 2);
  before.resolve(resolved, "done by hand", "mia", start_time);
  std::string bytes;
  Writer out(bytes);
  before.encode(out);

  Flags flags;
  Reader in(bytes);
  ASSERT_TRUE(flags.decode(in));
  EXPECT_EQ(flags.head()[0], 2);
  EXPECT_EQ(flags.open(), 1u);
  EXPECT_EQ(flags.find_sent("ana", id_of("f2"))->id, resolved);
  const uint64_t added = flags.add(flag_of("bo", 3), 2);
  EXPECT_EQ(flags.find(resolved), nullptr);
  EXPECT_EQ(flags.find_sent("ana", id_of("f2")), nullptr);
  EXPECT_NE(flags.find(open), nullptr);
  EXPECT_EQ(flags.find(base::Seq{3})->id, added);
  EXPECT_EQ(flags.find(base::Seq{2}), nullptr);
}

// What moderators have to decide on is kept by its record.
TEST(Flags, TheRecordsOfAllThatAreKeptAreNeeded) {
  Flags flags;
  flags.add(flag_of("ana", 4), 10);
  flags.resolve(1, "seen", "mod", start_time);
  flags.add(flag_of("ana", 9), 10);
  std::vector<base::Seq> live;
  flags.add_live(live);
  EXPECT_EQ(live, (std::vector{base::Seq{4}, base::Seq{9}}));
}

}  // namespace
}  // namespace parley::core
