// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "net/server.h"

namespace parley::net {

struct Surroundings;

// Counts the bytes that one connection holds, in the account of its caller: for a caller who is not
// known all of them, in one account for all such connections; for one who is known those of
// requests and messages that are not whole. Takes them out of the account when it is destroyed.
class HeldBytes {
 public:
  explicit HeldBytes(Surroundings& around) : around_(around) {}
  ~HeldBytes() { add_to_account(0); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // Of the newest request; 0: nobody who is known.
  CallerId caller() const { return caller_; }
  bool is_caller_known() const { return caller_ != 0; }
  void set_caller(CallerId caller) { caller_ = caller; }

  // The connection holds so many bytes now.
  void count(size_t held);
  // The same, and whether so many more may be held for a caller who is not known.
  bool may_hold(size_t held, size_t more);
  // The same, and whether what is held for a caller who is known may be.
  bool is_within_share(size_t held);

 private:
  void add_to_account(size_t held);

  Surroundings& around_;
  CallerId caller_ = 0;
  CallerId counted_for_ = 0;  // whose account has
  size_t counted_ = 0;        // so many bytes of this connection
};

}  // namespace parley::net
