// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace parley::lib {

// A wall around libsodium. Aborts when the system has no randomness: nothing here can go on then.

uint64_t random_u64();

// A random UUID of version 4.
base::Id128 random_uuid();

// `prl_` and 256 random bits in base64url: a secret that names one principal.
std::string random_token();

std::array<uint8_t, 32> sha256(std::string_view bytes);

// The first 16 bytes of the SHA-256 of both, with the length of the first between: an id that is
// derived from a name within a scope.
base::Id128 derived_id(std::string_view scope, std::string_view name);

}  // namespace parley::lib
