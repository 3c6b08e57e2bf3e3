// SPDX-License-Identifier: Apache-2.0
// What a configuration is made of: addresses as they are written, and the process's environment.
#include <unistd.h>

#include <algorithm>

#include "app/config.h"
#include "app/text/terminal.h"
#include "base/text.h"

namespace parley::app {

Pairs environment() {
  Pairs all;
  for (char** at = ::environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    const size_t equals = variable.find('=');
    if (equals != variable.npos) {
      all.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    }
  }
  std::ranges::sort(all);
  return all;
}

std::expected<Address, Error> parse_address(std::string_view text) {
  const auto fail = [&] {
    return std::unexpected(Error{
        base::Code::bad_rule_value,
        "\"" + printable(text.substr(0, 64)) + "\" is no HOST:PORT; an example is 127.0.0.1:7455",
        {}});
  };
  const size_t colon = text.rfind(':');
  if (colon == text.npos) {
    return fail();
  }
  const auto port = base::parse_number(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    return fail();
  }
  if (!port || *port > UINT16_MAX || host.empty()) {
    return fail();
  }
  return Address{std::string(host), static_cast<uint16_t>(*port)};
}

std::string format_address(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") &&
          std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); }));
}

}  // namespace parley::app
