// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "net/connection/accounts.h"

namespace parley::net {

struct Surroundings;

// What one connection holds, in the account of its caller: itself, and its bytes. Takes it out of
// the account when it is destroyed.
class Holdings {
 public:
  // Bytes of requests and messages that are not whole, and of output that waits to be written.
  struct Bytes {
    size_t unfinished = 0;
    size_t unread = 0;

    size_t all() const { return unfinished + unread; }
    bool operator==(const Bytes&) const = default;
  };

  // Its caller is not known yet.
  Holdings(Surroundings& around, ConnectionId connection);
  ~Holdings();
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;

  // Of the newest request; 0: nobody who is known.
  CallerId caller() const { return caller_; }
  bool is_caller_known() const { return caller_ != Accounts::stranger; }
  void set_caller(CallerId caller);
  // Something came in: a stranger who says nothing for long may lose its place to others.
  void heard();
  // Whether the caller, if it is known, has no more connections than it may.
  bool may_connect() const;

  // The connection holds so much now.
  void count(const Bytes& held);
  // Whether what is held may be.
  bool is_within_limits() const;
  // Why not: requests and messages that are not whole.
  Error sends_too_much() const;
  // Whether so much more output may be held.
  bool may_answer(size_t size) const;
  // Why not, where the caller is known.
  Error reads_too_little() const;
  // How much output may wait before the connection is read no further.
  size_t output_max() const;

 private:
  // An even part of what the caller may have of unread output.
  size_t share_of_output() const;
  bool strangers_may_hold(size_t more) const;

  Surroundings& around_;
  ConnectionId connection_;
  CallerId caller_ = Accounts::stranger;
  Account* account_;
  Accounts::Strangers::iterator place_;  // while its caller is not known
  Bytes counted_;
};

}  // namespace parley::net
