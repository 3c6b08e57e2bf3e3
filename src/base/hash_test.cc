// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace parley::base {
namespace {

// Bit by bit, from the polynomial alone: what both paths of crc32c must agree with.
uint32_t crc32c_by_definition(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
    }
  }
  return ~crc;
}

// Bytes without a pattern, the same in every run.
std::string noise(size_t size) {
  std::string bytes(size, '\0');
  uint64_t state = 1;
  for (char& c : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return bytes;
}

std::string ascending(size_t size) {
  std::string bytes;
  for (size_t n = 0; n < size; ++n) {
    bytes.push_back(static_cast<char>(n));
  }
  return bytes;
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("a"), 0xc1d04330u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending(32)), 0x46dd794eu);
}

TEST(Crc32c, AgreesWithTheDefinitionAtEveryLengthAndOffset) {
  const std::string bytes = noise(80);
  for (size_t from = 0; from < 8; ++from) {
    for (size_t size = 0; from + size <= bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(from, size);
      const uint32_t expected = crc32c_by_definition(part);
      ASSERT_EQ(crc32c(part), expected) << from << ", " << size;
      ASSERT_EQ(crc32c_portable(part), expected) << from << ", " << size;
    }
  }
}

TEST(Crc32c, ContinuesWhereItStopped) {
  const std::string bytes = noise(64);
  const std::string_view all = bytes;
  for (size_t at = 0; at <= all.size(); ++at) {
    EXPECT_EQ(crc32c(all.substr(at), crc32c(all.substr(0, at))), crc32c(all)) << at;
    EXPECT_EQ(crc32c_portable(all.substr(at), crc32c(all.substr(0, at))), crc32c(all)) << at;
  }
}

TEST(Crc32c, SeesEverySingleFlippedBit) {
  std::string bytes = noise(40);
  const uint32_t intact = crc32c(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const char mask = static_cast<char>(1 << (bit % 8));
    bytes[bit / 8] ^= mask;
    EXPECT_NE(crc32c(bytes), intact) << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(Hash64, IsTheSameForTheSameBytesWhereverTheyLie) {
  const std::string bytes = noise(100);
  const std::string shifted = "x" + bytes;
  EXPECT_EQ(hash64(bytes), hash64(std::string_view(shifted).substr(1)));
}

TEST(Hash64, DependsOnTheSeed) { EXPECT_NE(hash64("planner", 1), hash64("planner", 2)); }

TEST(Hash64, DiffersForEveryPrefix) {
  const std::string zeros(200, '\0');
  std::set<uint64_t> seen;
  for (size_t size = 0; size <= zeros.size(); ++size) {
    EXPECT_TRUE(seen.insert(hash64(std::string_view(zeros).substr(0, size))).second) << size;
  }
}

TEST(Hash64, EveryBitChangesAboutHalfOfTheResult) {
  for (const size_t size : {1u, 8u, 15u, 16u, 17u, 33u, 64u}) {
    std::string bytes = noise(size);
    const uint64_t intact = hash64(bytes);
    int changed = 0;
    for (size_t bit = 0; bit < size * 8; ++bit) {
      const char mask = static_cast<char>(1 << (bit % 8));
      bytes[bit / 8] ^= mask;
      const int bits = std::popcount(hash64(bytes) ^ intact);
      EXPECT_GT(bits, 8) << size << ", " << bit;
      changed += bits;
      bytes[bit / 8] ^= mask;
    }
    const int average = changed / static_cast<int>(size * 8);
    EXPECT_GE(average, 26) << size;
    EXPECT_LE(average, 38) << size;
  }
}

}  // namespace
}  // namespace parley::base
