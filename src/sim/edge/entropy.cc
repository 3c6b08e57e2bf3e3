// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/entropy.h"

#include <sodium.h>

#include <cstring>

#include "base/check.h"
#include "sim/random.h"

namespace parley::edge_sim {

namespace {

sim::Random& source() {
  static sim::Random random(0);
  return random;
}

const char* name() { return "seeded"; }

uint32_t number() { return static_cast<uint32_t>(source().next()); }

void fill(void* const to, const size_t size) {
  auto* at = static_cast<unsigned char*>(to);
  for (size_t left = size; left > 0;) {
    const uint64_t bits = source().next();
    const size_t part = left < sizeof bits ? left : sizeof bits;
    std::memcpy(at, &bits, part);
    at += part;
    left -= part;
  }
}

}  // namespace

void seed_entropy(uint64_t seed) {
  static randombytes_implementation seeded{.implementation_name = name,
                                           .random = number,
                                           .stir = nullptr,
                                           .uniform = nullptr,
                                           .buf = fill,
                                           .close = nullptr};
  CHECK(randombytes_set_implementation(&seeded) == 0);
  CHECK(sodium_init() >= 0);  // Takes some for itself, the first time.
  source() = sim::Random(seed);
}

}  // namespace parley::edge_sim
