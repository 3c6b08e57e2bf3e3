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

// An address of the Internet Protocol, of either version: one of version 4 stands in the last four
// bytes, as ::ffff:192.0.2.1 does. So does one that is written in another way but leads there.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  static std::optional<IpAddress> parse(std::string_view text);
  // none for another family.
  static std::optional<IpAddress> of(const sockaddr& address);

  bool is_v4() const;
  bool is_loopback() const;
  // Whether it is one of the whole Internet: not of this machine, a private network, a link (where
  // clouds keep their metadata), a group, a test or a tunnel.
  bool is_public() const;
  std::string text() const;

  bool operator==(const IpAddress&) const = default;
};

// Addresses that begin alike: 10.0.0.0/8, fd00::/8, or one alone.
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
