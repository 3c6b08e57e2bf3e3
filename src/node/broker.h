// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "node/askers.h"
#include "node/node.h"
#include "node/open_streams.h"
#include "node/outbox_sender.h"
#include "node/waiters.h"

namespace parley::node {

// The front of a node that edges call: asks on behalf of principals, and brings what happens to
// those who wait for it. Single-threaded, like the node.
class Broker final : private Outlet {
 public:
  using Done = Askers::Done;
  using Observer =
      std::function<void(const core::Entry&, const core::Outcome&, std::span<const core::Effect>)>;

  static std::expected<std::unique_ptr<Broker>, Error> start(journal::Journal& journal,
                                                             Node::Options options);

  // Asks for `command`; `done` hears the outcome, after it is durable, in a later step. It hears at
  // once when the mailbox is full, and of a refusal that is certain: then nothing is written.
  void ask(core::WorkspaceId workspace, std::string_view actor, core::Command command, Done done);

  // Opens a stream for the actor; messages for it go to `receiver` until `close`. `done` hears
  // whether it is open before the first of them comes.
  struct Opening {
    uint32_t window = 1;
    core::ResumeMark after{};  // what its client saw of a former one
  };
  core::StreamId open(core::WorkspaceId workspace, std::string_view actor, const Opening& opening,
                      Receiver& receiver, Done done);
  void close(core::WorkspaceId workspace, const core::StreamId& stream);

  // Those who wait for mail or for an answer.
  Waiters& waiters() { return waiters_; }

  // Called for every entry, before those who asked hear of it.
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }

  // Called for every command that was refused at the door. Its entry has no place and no id.
  using RefusalObserver = std::function<void(const core::Entry&, const core::Outcome&)>;
  void observe_refusals(RefusalObserver observer) { refusal_observer_ = std::move(observer); }

  // From now on what the broker owes is sent, in messages with this body.
  void send_outbox(OutboxSender::Body body);

  std::expected<void, Error> step(Time now);
  bool has_work(Time now) const { return node_->has_work(now) || owed_due() <= now; }
  Time next_deadline() const { return std::min(node_->next_deadline(), owed_due()); }
  // For what is wrong with it, and how busy it is.
  const Node& node() const { return *node_; }
  const core::Machine& machine() const { return node_->machine(); }
  Records& records() { return node_->records(); }

 private:
  Broker() = default;

  void applied(const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects, std::optional<Ticket> ticket) override;
  void refused(Ticket ticket, const Error& error) override;

  Time outbox_due() const {
    return outbox_sender_ && !is_reading_outbox_ ? outbox_sender_->next() : base::time_max;
  }
  Time owed_due() const { return std::min(outbox_due(), streams_.due()); }
  void send_owed(Time now);
  void write_owed();
  void ask_to_close(const OpenStreams::Closing& closing);
  void tell_refusal(const core::Entry& entry, const Error& error, Done& done) const;

  std::unique_ptr<Node> node_;
  Askers askers_;
  OpenStreams streams_{0};  // of the node's life, once it has begun
  Waiters waiters_;
  std::vector<Observer> observers_;
  RefusalObserver refusal_observer_;
  std::optional<OutboxSender> outbox_sender_;
  bool is_reading_outbox_ = false;  // what they are about is on its way from the disk
  Time now_{};                      // of the newest step
};

}  // namespace parley::node
