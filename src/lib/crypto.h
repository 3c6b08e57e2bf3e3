// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
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

std::array<uint8_t, 32> hmac_sha256(const std::array<uint8_t, 32>& key, std::string_view bytes);
// With a key of any length.
std::array<uint8_t, 32> hmac_sha256(std::string_view key, std::string_view bytes);

// Compares in a time that depends on their lengths alone.
bool are_equal_secrets(std::string_view a, std::string_view b);

// With padding, in the alphabet with + and /.
std::string base64(std::span<const uint8_t> bytes);

// The first 16 bytes of the SHA-256 of both, with the length of the first between: an id that is
// derived from a name within a scope.
base::Id128 derived_id(std::string_view scope, std::string_view name);

using SecretKey = std::array<uint8_t, 32>;
SecretKey random_key();  // 256 random bits

// `text` encrypted and authenticated, as base64url. It opens with the same key and the same
// `context`, which is not in it; anything else gives none.
std::string seal(const SecretKey& key, std::string_view text, std::string_view context);
std::optional<std::string> unseal(const SecretKey& key, std::string_view sealed,
                                  std::string_view context);

// Base64 with padding (RFC 4648, section 4); none for any other text.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace parley::lib
