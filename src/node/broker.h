// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: what an edge asks of a node, and who waits for what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "node/node.h"
#include "node/outbox_sender.h"

namespace parley::node {

// Where the messages of one stream go.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // One that its client has not seen. `envelope` is the message when it is at hand, because it was
  // sent just now; else null, and its record has it. Good during the call.
  virtual void deliver(const core::Deliver& delivery, const core::Envelope* envelope) = 0;
  // The machine closed the stream: its agent was removed, or another stream took its place.
  virtual void stream_closed() = 0;
};

// The front of a node that edges call: asks on behalf of principals, and brings what happens to
// those who wait for it. Single-threaded, like the node.
class Broker final : private Outlet {
 public:
  using Done = std::move_only_function<void(const core::Outcome&, std::span<const core::Effect>)>;
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

  // One who waits; to be forgotten when it waits no longer.
  struct Waiter {
    core::WorkspaceId workspace{};
    core::AgentRef agent = core::none;  // waits for mail of this agent, or
    Seq question;                       // for the answer to this message
    uint64_t id = 0;
  };
  // Calls `wake` once, when something waits for the agent.
  Waiter on_mail(core::WorkspaceId workspace, core::AgentRef agent, std::function<void()> wake);
  // The place of an answer; or why there is none: not_answered when the question failed for all of
  // its receivers, timeout when its own time was over.
  using Answer = std::expected<Seq, base::Code>;
  // Calls `answered` once with what came of the message at `question`; or of the request at that
  // place for a lock: its own place when it has it, else timeout.
  Waiter on_answer(core::WorkspaceId workspace, Seq question, std::function<void(Answer)> answered);
  void forget(const Waiter& waiter);
  // Whether someone waits for mail of the agent.
  bool is_awaited(core::WorkspaceId workspace, core::AgentRef agent) const {
    return mail_.contains({workspace, agent});
  }

  // Called for every entry, before those who asked hear of it.
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }

  // Called for every command that was refused at the door. Its entry has no place and no id.
  using RefusalObserver = std::function<void(const core::Entry&, const core::Outcome&)>;
  void observe_refusals(RefusalObserver observer) { refusal_observer_ = std::move(observer); }

  // From now on what the broker owes is sent, in messages with this body.
  void send_outbox(OutboxSender::Body body);

  std::expected<void, Error> step(Time now);
  bool has_work(Time now) const { return node_->has_work(now) || owed_due() <= now; }
  base::Duration stored_for() const { return node_->stored_for(); }
  bool is_behind() const { return node_->is_behind(); }
  Time next_deadline() const { return std::min(node_->next_deadline(), owed_due()); }
  const core::Machine& machine() const { return node_->machine(); }
  std::expected<std::string_view, Error> record(Seq seq) { return node_->records().read(seq); }
  void warm(const std::vector<Seq>& seqs, Records::Done done) {
    node_->records().warm(seqs, std::move(done));
  }
  bool is_warm(Seq seq) const { return node_->records().is_warm(seq); }
  uint64_t cold_reads() const { return node_->records().cold_reads(); }
  uint64_t warmed() const { return node_->records().warmed(); }
  const std::optional<Error>& trouble() const { return node_->trouble(); }
  const std::optional<Error>& snapshot_trouble() const { return node_->snapshot_trouble(); }

 private:
  Broker() = default;

  void applied(const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects, std::optional<Ticket> ticket) override;
  void refused(Ticket ticket, const Error& error) override;

  struct Closing {
    core::WorkspaceId workspace;
    core::StreamId stream;
  };

  Time outbox_due() const {
    return outbox_sender_ && !is_reading_outbox_ ? outbox_sender_->next() : base::time_max;
  }
  Time owed_due() const { return std::min(outbox_due(), closings_due_); }
  void send_owed(Time now);
  void write_owed();
  void ask_to_close(const Closing& closing);
  void close_owed(Time now);
  Done take_asker(Ticket ticket);
  bool refuse_at_door(core::Entry& entry, Done& done) const;
  void route(const core::Entry& entry, const core::Effect& effect);
  void wake_mail(core::WorkspaceId workspace, core::AgentRef agent);
  void tell_answer(core::WorkspaceId workspace, Seq question, Answer answer);

  // By id, which is also their order: thousands may wait for the same, and hang up one by one.
  template <class Call>
  using Waiters = std::map<uint64_t, Call>;

  std::unique_ptr<Node> node_;
  uint64_t origin_ = 0;
  Ticket first_ticket_ = 1;  // of askers_.front()
  std::deque<Done> askers_;  // by ticket, without a gap; the node's own commands have none
  uint64_t next_stream_ = 1;
  uint64_t next_waiter_ = 1;
  std::unordered_map<uint64_t, Receiver*> receivers_;  // by stream number
  std::map<std::pair<core::WorkspaceId, core::AgentRef>, Waiters<std::function<void()>>> mail_;
  std::map<std::pair<core::WorkspaceId, Seq>, Waiters<std::function<void(Answer)>>> answers_;
  // By workspace and actor, hashed: the newest command of each. Only what is not told yet counts.
  std::unordered_map<uint64_t, Ticket> newest_;
  std::vector<Observer> observers_;
  RefusalObserver refusal_observer_;
  std::optional<OutboxSender> outbox_sender_;
  bool is_reading_outbox_ = false;  // what they are about is on its way from the disk
  std::vector<Closing> closings_;   // streams that could not be closed when they should
  Time closings_due_ = base::time_max;
  Time now_{};  // of the newest step
};

}  // namespace parley::node
