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

std::array<uint8_t, 32> hmac_sha256(const std::array<uint8_t, 32>& key, std::string_view bytes) {
  return hmac_sha256(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()),
                     bytes);
}

std::array<uint8_t, 32> hmac_sha256(std::string_view key, std::string_view bytes) {
  static_assert(crypto_auth_hmacsha256_BYTES == 32);
  std::array<uint8_t, 32> code{};
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(key.data()),
                              key.size());
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()),
                                bytes.size());
  crypto_auth_hmacsha256_final(&state, code.data());
  return code;
}

bool are_equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), variant);
  text.pop_back();  // the zero at its end
  return text;
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

SecretKey random_key() {
  SecretKey key{};
  fill_random(key.data(), key.size());
  return key;
}

namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

constexpr int url_safe = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
constexpr size_t nonce_size = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t mac_size = crypto_aead_xchacha20poly1305_ietf_ABYTES;

std::optional<std::string> decoded(std::string_view text, int variant) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  size_t size = 0;
  const char* end = nullptr;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, &end, variant) != 0 ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::string seal(const SecretKey& key, std::string_view text, std::string_view context) {
  std::string bytes(nonce_size + text.size() + mac_size, '\0');
  fill_random(bytes.data(), nonce_size);
  auto* const nonce = reinterpret_cast<unsigned char*>(bytes.data());
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + nonce_size, nullptr, bytes_of(text),
                                             text.size(), bytes_of(context), context.size(),
                                             nullptr, nonce, key.data());
  std::string sealed(sodium_base64_encoded_len(bytes.size(), url_safe), '\0');
  sodium_bin2base64(sealed.data(), sealed.size(), nonce, bytes.size(), url_safe);
  sealed.pop_back();  // the zero
  return sealed;
}

std::optional<std::string> unseal(const SecretKey& key, std::string_view sealed,
                                  std::string_view context) {
  const auto bytes = decoded(sealed, url_safe);
  if (!bytes || bytes->size() < nonce_size + mac_size) {
    return std::nullopt;
  }
  std::string text(bytes->size() - nonce_size - mac_size, '\0');
  const unsigned char* const nonce = bytes_of(*bytes);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          reinterpret_cast<unsigned char*>(text.data()), nullptr, nullptr, nonce + nonce_size,
          bytes->size() - nonce_size, bytes_of(context), context.size(), nonce,
          key.data()) != 0) {
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  return decoded(text, sodium_base64_VARIANT_ORIGINAL);
}

}  // namespace parley::lib
