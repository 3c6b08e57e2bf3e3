// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/machine.h"

namespace parley::node {

// Tells senders of what finally failed: for each dead letter one message of the broker's own. The
// machine knows which senders have been told, so nothing is lost with a crash or told twice.
class Notices {
 public:
  // The body of the message, as JSON.
  using Body = std::function<std::string(const core::DeadLetter& letter)>;
  // The record at a place of the journal.
  using Fetch = std::function<std::expected<std::string_view, base::Error>(base::Seq)>;

  struct Letter {
    core::WorkspaceId workspace{};
    uint64_t id = 0;
  };

  explicit Notices(Body body) : body_(std::move(body)) {}

  // Takes up what earlier lives left.
  void start(const core::Machine& machine);
  // Takes up the new dead letters.
  void add(std::span<const core::Effect> effects);
  // It could not be told now; it is tried again after a second.
  void put_off(const Letter& letter, base::Time now);

  // Calls `tell` with the message to send for each letter that is due, a bounded number of them.
  // The message is good during the call.
  void run(const core::Machine& machine, base::Time now, const Fetch& fetch,
           const std::function<void(const Letter&, core::Send)>& tell);

  // When there is something to tell; time_max: nothing.
  base::Time next() const { return waiting_.empty() ? base::time_max : not_before_; }

 private:
  Body body_;
  std::deque<Letter> waiting_;
  base::Time not_before_{};
};

}  // namespace parley::node
