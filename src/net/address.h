// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace parley::net {

// An address of the Internet Protocol, of either version. An address of version 4 is in the last
// four bytes, as in ::ffff:192.0.2.1, and so is one of version 6 that leads to one of version 4.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  static std::optional<IpAddress> parse(std::string_view text);
  // None for an address of another family.
  static std::optional<IpAddress> of(const sockaddr& address);

  bool is_v4() const;
  bool is_loopback() const;
  // Whether it belongs to the public Internet: not to this machine, a private network, a link
  // (where clouds keep their metadata), a multicast group, a test network or a tunnel.
  bool is_public() const;
  std::string text() const;

  bool operator==(const IpAddress&) const = default;
};

// Addresses that begin with the same bits, such as 10.0.0.0/8 or fd00::/8, or a single address.
struct Network {
  IpAddress first;
  unsigned bits = 128;  // of the 16 bytes

  static std::optional<Network> parse(std::string_view text);
  bool contains(const IpAddress& address) const;

  bool operator==(const Network&) const = default;
};

// Which addresses a client may connect to.
using Admits = std::function<bool(const IpAddress&)>;

}  // namespace parley::net
