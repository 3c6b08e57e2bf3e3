// SPDX-License-Identifier: Apache-2.0
#include "node/broker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/hash.h"

namespace parley::node {

std::expected<std::unique_ptr<Broker>, Error> Broker::start(journal::Journal& journal,
                                                            Node::Options options) {
  std::unique_ptr<Broker> broker(new Broker);
  auto node = Node::start(journal, *broker, std::move(options));
  if (!node) {
    return std::unexpected(node.error());
  }
  broker->node_ = std::move(*node);
  broker->origin_ = broker->node_->origin();
  return broker;
}

std::expected<void, Error> Broker::step(Time now) {
  now_ = now;
  send_owed(now);
  close_owed(now);
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
  warm(outbox_sender_->originals(machine()), [this] {
    is_reading_outbox_ = false;
    write_owed();
  });
}

void Broker::write_owed() {
  outbox_sender_->run(
      machine(), now_, [this](Seq seq) { return record(seq); },
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
  const uint64_t who = base::hash64(actor, static_cast<uint32_t>(workspace));
  // What the actor has asked before may let this pass. What others have asked is not told to them
  // yet, so this may as well have come before it.
  const auto newest = newest_.find(who);
  if ((newest == newest_.end() || newest->second < first_ticket_) && refuse_at_door(entry, done)) {
    return;
  }
  const bool may_change_answers = !lets_nothing_pass(entry.command);
  const auto ticket = node_->submit(workspace, actor, std::move(entry.command));
  if (!ticket) {
    done(std::unexpected(ticket.error()), {});
    return;
  }
  if (may_change_answers) {
    newest_[who] = *ticket;
  }
  // The node has submitted commands of its own in between: those have no asker.
  while (first_ticket_ + askers_.size() < *ticket) {
    askers_.emplace_back();
  }
  askers_.push_back(std::move(done));
}

bool Broker::refuse_at_door(core::Entry& entry, Done& done) const {
  const std::optional<Error> error = node_->admit(entry);
  if (!error) {
    return false;
  }
  const core::Outcome outcome = std::unexpected(*error);
  if (refusal_observer_) {
    refusal_observer_(entry, outcome);
  }
  done(outcome, {});
  return true;
}

core::StreamId Broker::open(core::WorkspaceId workspace, std::string_view actor,
                            const Opening& opening, Receiver& receiver, Done done) {
  const core::StreamId stream{origin_, next_stream_++};
  receivers_.emplace(stream.number, &receiver);
  ask(workspace, actor,
      core::OpenStream{.stream = stream, .window = opening.window, .after = opening.after},
      [this, stream, done = std::move(done)](const core::Outcome& outcome,
                                             std::span<const core::Effect> effects) mutable {
        if (!outcome) {
          receivers_.erase(stream.number);
        }
        done(outcome, effects);
      });
  return stream;
}

void Broker::close(core::WorkspaceId workspace, const core::StreamId& stream) {
  if (receivers_.erase(stream.number) > 0) {
    ask_to_close({workspace, stream});
  }
}

// A stream that nobody reads goes on to be handed messages, each for the time of its lease. So what
// there was no room for now is asked again after a second.
void Broker::ask_to_close(const Closing& closing) {
  ask(closing.workspace, core::broker_name, core::CloseStream{.stream = closing.stream},
      [this, closing](const core::Outcome& outcome, std::span<const core::Effect>) {
        const base::Code code = outcome ? base::Code::not_found : outcome.error().code;
        if (code == base::Code::overloaded || code == base::Code::storage_full ||
            code == base::Code::storage_failed) {
          closings_.push_back(closing);
          closings_due_ = now_ + base::seconds(1);
        }
      });
}

void Broker::close_owed(Time now) {
  if (closings_due_ <= now) {
    closings_due_ = base::time_max;
    for (const Closing& closing : std::exchange(closings_, {})) {
      ask_to_close(closing);
    }
  }
}

Broker::Waiter Broker::on_mail(core::WorkspaceId workspace, core::AgentRef agent,
                               std::function<void()> wake) {
  mail_[{workspace, agent}].emplace(next_waiter_, std::move(wake));
  return {.workspace = workspace, .agent = agent, .id = next_waiter_++};
}

Broker::Waiter Broker::on_answer(core::WorkspaceId workspace, Seq question,
                                 std::function<void(Answer)> answered) {
  answers_[{workspace, question}].emplace(next_waiter_, std::move(answered));
  return {.workspace = workspace, .question = question, .id = next_waiter_++};
}

void Broker::forget(const Waiter& waiter) {
  const auto drop = [&waiter](auto& waiters, const auto& key) {
    const auto at = waiters.find(key);
    if (at == waiters.end()) {
      return;
    }
    at->second.erase(waiter.id);
    if (at->second.empty()) {
      waiters.erase(at);
    }
  };
  drop(mail_, std::pair{waiter.workspace, waiter.agent});
  drop(answers_, std::pair{waiter.workspace, waiter.question});
}

Broker::Done Broker::take_asker(Ticket ticket) {
  // Outcomes come in the order of the tickets; what was refused before is gone already.
  Done done;
  while (!askers_.empty() && first_ticket_ <= ticket) {
    done = std::move(askers_.front());
    askers_.pop_front();
    ++first_ticket_;
  }
  if (askers_.empty()) {
    newest_.clear();
  }
  return done;
}

void Broker::applied(const core::Entry& entry, const core::Outcome& outcome,
                     std::span<const core::Effect> effects, std::optional<Ticket> ticket) {
  for (const Observer& observer : observers_) {
    observer(entry, outcome, effects);
  }
  if (ticket) {
    if (Done done = take_asker(*ticket)) {
      done(outcome, effects);
    }
  }
  for (const core::Effect& effect : effects) {
    route(entry, effect);
  }
  if (outbox_sender_) {
    outbox_sender_->add(machine(), effects);
  }
}

void Broker::refused(Ticket ticket, const Error& error) {
  if (Done done = take_asker(ticket)) {
    done(std::unexpected(error), {});
  }
}

void Broker::route(const core::Entry& entry, const core::Effect& effect) {
  if (const auto* deliver = std::get_if<core::Deliver>(&effect)) {
    if (deliver->stream.origin == origin_ && !deliver->seen) {
      if (const auto at = receivers_.find(deliver->stream.number); at != receivers_.end()) {
        const auto* send = std::get_if<core::Send>(&entry.command);
        at->second->deliver(
            *deliver, send != nullptr && deliver->message == entry.seq ? &send->envelope : nullptr);
      }
    }
  } else if (const auto* mail = std::get_if<core::Mail>(&effect)) {
    wake_mail(mail->workspace, mail->receiver);
  } else if (const auto* closed = std::get_if<core::StreamClosed>(&effect)) {
    if (closed->stream.origin == origin_) {
      if (const auto node = receivers_.extract(closed->stream.number)) {
        node.mapped()->stream_closed();
      }
    }
  } else if (const auto* settled = std::get_if<core::Settled>(&effect)) {
    if (settled->state == core::State::answered) {
      tell_answer(settled->workspace, settled->message, entry.seq);
    } else if (settled->state != core::State::acked &&
               answers_.contains({settled->workspace, settled->message})) {
      const core::Messages& messages = machine().find(settled->workspace)->tables().messages;
      const core::MessageRef ref = messages.find(settled->message);
      if (ref == core::none || messages.has_failed(ref)) {
        tell_answer(settled->workspace, settled->message,
                    std::unexpected(base::Code::not_answered));
      }
    }
  } else if (const auto* turn = std::get_if<core::LockTurn>(&effect)) {
    tell_answer(turn->workspace, turn->place,
                turn->granted ? Answer(turn->place) : std::unexpected(base::Code::timeout));
  } else if (const auto* late = std::get_if<core::RequestTimedOut>(&effect)) {
    if (late->is_final) {
      tell_answer(late->workspace, late->message, std::unexpected(base::Code::timeout));
    }
  }
}

void Broker::wake_mail(core::WorkspaceId workspace, core::AgentRef agent) {
  auto node = mail_.extract({workspace, agent});
  if (node) {
    for (const auto& [id, wake] : node.mapped()) {
      wake();
    }
  }
}

void Broker::tell_answer(core::WorkspaceId workspace, Seq question, Answer answer) {
  auto node = answers_.extract({workspace, question});
  if (node) {
    for (const auto& [id, answered] : node.mapped()) {
      answered(answer);
    }
  }
}

}  // namespace parley::node
