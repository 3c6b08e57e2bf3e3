// SPDX-License-Identifier: Apache-2.0
#include "core/state/due_names.h"

#include <gtest/gtest.h>

namespace parley::core {
namespace {

using base::Time;

TEST(DueNames, ComeByTimeAndThenByName) {
  DueNames names;
  EXPECT_EQ(names.next(), base::time_max);
  names.add(Time{20}, "ana");
  names.add(Time{10}, "cy");
  names.add(Time{10}, "bo");
  names.add(Time{10}, "bo");
  EXPECT_EQ(names.next(), Time{10});
  EXPECT_EQ(names.take(), "bo");
  EXPECT_EQ(names.take(), "cy");
  EXPECT_EQ(names.next(), Time{20});
  EXPECT_EQ(names.take(), "ana");
  EXPECT_TRUE(names.all().empty());
}

TEST(DueNames, OneIsTakenOutByItsTime) {
  DueNames names;
  names.add(Time{10}, "ana");
  names.remove(Time{20}, "ana");
  names.remove(Time{10}, "bo");
  EXPECT_EQ(names.next(), Time{10});
  names.remove(Time{10}, "ana");
  EXPECT_EQ(names.next(), base::time_max);
}

}  // namespace
}  // namespace parley::core
