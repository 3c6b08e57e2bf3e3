// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace parley::base {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

namespace {

uint64_t load64(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint32_t load32(const char* at) {
  uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Fewer than 16 bytes as two words with zeros behind them. Loads that overlap are quicker than a
// copy whose length is not known before.
std::pair<uint64_t, uint64_t> load_tail(const char* at, size_t left) {
  if (left > 8) {
    return {load64(at), load64(at + left - 8) >> (8 * (16 - left))};
  }
  if (left >= 4) {
    return {load32(at) | uint64_t{load32(at + left - 4)} << (8 * (left - 4)), 0};
  }
  uint64_t word = 0;
  for (size_t n = 0; n < left; ++n) {
    word |= uint64_t{static_cast<uint8_t>(at[n])} << (8 * n);
  }
  return {word, 0};
}

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t crc = n;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
    table[n] = crc;
  }
  return table;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc_sse42(std::string_view bytes, uint32_t crc) {
  uint64_t wide = crc;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    wide = _mm_crc32_u64(wide, load64(at));
  }
  auto narrow = static_cast<uint32_t>(wide);
  for (; left > 0; --left, ++at) {
    narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(*at));
  }
  return narrow;
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) {
    return ~crc_sse42(bytes, ~crc);
  }
#endif
  return crc32c_portable(bytes, crc);
}

uint32_t crc32c_portable(std::string_view bytes, uint32_t crc) {
  static constexpr std::array<uint32_t, 256> table = crc_table();
  crc = ~crc;
  for (const char c : bytes) {
    crc = table[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  uint64_t state = mix64(seed, bytes.size());
  const char* at = bytes.data();
  size_t left = bytes.size();
  // Two lanes: the multiplications of one need not wait for those of the other.
  uint64_t other = ~state;
  for (; left >= 32; left -= 32, at += 32) {
    state = mix64(load64(at) ^ state, load64(at + 8));
    other = mix64(load64(at + 16) ^ other, load64(at + 24));
  }
  state = mix64(state, other);
  if (left >= 16) {
    state = mix64(load64(at) ^ state, load64(at + 8));
    left -= 16;
    at += 16;
  }
  const auto [low, high] = load_tail(at, left);
  state = mix64(low ^ state, high);
  return mix64(state, seed ^ 0xa0761d6478bd642full);
}

}  // namespace parley::base
