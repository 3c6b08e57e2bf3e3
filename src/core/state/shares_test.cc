// SPDX-License-Identifier: Apache-2.0
#include "core/state/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/state/shared_line.h"
#include "core/state/shared_set.h"

namespace parley::core {
namespace {

std::string name_of(uint64_t n) { return "agent-" + std::to_string(n); }

// The first by name of those in the highest class, counted the slow way. From 64 on a class is a
// power of two.
std::string most_in(const std::map<std::string, uint64_t>& held) {
  std::string found;
  int highest = 0;
  for (const auto& [name, weight] : held) {
    const auto power = static_cast<int>(std::bit_width(weight));
    if (const int size_class = weight < 64 ? static_cast<int>(weight) : 64 + power;
        size_class > highest) {
      highest = size_class;
      found = name;
    }
  }
  return found;
}

TEST(Shares, AgreesWithASlowModel) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Shares shares(seed);
    std::map<std::string, uint64_t> held;
    uint64_t total = 0;
    for (int step = 0; step < 4'000; ++step) {
      const std::string name = name_of(random() % 20);
      const uint64_t weight = 1 + random() % 40;
      if (random() % 2 == 0) {
        shares.add(name, weight);
        held[name] += weight;
        total += weight;
      } else if (held[name] >= weight) {
        shares.remove(name, weight);
        held[name] -= weight;
        total -= weight;
      }
      const uint32_t most = shares.most();
      ASSERT_EQ(shares.of(name), held[name]);
      ASSERT_EQ(shares.total(), total);
      ASSERT_EQ(most == none ? "" : shares.name_of(most), most_in(held));
    }
  }
}

TEST(Shares, OfFewTheOneWhoHoldsOneMoreIsNamed) {
  Shares shares;
  shares.add("ana", 62);
  shares.add("zed", 63);
  EXPECT_EQ(shares.name_of(shares.most()), "zed");
  shares.add("ana", 3);
  EXPECT_EQ(shares.name_of(shares.most()), "ana");
}

TEST(Shares, WhoHoldsLessThanHalfOfTheLargestIsNeverNamed) {
  Shares shares;
  shares.add("ana", 100);
  shares.add("zed", 201);
  EXPECT_EQ(shares.name_of(shares.most()), "zed");
  shares.remove("zed", 201);
  EXPECT_EQ(shares.name_of(shares.most()), "ana");
  shares.remove("ana", 100);
  EXPECT_EQ(shares.most(), none);
  EXPECT_EQ(shares.size(), 0u);
}

struct Item {
  std::string owner;
  int value = 0;
  uint64_t weight = 0;
  uint32_t slot = none;
};

std::vector<int> values_of(const SharedLine<int>& line) {
  std::vector<int> values;
  for (uint32_t at = line.first(); at != none; at = line.next(at)) {
    values.push_back(line[at]);
  }
  return values;
}

std::vector<int> values_of(const SharedLine<int>& line, const std::string& owner) {
  std::vector<int> values;
  for (uint32_t at = line.first_of(owner); at != none; at = line.next_of_owner(at)) {
    values.push_back(line[at]);
  }
  return values;
}

std::vector<int> values_of(const std::vector<Item>& items, const std::string& owner = {}) {
  std::vector<int> values;
  for (const Item& item : items) {
    if (owner.empty() || item.owner == owner) {
      values.push_back(item.value);
    }
  }
  return values;
}

TEST(SharedLine, AgreesWithASlowModel) {
  std::mt19937 random(7);
  SharedLine<int> line(9);
  std::vector<Item> items;
  for (int step = 0; step < 3'000; ++step) {
    const uint32_t act = random() % 4;
    const size_t at = items.empty() ? 0 : random() % items.size();
    if (act < 2 || items.empty()) {
      Item item{name_of(random() % 6), step, 1 + random() % 9};
      item.slot = line.add(item.owner, item.value, item.weight);
      items.push_back(item);
    } else if (act == 2) {
      line.remove(items[at].slot);
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      line.move_to_end(items[at].slot);
      std::rotate(items.begin() + static_cast<std::ptrdiff_t>(at),
                  items.begin() + static_cast<std::ptrdiff_t>(at) + 1, items.end());
    }
    const std::string owner = name_of(random() % 6);
    ASSERT_EQ(values_of(line), values_of(items));
    ASSERT_EQ(values_of(line, owner), values_of(items, owner));
    ASSERT_EQ(line.size(), items.size());
    const uint32_t most = line.first_of_most();
    ASSERT_EQ(most == none, items.empty());
    if (most != none) {
      ASSERT_EQ(line[most], values_of(items, line.shares().name_of(line.shares().most())).front());
    }
  }
}

TEST(SharedSet, NamesTheFirstOfWhoHoldsMost) {
  SharedSet<int> set;
  EXPECT_EQ(set.first_of_most(), nullptr);
  set.add("bo", 1);
  set.add("zed", 3);
  set.add("zed", 2);
  set.add("zed", 2);
  EXPECT_EQ(*set.first_of_most(), 2);
  EXPECT_EQ(set.of("zed"), 2u);
  set.remove("zed", 2);
  set.remove("zed", 2);
  EXPECT_EQ(*set.first_of_most(), 1);
  EXPECT_EQ(*set.first_of("zed"), 3);
  set.remove("zed", 3);
  EXPECT_EQ(set.first_of("zed"), nullptr);
  EXPECT_EQ(set.size(), 1u);
}

}  // namespace
}  // namespace parley::core
