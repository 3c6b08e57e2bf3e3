// SPDX-License-Identifier: Apache-2.0
#include "view/facts.h"

#include <variant>

namespace parley::view {

namespace {

using core::none;

}  // namespace

// One entry and the tables after it.
struct Facts::Applied {
  const core::Entry& entry;
  const core::Tables& tables;
  std::span<const core::Effect> effects;
  WorkspaceId workspace;
  Seq sent_here;  // the message that this entry sent, if its deliveries are facts already
};

void Facts::add(const core::Machine& machine, const core::Entry& entry,
                const core::Outcome& outcome, std::span<const core::Effect> effects) {
  const bool done = outcome.has_value();
  const core::Workspace* home = done ? machine.find(entry.workspace) : nullptr;
  Seq sent_here;
  if (home != nullptr) {
    const Applied turn{entry, home->tables(), effects, entry.workspace, {}};
    if (std::holds_alternative<core::Send>(entry.command) && !outcome->duplicate) {
      sent_here = add_send(turn);
    } else if (const auto* resolve = std::get_if<core::ResolveDeadLetter>(&entry.command)) {
      add_resolved(turn, resolve->id, resolve->resolution, entry.actor);
    }
  }
  for (size_t at = 0; at < effects.size(); ++at) {
    const WorkspaceId workspace =
        std::visit([](const auto& effect) { return effect.workspace; }, effects[at]);
    if (const core::Workspace* place = machine.find(workspace)) {
      add_effect({entry, place->tables(), effects, workspace, sent_here}, at);
    }
  }
  // These change a delivery without an effect that says so.
  if (home != nullptr) {
    const Applied turn{entry, home->tables(), effects, entry.workspace, sent_here};
    if (const auto* read = std::get_if<core::Read>(&entry.command)) {
      add_target(turn, read->target);
    } else if (const auto* nack = std::get_if<core::Nack>(&entry.command)) {
      add_target(turn, nack->target);
    } else if (const auto* moved = std::get_if<core::ReassignTask>(&entry.command)) {
      add_moved(turn, *moved);
    }
  }
}

void Facts::clear() {
  facts_.clear();
  texts_.clear();
  last_name_ = {};
}

// Adds the message with all its deliveries and returns its place; or none, when the engine forgot
// it within the entry: then the effects say what is left to say.
Seq Facts::add_send(const Applied& turn) {
  Fact& sent = put(turn, Fact::Kind::sent, turn.entry.seq);
  const core::Messages& messages = turn.tables.messages;
  const core::MessageRef message = messages.find(turn.entry.seq);
  if (message == none) {
    sent.word = Fact::finished;
    return {};
  }
  sent.word = messages.message(message).open == 0 ? Fact::finished : 0;
  for (core::DeliveryRef ref = messages.message(message).deliveries; ref != none;) {
    add_delivery(turn, ref);
    ref = messages.delivery(ref).sibling;
  }
  return turn.entry.seq;
}

void Facts::add_effect(const Applied& turn, size_t at) {
  const core::Messages& messages = turn.tables.messages;
  const auto add_state = [&](const auto& about, core::State state, uint16_t attempts,
                             bool again = false) {
    if (about.message == turn.sent_here) {
      return;
    }
    const core::Delivery& delivery = messages.delivery(about.delivery);
    if (delivery.message != none && delivery.receiver == about.receiver &&
        messages.message(delivery.message).seq == about.message) {
      add_delivery(turn, about.delivery);
      if (again) {
        facts_.back().word &= static_cast<uint8_t>(~Fact::finished);
      }
      return;
    }
    // The engine has forgotten it within this entry. A name that is gone as well was that of
    // nobody who could ask.
    if (const std::string& name = turn.tables.agents[about.receiver].name; !name.empty()) {
      Fact& fact = put(turn, Fact::Kind::delivery, about.message);
      fact.word = static_cast<uint8_t>(state) | Fact::finished;
      fact.attempts = attempts;
      fact.name = keep_name(name);
    }
  };
  const core::Effect& effect = turn.effects[at];
  if (const auto* deliver = std::get_if<core::Deliver>(&effect)) {
    add_state(*deliver, core::State::offered, static_cast<uint16_t>(deliver->attempt));
  } else if (const auto* settled = std::get_if<core::Settled>(&effect)) {
    add_state(*settled, settled->state, Fact::attempts_unknown, settled->again);
  } else if (const auto* dead = std::get_if<core::DeadLettered>(&effect)) {
    const auto letter = turn.tables.dead_letters.all().find(dead->id);
    Fact& fact = put(turn, Fact::Kind::dead_letter, dead->message);
    fact.letter = dead->id;
    fact.word = static_cast<uint8_t>(dead->reason);
    if (letter != turn.tables.dead_letters.all().end()) {
      fact.attempts = static_cast<uint16_t>(letter->second.retry_count);
      fact.name = keep_name(letter->second.receiver);
      fact.error = keep(letter->second.last_error);
    } else {
      // Dropped in the same entry. The end of its delivery is told behind it, after an alarm if the
      // letter raised one.
      fact.attempts = Fact::attempts_unknown;
      for (size_t next = at + 1; next < turn.effects.size(); ++next) {
        const auto* const end = std::get_if<core::Settled>(&turn.effects[next]);
        if (end != nullptr && end->message == dead->message) {
          fact.name = keep_name(turn.tables.agents[end->receiver].name);
          break;
        }
      }
    }
  } else if (const auto* resolved = std::get_if<core::DeadLetterResolved>(&effect)) {
    add_resolved(turn, resolved->id, resolved->resolution, core::broker_word);
  } else if (const auto* dropped = std::get_if<core::DeadLetterDropped>(&effect)) {
    put(turn, Fact::Kind::dropped, {}).letter = dropped->id;
  }
}

void Facts::add_delivery(const Applied& turn, core::DeliveryRef ref) {
  const core::Delivery& delivery = turn.tables.messages.delivery(ref);
  Fact& fact = put(turn, Fact::Kind::delivery, turn.tables.messages.message_of(ref).seq);
  fact.time = delivery.changed;
  fact.attempts = delivery.attempts;
  fact.word = static_cast<uint8_t>(delivery.state);
  if (core::is_final(delivery.state) &&
      turn.tables.messages.message(delivery.message).open == 0) {
    fact.word |= Fact::finished;
  }
  fact.name = keep_name(turn.tables.agents[delivery.receiver].name);
  if (const std::string* const error = turn.tables.messages.notes.last_error(ref);
      error != nullptr) {
    fact.error = keep(*error);
  }
}

void Facts::add_target(const Applied& turn, const core::Target& target) {
  const core::Messages& messages = turn.tables.messages;
  const core::AgentRef actor = turn.tables.agents.find(turn.entry.actor);
  if (actor == none) {
    return;
  }
  const core::MessageRef message = target.seq.n != 0 ? messages.find(target.seq)
                                                     : messages.find_received(actor, target.id);
  const core::DeliveryRef ref = message == none ? none : messages.delivery_to(message, actor);
  if (ref != none) {
    add_delivery(turn, ref);
  }
}

// The message of the task has one more receiver.
void Facts::add_moved(const Applied& turn, const core::ReassignTask& command) {
  const core::Messages& messages = turn.tables.messages;
  const core::AgentRef receiver = turn.tables.agents.find(command.to);
  for (const core::Task* const task : turn.tables.tasks.named(command.task)) {
    const core::MessageRef message = messages.find(task->message);
    const core::DeliveryRef ref = message == none || receiver == none
                                      ? none
                                      : messages.delivery_to(message, receiver);
    if (ref != none) {
      add_delivery(turn, ref);
    }
  }
}

void Facts::add_resolved(const Applied& turn, uint64_t id, core::Resolution resolution,
                         std::string_view by) {
  const auto& letters = turn.tables.dead_letters.all();
  const auto letter = letters.find(id);
  Fact& fact = put(turn, Fact::Kind::resolved, {});
  fact.letter = id;
  fact.word = static_cast<uint8_t>(resolution);
  fact.name = keep_name(by);
  if (resolution != core::Resolution::retried || letter == letters.end()) {
    return;
  }
  const core::Messages& messages = turn.tables.messages;
  const core::MessageRef message = messages.find(letter->second.message);
  const core::AgentRef receiver = turn.tables.agents.find(letter->second.receiver);
  const core::DeliveryRef ref = message == none || receiver == none
                                    ? none
                                    : messages.delivery_to(message, receiver);
  if (ref != none) {
    add_delivery(turn, ref);
  }
}

Fact& Facts::put(const Applied& turn, Fact::Kind kind, Seq message) {
  Fact& fact = facts_.emplace_back();
  fact.entry = turn.entry.seq;
  fact.message = message;
  fact.time = turn.entry.time;
  fact.workspace = turn.workspace;
  fact.kind = kind;
  return fact;
}

Fact::Text Facts::keep(std::string_view text) {
  const Fact::Text kept{static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(text.size())};
  texts_.append(text);
  return kept;
}

// A busy receiver is named once for a whole run of its messages.
Fact::Text Facts::keep_name(std::string_view name) {
  if (text(last_name_) != name) {
    last_name_ = keep(name);
  }
  return last_name_;
}

}  // namespace parley::view
