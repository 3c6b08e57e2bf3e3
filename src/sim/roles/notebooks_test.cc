// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/notebooks.h"

#include <gtest/gtest.h>

namespace parley::edge_sim {
namespace {

using Markers = std::set<std::string>;

TEST(Notebooks, EveryMarkerIsFoundInAnyBytes) {
  EXPECT_EQ(markers_in("HTTP/1.1 200 OK\r\n\r\n{\"a\":\"~wil-1~ b\"}"), Markers{"~wil-1~"});
  EXPECT_EQ(markers_in("~a-1~~human:eve-22~"), (Markers{"~a-1~", "~human:eve-22~"}));
  EXPECT_EQ(markers_in("~, ~ and ~~ are none, ~A~ neither"), Markers{});
}

TEST(Notebooks, OneThatWasCutHidesNoOther) {
  EXPECT_EQ(markers_in("{\"a\":\"~wil-1HTTP/1.1 ~wil-2~ ~wil-3"), Markers{"~wil-2~"});
  EXPECT_EQ(markers_in("~wil-1~wil-2~"), (Markers{"~wil-1~", "~wil-2~"}));
}

}  // namespace
}  // namespace parley::edge_sim
