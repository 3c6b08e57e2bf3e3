// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>

#include "net/server.h"

namespace parley::net {

// What every caller holds of a server, counted in one place: connections, bytes, calls that wait.
// All who are not known are one caller, the stranger, with one account. On the server's thread.
class Accounts {
 public:
  static constexpr CallerId stranger = 0;

  // The account of a caller, to be changed. Stays where it is until `close` finds it empty.
  Account& open(CallerId caller) { return accounts_[caller]; }
  void close(CallerId caller);
  // What the caller holds now.
  Account of(CallerId caller) const;

  // One more call of the caller waits on the connection; on none, where that is 0. Else says why it
  // may not: RATE_LIMITED, with the name of the limit.
  std::optional<Error> begin_wait(const Server::Limits& limits, CallerId caller,
                                  ConnectionId connection);
  void end_wait(CallerId caller, ConnectionId connection);

  // The connections of strangers, those first that have been silent for longest.
  using Strangers = std::list<ConnectionId>;
  Strangers::iterator enter(ConnectionId connection) {
    return strangers_.insert(strangers_.end(), connection);
  }
  void leave(Strangers::iterator at) { strangers_.erase(at); }
  void heard(Strangers::iterator at) { strangers_.splice(strangers_.end(), strangers_, at); }
  const Strangers& strangers() const { return strangers_; }

 private:
  std::unordered_map<CallerId, Account> accounts_;  // those who hold something
  std::unordered_map<ConnectionId, size_t> waits_;  // by connection; those that have some
  Strangers strangers_;
};

}  // namespace parley::net
