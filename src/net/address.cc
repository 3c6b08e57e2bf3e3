// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace parley::net {

namespace {

constexpr size_t v4_at = 12;
constexpr unsigned v4_bits = 96;

struct Prefix {
  std::array<uint8_t, 16> bytes;
  unsigned bits;
};

bool begins_with(const std::array<uint8_t, 16>& bytes, const std::array<uint8_t, 16>& prefix,
                 unsigned bits) {
  const size_t whole = bits / 8;
  if (!std::equal(prefix.begin(), prefix.begin() + whole, bytes.begin())) {
    return false;
  }
  const unsigned rest = bits % 8;
  const auto mask = static_cast<uint8_t>(0xff00U >> rest);
  return rest == 0 || (bytes[whole] & mask) == (prefix[whole] & mask);
}

constexpr Prefix v4_prefix(uint8_t a, uint8_t b, uint8_t c, unsigned bits) {
  return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, 0}, v4_bits + bits};
}

constexpr Prefix mapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, v4_bits};
constexpr Prefix translated{{0, 0x64, 0xff, 0x9b}, v4_bits};  // NAT64: 64:ff9b::/96

// The networks of version 4 that IANA has set aside: a webhook there could reach our own machines.
constexpr auto v4_special = std::to_array<Prefix>({
    v4_prefix(0, 0, 0, 8),        // this network
    v4_prefix(10, 0, 0, 8),       // private
    v4_prefix(100, 64, 0, 10),    // shared by a provider
    v4_prefix(127, 0, 0, 8),      // loopback
    v4_prefix(169, 254, 0, 16),   // of a link, metadata
    v4_prefix(172, 16, 0, 12),    // private
    v4_prefix(192, 0, 0, 24),     // protocol assignments
    v4_prefix(192, 0, 2, 24),     // documentation
    v4_prefix(192, 88, 99, 24),   // a tunnel's relays
    v4_prefix(192, 168, 0, 16),   // private
    v4_prefix(198, 18, 0, 15),    // benchmarks
    v4_prefix(198, 51, 100, 24),  // documentation
    v4_prefix(203, 0, 113, 24),   // documentation
    v4_prefix(224, 0, 0, 3),      // groups, reserved, everyone
});

// Of version 6 only 2000::/3 is public, without these networks.
constexpr Prefix v6_public{{0x20}, 3};
constexpr auto v6_special = std::to_array<Prefix>({
    {{0x20, 0x01, 0x00}, 23},        // protocol assignments, Teredo
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x20, 0x02}, 16},              // 6to4
    {{0x3f, 0xff, 0x00}, 20},        // documentation
});

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string copy(text);
  in_addr four{};
  in6_addr six{};
  IpAddress address;
  if (::inet_pton(AF_INET, copy.c_str(), &four) == 1) {
    address.bytes = mapped.bytes;
    std::memcpy(address.bytes.data() + v4_at, &four, sizeof four);
    return address;
  }
  if (::inet_pton(AF_INET6, copy.c_str(), &six) != 1) {
    return std::nullopt;
  }
  std::memcpy(address.bytes.data(), &six, sizeof six);
  // An address behind NAT64 leads to one of version 4, and is judged as that.
  if (begins_with(address.bytes, translated.bytes, translated.bits)) {
    std::copy_n(mapped.bytes.begin(), v4_at, address.bytes.begin());
  }
  return address;
}

std::optional<IpAddress> IpAddress::of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* at = nullptr;
  if (address.sa_family == AF_INET) {
    at = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else if (address.sa_family == AF_INET6) {
    at = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  }
  if (at == nullptr || ::inet_ntop(address.sa_family, at, text.data(), text.size()) == nullptr) {
    return std::nullopt;
  }
  return parse(text.data());
}

bool IpAddress::is_v4() const { return begins_with(bytes, mapped.bytes, mapped.bits); }

bool IpAddress::is_loopback() const {
  constexpr std::array<uint8_t, 16> one = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return is_v4() ? bytes[v4_at] == 127 : bytes == one;
}

bool IpAddress::is_public() const {
  const auto is_in = [this](const Prefix& prefix) {
    return begins_with(bytes, prefix.bytes, prefix.bits);
  };
  return is_v4() ? std::ranges::none_of(v4_special, is_in)
                 : is_in(v6_public) && std::ranges::none_of(v6_special, is_in);
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v4()) {
    ::inet_ntop(AF_INET, bytes.data() + v4_at, text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  }
  return text.data();
}

std::optional<Network> Network::parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) {
    return std::nullopt;
  }
  Network network{.first = *address};
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    const unsigned before = address->is_v4() ? v4_bits : 0;
    if (error != std::errc{} || end != digits.data() + digits.size() || before + bits > 128) {
      return std::nullopt;
    }
    network.bits = before + bits;
  }
  return network;
}

bool Network::contains(const IpAddress& address) const {
  return begins_with(address.bytes, first.bytes, bits);
}

}  // namespace parley::net
