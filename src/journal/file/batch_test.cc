// SPDX-License-Identifier: Apache-2.0
#include "journal/file/batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file/format.h"

namespace parley::journal {
namespace {

using Texts = std::vector<std::string>;

constexpr uint32_t seed = 7;

void make(Batch& batch, uint64_t first, const Texts& payloads, uint64_t at = block_bytes) {
  const std::vector<std::string_view> views(payloads.begin(), payloads.end());
  uint64_t size = 0;
  for (const std::string_view view : views) {
    size += record_bytes(view.size());
  }
  batch.make(views, size, {Seq{first}, Time{5}, Seq{first - 1}, seed, at});
}

template <class Readable>
Texts payloads_from(const Readable& batches, uint64_t from, size_t most = 100) {
  Texts found;
  size_t left = most;
  const Seq reached = batches.read(Seq{from}, left, [&](const Record& record) {
    EXPECT_EQ(record.seq.n, from + found.size());
    EXPECT_EQ(record.time, Time{5});
    found.emplace_back(record.payload);
    --left;
  });
  EXPECT_EQ(reached.n, from + found.size());
  return found;
}

TEST(Batch, EndsWithABlockWhereverItBegins) {
  Batch batch;
  for (const uint64_t at : {block_bytes, block_bytes + 40, 2 * block_bytes - 8}) {
    make(batch, 1, {"a", "bc"}, at);
    EXPECT_EQ(batch.records_bytes, record_bytes(1) + record_bytes(2));
    EXPECT_EQ((at + batch.bytes.size()) % block_bytes, 0u);
    EXPECT_LT(batch.bytes.size(), batch.records_bytes + block_bytes);
    EXPECT_EQ(batch.bytes.find_first_not_of('\0', batch.records_bytes), std::string::npos);
    EXPECT_TRUE(record_intact(batch.records().substr(0, record_bytes(1)), seed));
  }
}

TEST(Batch, HandsOutFromAnyRecordAsManyAsAreWanted) {
  Batch batch;
  make(batch, 10, {"a", "", "c"});
  EXPECT_EQ(payloads_from(batch, 10), (Texts{"a", "", "c"}));
  EXPECT_EQ(payloads_from(batch, 11, 1), Texts{""});
  EXPECT_EQ(payloads_from(batch, 12), Texts{"c"});
}

TEST(RecentBatches, HoldTheTwoNewestThatCount) {
  RecentBatches recent;
  recent.begin(Seq{4});
  EXPECT_FALSE(recent.holds(Seq{3}));
  make(recent.coming(), 4, {"four", "five"});
  EXPECT_EQ(recent.count_coming().first, Seq{4});
  make(recent.coming(), 6, {"six"});
  EXPECT_EQ(payloads_from(recent, 5), Texts{"five"});
  recent.count_coming();
  EXPECT_TRUE(recent.holds(Seq{4}));
  EXPECT_EQ(payloads_from(recent, 5), Texts{"five"});
  EXPECT_EQ(payloads_from(recent, 6), Texts{"six"});
  EXPECT_EQ(recent.fetch(Seq{4}), "four");
  make(recent.coming(), 7, {"seven"});
  recent.count_coming();
  EXPECT_FALSE(recent.holds(Seq{5}));
  EXPECT_EQ(recent.fetch(Seq{6}), "six");
  EXPECT_EQ(recent.fetch(Seq{7}), "seven");
}

TEST(RecentBatches, WhatIsReadStaysWhenTheComingBatchCountsMeanwhile) {
  RecentBatches recent;
  recent.begin(Seq{1});
  for (const uint64_t first : {1, 3}) {
    make(recent.coming(), first, {"x", "y"});
    recent.count_coming();
  }
  make(recent.coming(), 5, {"z"});
  Texts found;
  const size_t left = 1;
  recent.read(Seq{1}, left, [&](const Record& record) {
    if (found.empty()) {
      recent.count_coming();
    }
    found.emplace_back(record.payload);
  });
  EXPECT_EQ(found, (Texts{"x", "y"}));
}

}  // namespace
}  // namespace parley::journal
