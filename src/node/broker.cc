// SPDX-License-Identifier: Apache-2.0
#include "node/broker.h"

#include <utility>
#include <variant>

#include "core/limits/admission.h"

namespace parley::node {

std::expected<std::unique_ptr<Broker>, Error> Broker::start(journal::Journal& journal,
                                                            Node::Options options) {
  std::unique_ptr<Broker> broker(new Broker);
  auto node = Node::start(journal, *broker, std::move(options));
  if (!node) {
    return std::unexpected(node.error());
  }
  broker->node_ = std::move(*node);
  broker->streams_ = OpenStreams(broker->node_->origin());
  return broker;
}

std::expected<void, Error> Broker::step(Time now) {
  now_ = now;
  send_owed(now);
  for (const OpenStreams::Closing& closing : streams_.take_due(now)) {
    ask_to_close(closing);
  }
  return node_->step(now);
}

void Broker::send_outbox(OutboxSender::Body body) {
  outbox_sender_.emplace(std::move(body));
  outbox_sender_->start(machine());
}

void Broker::send_owed(Time now) {
  if (outbox_due() > now) {
    return;
  }
  is_reading_outbox_ = true;
  records().warm(outbox_sender_->originals(machine()), [this] {
    is_reading_outbox_ = false;
    write_owed();
  });
}

void Broker::write_owed() {
  outbox_sender_->run(
      machine(), now_, [this](Seq seq) { return records().read(seq); },
      [this](const OutboxSender::Job& job, core::Send send) {
        ask(job.workspace, core::broker_name, std::move(send),
            [this, job](const core::Outcome& outcome, std::span<const core::Effect>) {
              // What the machine refused it owes no more; what did not get there is tried again.
              const core::Outbox& owed = machine().find(job.workspace)->tables().outbox;
              if (!outcome && owed.find(job.outbox_item) != nullptr) {
                outbox_sender_->put_off(job, now_);
              }
            });
      });
}

namespace {

// Nothing that is certain to be refused passes behind these: they need not be told first. A Read is
// not one of them, for who reads may then nack.
bool lets_nothing_pass(const core::Command& command) {
  return std::holds_alternative<core::Heartbeat>(command) ||
         std::holds_alternative<core::StopWaiting>(command);
}

}  // namespace

void Broker::ask(core::WorkspaceId workspace, std::string_view actor, core::Command command,
                 Done done) {
  core::Entry entry;
  entry.workspace = workspace;
  entry.actor = actor;
  entry.command = std::move(command);
  const Askers::Actor who = Askers::actor_of(workspace, actor);
  // What the actor has asked before may let this pass. What others have asked is not told to them
  // yet, so this may as well have come before it.
  if (const auto refusal = node_->admit(entry, askers_.untold(who))) {
    tell_refusal(entry, *refusal, done);
    return;
  }
  const auto changes =
      lets_nothing_pass(entry.command) ? Askers::Changes::nothing : Askers::Changes::something;
  const uint64_t bytes = core::stored_bytes(entry.command);
  const auto ticket = node_->submit(workspace, actor, std::move(entry.command));
  if (!ticket) {
    done(std::unexpected(ticket.error()), {});
    return;
  }
  askers_.add(*ticket, who, changes, bytes, std::move(done));
}

void Broker::tell_refusal(const core::Entry& entry, const Error& error, Done& done) const {
  const core::Outcome outcome = std::unexpected(error);
  if (refusal_observer_) {
    refusal_observer_(entry, outcome);
  }
  done(outcome, {});
}

core::StreamId Broker::open(core::WorkspaceId workspace, std::string_view actor,
                            const Opening& opening, Receiver& receiver, Done done) {
  const core::StreamId stream = streams_.add(receiver);
  ask(workspace, actor,
      core::OpenStream{.stream = stream, .window = opening.window, .after = opening.after},
      [this, stream, done = std::move(done)](const core::Outcome& outcome,
                                             std::span<const core::Effect> effects) mutable {
        if (!outcome) {
          streams_.remove(stream);
        }
        done(outcome, effects);
      });
  return stream;
}

void Broker::close(core::WorkspaceId workspace, const core::StreamId& stream) {
  if (streams_.remove(stream)) {
    ask_to_close({workspace, stream});
  }
}

void Broker::ask_to_close(const OpenStreams::Closing& closing) {
  ask(closing.workspace, core::broker_name, core::CloseStream{.stream = closing.stream},
      [this, closing](const core::Outcome& outcome, std::span<const core::Effect>) {
        const base::Code code = outcome ? base::Code::not_found : outcome.error().code;
        if (code == base::Code::overloaded || code == base::Code::storage_full ||
            code == base::Code::storage_failed) {
          streams_.put_off(closing, now_);
        }
      });
}

void Broker::applied(const core::Entry& entry, const core::Outcome& outcome,
                     std::span<const core::Effect> effects, std::optional<Ticket> ticket) {
  for (const Observer& observer : observers_) {
    observer(entry, outcome, effects);
  }
  if (ticket) {
    if (Done done = askers_.take(*ticket)) {
      done(outcome, effects);
    }
  }
  for (const core::Effect& effect : effects) {
    streams_.hear(entry, effect);
    waiters_.hear(machine(), entry, effect);
  }
  if (outbox_sender_) {
    outbox_sender_->add(machine(), effects);
  }
}

void Broker::refused(Ticket ticket, const Error& error) {
  if (Done done = askers_.take(ticket)) {
    done(std::unexpected(error), {});
  }
}

}  // namespace parley::node
