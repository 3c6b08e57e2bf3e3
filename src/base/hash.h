// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace parley::base {

// CRC-32C (Castagnoli) of `bytes`, continued from `crc`; with the processor's instruction where it
// has one.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

// The same without the instruction; apart, so that a test reaches it on every machine.
uint32_t crc32c_portable(std::string_view bytes, uint32_t crc = 0);

// A fast 64-bit hash, the same on every machine. Not for secrets, and not against an adversary
// who knows the seed: for digests of our own state and for tables with a random seed.
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);

// Mixes two words into one; the step that hash64 is made of.
inline uint64_t mix64(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15ull) *
                       (b ^ 0xd6e8feb86659fd93ull);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace parley::base
