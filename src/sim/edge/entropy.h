// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace parley::edge_sim {

// From here on all randomness of the process (tokens, ids, keys, nonces) follows from the seed.
void seed_entropy(uint64_t seed);

}  // namespace parley::edge_sim
