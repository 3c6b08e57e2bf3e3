// SPDX-License-Identifier: Apache-2.0
#include "edge/files/ledger.h"

#include <gtest/gtest.h>

namespace parley::edge::files {
namespace {

using base::Seq;
using State = Ledger::State;

TEST(FileLedger, ItsLinesMakeItAgain) {
  Ledger first;
  std::string lines = first.set("main", "a.json", {Seq{1}, State::pending});
  lines += first.set("main", "b.json", {Seq{2}, State::pending});
  lines += first.set("main", "a.json", {Seq{1}, State::archived});
  lines += first.set("council-grok", "a.json", {Seq{3}, State::pending});
  lines += first.erase("main", "b.json");
  Ledger second;
  second.read(lines);
  EXPECT_EQ(second.text(), first.text());
  EXPECT_EQ(second.size(), 2u);
  EXPECT_EQ(*second.find("main", "a.json"), (Ledger::Entry{Seq{1}, State::archived}));
  EXPECT_EQ(second.find("main", "b.json"), nullptr);
  EXPECT_EQ(second.name_of("main", Seq{1}), "a.json");
  EXPECT_EQ(second.name_of("main", Seq{2}), "");
  EXPECT_EQ(second.name_of("council-grok", Seq{3}), "a.json");
}

// The broker may be killed while it writes a line.
TEST(FileLedger, PassesOverWhatIsNoLine) {
  Ledger ledger;
  ledger.read(
      "p main a.json 1\nq main b.json 2\np main\n\np main c.json x\np main d.json 4 5\np main "
      "e.json 5");
  EXPECT_EQ(ledger.text(), "p main a.json 1\n");
}

TEST(FileLedger, AFileThatIsAnotherMessageNowIsNoMoreTheFirst) {
  Ledger ledger;
  ledger.set("main", "a.json", {Seq{1}, State::pending});
  ledger.set("main", "a.json", {Seq{2}, State::pending});
  EXPECT_EQ(ledger.name_of("main", Seq{1}), "");
  EXPECT_EQ(ledger.name_of("main", Seq{2}), "a.json");
  EXPECT_EQ(ledger.size(), 1u);
  ledger.erase_box("main");
  EXPECT_EQ(ledger.size(), 0u);
  EXPECT_TRUE(ledger.entries("main").empty());
}

}  // namespace
}  // namespace parley::edge::files
