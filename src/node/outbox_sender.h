// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/machine.h"

namespace parley::node {

// Runs the machine's outbox items: writes the messages that the broker owes. The machine knows what
// is still owed, so nothing is lost with a crash or told twice.
class OutboxSender {
 public:
  // The body of the message, as JSON.
  using Body = std::function<std::string(const core::OutboxItem& item)>;
  // The record at a place of the journal.
  using Fetch = std::function<std::expected<std::string_view, base::Error>(base::Seq)>;

  struct Job {
    core::WorkspaceId workspace{};
    uint64_t outbox_item = 0;
    std::string to;
    uint32_t unread = 0;  // times that what it is about could not be read
  };

  explicit OutboxSender(Body body) : body_(std::move(body)) {}

  // Takes up what earlier lives left.
  void start(const core::Machine& machine);
  // Takes up what is newly owed.
  void add(const core::Machine& machine, std::span<const core::Effect> effects);
  // It could not be sent now; it is tried again after a second.
  void put_off(const Job& job, base::Time now);

  // The records that the next `run` fetches, as far as is known now.
  std::vector<base::Seq> originals(const core::Machine& machine) const;

  // Calls `send` with the message for each outbox item that is due, a bounded number of them, and
  // of what is large fewer: one run is a part of one turn of the loop. The message is good during
  // the call.
  void run(const core::Machine& machine, base::Time now, const Fetch& fetch,
           const std::function<void(const Job&, core::Send)>& send);

  // A compromise: more keep a node behind that owes thousands, and no socket is read then; with
  // fewer, more is owed at a time, and more of it is told in summaries only.
  static constexpr size_t per_run_max = 128;
  static constexpr size_t bytes_per_run_max = 256 * 1024;  // of records, after which a run ends

  // When there is something to send; time_max: nothing.
  base::Time next() const { return turns_.empty() ? base::time_max : not_before_; }

 private:
  using To = std::pair<core::WorkspaceId, std::string>;
  void line_up(Job job);
  Job take_next();

  Body body_;
  // A line for each who is told, in the order owed, and whose turn it is: who is owed very much
  // does not hold up the others.
  std::map<To, std::deque<Job>> lines_;
  std::deque<To> turns_;
  base::Time not_before_{};
};

}  // namespace parley::node
