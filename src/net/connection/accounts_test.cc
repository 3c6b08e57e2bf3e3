// SPDX-License-Identifier: Apache-2.0
#include "net/connection/accounts.h"

#include <gtest/gtest.h>

namespace parley::net {
namespace {

TEST(Accounts, WaitsHaveALimitForTheCallerAndOneForTheConnection) {
  Accounts accounts;
  const Server::Limits limits{.waits_per_principal_max = 3, .waits_per_connection_max = 2};
  EXPECT_FALSE(accounts.begin_wait(limits, 5, 1));
  EXPECT_FALSE(accounts.begin_wait(limits, 5, 1));
  const auto third = accounts.begin_wait(limits, 5, 1);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->code, base::Code::rate_limited);
  EXPECT_NE(third->detail.find("server.waits_per_connection_max"), std::string::npos);
  EXPECT_FALSE(accounts.begin_wait(limits, 5, 2));
  const auto fourth = accounts.begin_wait(limits, 5, 3);
  ASSERT_TRUE(fourth);
  EXPECT_NE(fourth->detail.find("server.waits_per_principal_max"), std::string::npos);
  EXPECT_FALSE(accounts.begin_wait(limits, 6, 3));
  EXPECT_EQ(accounts.of(5).waits, 3u);
  accounts.end_wait(5, 1);
  EXPECT_FALSE(accounts.begin_wait(limits, 5, 1));
}

TEST(Accounts, WhoHoldsNothingHasNoAccount) {
  Accounts accounts;
  EXPECT_FALSE(accounts.begin_wait({}, 5, 0));
  accounts.end_wait(5, 0);
  EXPECT_EQ(accounts.of(5), Account{});
}

}  // namespace
}  // namespace parley::net
