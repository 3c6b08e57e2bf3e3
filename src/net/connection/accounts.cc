// SPDX-License-Identifier: Apache-2.0
#include "net/connection/accounts.h"

#include <string>

namespace parley::net {

namespace {

using base::Code;

// When to try again after too much was held.
constexpr Duration again_after = base::seconds(1);

Error too_many_waits(size_t limit, std::string_view of, std::string_view name) {
  return {Code::rate_limited,
          std::to_string(limit) + " calls " + std::string(of) + " wait already (" +
              std::string(name) +
              "); let some of them end, or ask who runs the broker to raise the limit",
          {},
          again_after};
}

}  // namespace

void Accounts::close(CallerId caller) {
  if (const auto at = accounts_.find(caller); at != accounts_.end() && at->second == Account{}) {
    accounts_.erase(at);
  }
}

Account Accounts::of(CallerId caller) const {
  const auto at = accounts_.find(caller);
  return at == accounts_.end() ? Account{} : at->second;
}

std::optional<Error> Accounts::begin_wait(const Server::Limits& limits, CallerId caller,
                                          ConnectionId connection) {
  if (of(caller).waits >= limits.waits_per_principal_max) {
    return too_many_waits(limits.waits_per_principal_max, "of yours",
                          "server.waits_per_principal_max");
  }
  if (connection != 0) {
    size_t& waits = waits_[connection];
    if (waits >= limits.waits_per_connection_max) {
      return too_many_waits(limits.waits_per_connection_max, "on this connection",
                            "server.waits_per_connection_max");
    }
    ++waits;
  }
  ++open(caller).waits;
  return std::nullopt;
}

void Accounts::end_wait(CallerId caller, ConnectionId connection) {
  if (const auto at = waits_.find(connection); at != waits_.end() && --at->second == 0) {
    waits_.erase(at);
  }
  --open(caller).waits;
  close(caller);
}

}  // namespace parley::net
