// SPDX-License-Identifier: Apache-2.0
#include "core/messages/resume_marks.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::core {
namespace {

constexpr ResumeMark before{.stream = 2, .number = 5};
constexpr ResumeMark mark{.stream = 3, .number = 1};

TEST(ResumeMarks, SayByWhichOfTheTwoADeliveryWasSeen) {
  MessageRecords records;
  ResumeMarks marks(records);
  const DeliveryRef ref = records.deliveries.add(Delivery{});
  EXPECT_TRUE(marks.before(ref, {3, 9}).is_none()) << "it was handed to no stream";
  marks.set(ref, mark, before);
  EXPECT_EQ(records.deliveries[ref].mark, mark);
  EXPECT_EQ(marks.before(ref, {3, 1}), mark);
  EXPECT_EQ(marks.before(ref, {2, 7}), before) << "its client never heard of the newer stream";
  EXPECT_TRUE(marks.before(ref, {3, 0}).is_none()) << "it came behind that place";
  EXPECT_TRUE(marks.before(ref, {2, 4}).is_none());
  EXPECT_TRUE(marks.before(ref, {4, 9}).is_none()) << "another stream";
}

TEST(ResumeMarks, ANewMarkReplacesBoth) {
  MessageRecords records;
  ResumeMarks marks(records);
  const DeliveryRef ref = records.deliveries.add(Delivery{});
  const DeliveryRef other = records.deliveries.add(Delivery{});
  marks.set(ref, mark, before);
  marks.set(other, mark, before);
  marks.set(ref, {4, 1});
  EXPECT_EQ(records.deliveries[ref].mark, (ResumeMark{4, 1}));
  EXPECT_TRUE(marks.former(ref).is_none());
  EXPECT_EQ(marks.former(other), before);
}

}  // namespace
}  // namespace parley::core
