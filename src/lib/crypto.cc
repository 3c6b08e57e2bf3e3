// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto.h"

#include <sodium.h>

#include <cstring>

#include "base/check.h"

namespace parley::lib {

namespace {

void fill_random(void* data, size_t size) {
  static const bool ready = sodium_init() >= 0;
  CHECK(ready);
  randombytes_buf(data, size);
}

}  // namespace

uint64_t random_u64() {
  uint64_t value = 0;
  fill_random(&value, sizeof value);
  return value;
}

base::Id128 random_uuid() {
  base::Id128 id;
  fill_random(id.bytes.data(), id.bytes.size());
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

std::string random_token() {
  std::array<uint8_t, 32> secret{};
  fill_random(secret.data(), secret.size());
  constexpr int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::array<char, sodium_base64_ENCODED_LEN(32, sodium_base64_VARIANT_URLSAFE_NO_PADDING)> text{};
  sodium_bin2base64(text.data(), text.size(), secret.data(), secret.size(), variant);
  return std::string("prl_") + text.data();
}

std::array<uint8_t, 32> sha256(std::string_view bytes) {
  std::array<uint8_t, 32> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  return hash;
}

base::Id128 derived_id(std::string_view scope, std::string_view name) {
  std::string joined = std::to_string(scope.size());
  joined.append(":").append(scope).append(name);
  const std::array<uint8_t, 32> hash = sha256(joined);
  base::Id128 id;
  std::memcpy(id.bytes.data(), hash.data(), id.bytes.size());
  return id;
}

}  // namespace parley::lib
