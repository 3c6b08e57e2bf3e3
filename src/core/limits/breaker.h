// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/envelope.h"

namespace parley::core {

// Whether new messages are let through to one receiver. It opens when too many of its deliveries
// failed in a row, or its inbox is nearly full; after a pause one message is let through to test,
// and the receiver's next outcome decides. Failures of one sender's messages alone shut it for that
// sender and for nobody else.
class Breaker {
 public:
  // Written into snapshots: never renumber.
  enum class State : uint8_t { closed = 0, open = 1, half_open = 2 };
  static constexpr State state_last = State::half_open;
  enum class Reason : uint8_t { nothing = 0, failures = 1, queue = 2 };
  static constexpr Reason reason_last = Reason::queue;

  // The receiver gave something back, let its lease end, or answered too late. `threshold` of them
  // in a row open it; 0: none do. `sender` is the hash of whose message it was, never 0.
  void failed(Time now, uint64_t threshold, uint64_t sender) {
    failures_ += failures_ < UINT32_MAX ? 1 : 0;
    if (state_ == State::closed && failures_ == 1) {
      sender_ = sender;
    } else if (sender_ != sender && (state_ == State::closed || failures_ >= threshold)) {
      sender_ = several;
    }
    if (state_ == State::half_open ||
        (state_ == State::closed && threshold > 0 && failures_ >= threshold)) {
      open(now, Reason::failures);
    }
  }

  void succeeded() {
    failures_ = 0;
    if (state_ == State::half_open) {
      *this = {};
    }
  }

  // The inbox is nearly full, which is no one sender's doing.
  void filled(Time now) {
    if (state_ == State::closed) {
      sender_ = several;
      open(now, Reason::queue);
    }
  }

  // Whether it is shut for this sender: not where only messages of another one failed.
  bool is_shut_for(uint64_t sender) const {
    return state_ != State::closed &&
           (reason_ == Reason::queue || sender_ == several || sender_ == sender);
  }

  // How long new messages of the sender are refused from now on; zero: the next one is let through.
  Duration refuses(Time now, Duration pause, uint64_t sender) const {
    return !is_shut_for(sender) || since_ + pause <= now ? Duration{} : since_ + pause - now;
  }

  // A message was let through; if the breaker is shut for its sender, it is the test.
  void admitted(Time now, uint64_t sender) {
    if (is_shut_for(sender)) {
      state_ = State::half_open;
      since_ = now;
    }
  }

  // As it is seen from outside: one that would let a test through is half open.
  State state(Time now, Duration pause) const {
    return state_ == State::open && since_ + pause <= now ? State::half_open : state_;
  }
  Reason reason() const { return reason_; }
  uint32_t failures() const { return failures_; }
  Time since() const { return since_; }

  // As it was left: one that would let a test through is still open.
  State raw_state() const { return state_; }

  static void fields(auto& self, auto& field) {
    field("state", self.state_, state_last);
    field("reason", self.reason_, reason_last);
    field("failures", self.failures_);
    field("sender", self.sender_, Form::fixed);
    field("since", self.since_);
  }

 private:
  static constexpr uint64_t several = 0;

  void open(Time now, Reason reason) {
    state_ = State::open;
    reason_ = reason;
    since_ = now;
  }

  State state_ = State::closed;
  Reason reason_ = Reason::nothing;
  uint32_t failures_ = 0;      // in a row
  uint64_t sender_ = several;  // of all messages that failed in this row, if it is one
  Time since_{};               // it opened, or let the last test through
};

std::string_view breaker_name(Breaker::State state);
std::string_view breaker_name(Breaker::Reason reason);

}  // namespace parley::core
