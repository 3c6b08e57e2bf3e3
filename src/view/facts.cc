// SPDX-License-Identifier: Apache-2.0
#include "view/facts.h"

#include <variant>

#include "base/check.h"
#include "base/hash.h"
#include "core/humans/held.h"
#include "core/model/wire.h"

namespace parley::view {

namespace {

using core::none;

// The first byte of a packed fact: its kind, and what follows beyond that which each has.
constexpr uint8_t kind_mask = 0x07;
constexpr uint8_t new_entry = 0x08;  // else the entry of the fact before, and so on
constexpr uint8_t new_workspace = 0x10;
constexpr uint8_t new_name = 0x20;
constexpr uint8_t has_error = 0x40;
constexpr uint8_t has_letter = 0x80;

bool has_name(Fact::Kind kind) { return kind != Fact::Kind::sent && kind != Fact::Kind::dropped; }

// Small differences of either sign are small numbers.
uint64_t zigzag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
int64_t unzigzag(uint64_t n) {
  return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
}

void write_text(core::Writer& out, const Fact::Text& text) {
  out.varint(text.at);
  out.varint(text.size);
}
Fact::Text read_text(core::Reader& in) {
  const auto at = static_cast<uint32_t>(in.varint());
  return {at, static_cast<uint32_t>(in.varint())};
}

}  // namespace

// One entry and the tables after it.
struct Facts::Applied {
  const core::Entry& entry;
  const core::Tables& tables;
  std::span<const core::Effect> effects;
  WorkspaceId workspace;
  Seq sent_here;  // the message that this entry sent, if its deliveries are facts already

  Fact fact(Fact::Kind kind, Seq message) const {
    Fact fact;
    fact.entry = entry.seq;
    fact.message = message;
    fact.time = entry.time;
    fact.workspace = workspace;
    fact.kind = kind;
    return fact;
  }
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
      add_moved(turn, outcome->message, moved->to);
    } else if (const auto* decided = std::get_if<core::DecideApproval>(&entry.command)) {
      const core::Approval* const approval = turn.tables.approvals.find(decided->id);
      const core::MessageRef held =
          approval == nullptr ? none : turn.tables.messages.find(approval->held);
      if (held != none && !core::waits_for_approval(turn.tables, approval->held)) {
        add_deliveries(turn, held);
      }
    }
  }
}

std::vector<Fact> Facts::all() const {
  std::vector<Fact> facts;
  facts.reserve(count_);
  core::Reader in(packed_);
  Fact last;
  for (size_t n = 0; n < count_; ++n) {
    const uint8_t head = in.u8();
    Fact& fact = facts.emplace_back();
    fact.kind = static_cast<Fact::Kind>(head & kind_mask);
    fact.word = in.u8();
    fact.entry = Seq{last.entry.n + ((head & new_entry) != 0 ? in.varint() : 0)};
    fact.message = Seq{fact.entry.n - in.varint()};
    fact.time = Time{last.time.us + unzigzag(in.varint())};
    fact.attempts = static_cast<uint16_t>(in.varint() - 1);
    fact.workspace =
        (head & new_workspace) != 0 ? static_cast<WorkspaceId>(in.varint()) : last.workspace;
    last.name = (head & new_name) != 0 ? read_text(in) : last.name;
    fact.name = has_name(fact.kind) ? last.name : Fact::Text{};
    fact.error = (head & has_error) != 0 ? read_text(in) : Fact::Text{};
    fact.letter = (head & has_letter) != 0 ? in.varint() : 0;
    last.entry = fact.entry;
    last.time = fact.time;
    last.workspace = fact.workspace;
  }
  CHECK(in.done());
  return facts;
}

void Facts::put(const Fact& fact) {
  const bool names = has_name(fact.kind) && fact.name != last_.name;
  core::Writer out(packed_);
  out.u8(static_cast<uint8_t>(fact.kind) | (fact.entry != last_.entry ? new_entry : 0) |
         (fact.workspace != last_.workspace ? new_workspace : 0) | (names ? new_name : 0) |
         (fact.error.size > 0 ? has_error : 0) | (fact.letter != 0 ? has_letter : 0));
  out.u8(fact.word);
  if (fact.entry != last_.entry) {
    out.varint(fact.entry.n - last_.entry.n);
  }
  out.varint(fact.entry.n - fact.message.n);
  out.varint(zigzag(fact.time.us - last_.time.us));
  out.varint(static_cast<uint16_t>(fact.attempts + 1));
  if (fact.workspace != last_.workspace) {
    out.varint(static_cast<uint64_t>(fact.workspace));
  }
  if (names) {
    write_text(out, fact.name);
    last_.name = fact.name;
  }
  if (fact.error.size > 0) {
    write_text(out, fact.error);
  }
  if (fact.letter != 0) {
    out.varint(fact.letter);
  }
  last_.entry = fact.entry;
  last_.time = fact.time;
  last_.workspace = fact.workspace;
  ++count_;
}

void Facts::shrink() {
  packed_.shrink_to_fit();
  texts_.shrink_to_fit();
}

// Adds the message with all its deliveries and returns its place; or none, when the engine forgot
// it within the entry: then the effects say what is left to say.
Seq Facts::add_send(const Applied& turn) {
  const core::Messages& messages = turn.tables.messages;
  const core::MessageRef message = messages.find(turn.entry.seq);
  Fact sent = turn.fact(Fact::Kind::sent, turn.entry.seq);
  sent.word = message == none || messages.message(message).open == 0 ? Fact::finished : 0;
  put(sent);
  if (message == none) {
    return {};
  }
  // What people have to approve first is its sender's alone: nobody has got it.
  if (!core::waits_for_approval(turn.tables, turn.entry.seq)) {
    add_deliveries(turn, message);
  }
  return turn.entry.seq;
}

void Facts::add_deliveries(const Applied& turn, core::MessageRef message) {
  const core::Messages& messages = turn.tables.messages;
  for (core::DeliveryRef ref = messages.message(message).deliveries; ref != none;) {
    add_delivery(turn, ref);
    ref = messages.delivery(ref).sibling;
  }
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
      add_delivery(turn, about.delivery, again);
      return;
    }
    // The engine has forgotten it within this entry. A name that is gone as well was that of
    // nobody who could ask.
    if (const std::string& name = turn.tables.agents[about.receiver].name; !name.empty()) {
      Fact fact = turn.fact(Fact::Kind::delivery, about.message);
      fact.word = static_cast<uint8_t>(state) | Fact::finished;
      fact.attempts = attempts;
      fact.name = keep(name);
      put(fact);
    }
  };
  const core::Effect& effect = turn.effects[at];
  if (const auto* deliver = std::get_if<core::Deliver>(&effect)) {
    add_state(*deliver, core::State::offered, static_cast<uint16_t>(deliver->attempt));
  } else if (const auto* settled = std::get_if<core::Settled>(&effect)) {
    add_state(*settled, settled->state, Fact::attempts_unknown, settled->again);
  } else if (const auto* dead = std::get_if<core::DeadLettered>(&effect)) {
    const auto letter = turn.tables.dead_letters.all().find(dead->id);
    Fact fact = turn.fact(Fact::Kind::dead_letter, dead->message);
    fact.letter = dead->id;
    fact.word = static_cast<uint8_t>(dead->reason);
    if (letter != turn.tables.dead_letters.all().end()) {
      fact.attempts = static_cast<uint16_t>(letter->second.retry_count);
      fact.name = keep(letter->second.receiver);
      fact.error = keep(letter->second.last_error);
    } else {
      // Dropped in the same entry. The end of its delivery is told behind it, after an alarm if the
      // letter raised one.
      fact.attempts = Fact::attempts_unknown;
      for (size_t next = at + 1; next < turn.effects.size(); ++next) {
        const auto* const end = std::get_if<core::Settled>(&turn.effects[next]);
        if (end != nullptr && end->message == dead->message) {
          fact.name = keep(turn.tables.agents[end->receiver].name);
          break;
        }
      }
    }
    put(fact);
  } else if (const auto* resolved = std::get_if<core::DeadLetterResolved>(&effect)) {
    add_resolved(turn, resolved->id, resolved->resolution, core::broker_word);
  } else if (const auto* dropped = std::get_if<core::DeadLetterDropped>(&effect)) {
    Fact fact = turn.fact(Fact::Kind::dropped, {});
    fact.letter = dropped->id;
    put(fact);
  }
}

// `again`: it had ended before, so the message is not finished by it.
void Facts::add_delivery(const Applied& turn, core::DeliveryRef ref, bool again) {
  const core::Delivery& delivery = turn.tables.messages.delivery(ref);
  Fact fact = turn.fact(Fact::Kind::delivery, turn.tables.messages.message_of(ref).seq);
  fact.time = delivery.changed;
  fact.attempts = delivery.attempts;
  fact.word = static_cast<uint8_t>(delivery.state);
  if (core::is_final(delivery.state) && !again &&
      turn.tables.messages.message(delivery.message).open == 0) {
    fact.word |= Fact::finished;
  }
  fact.name = keep(turn.tables.agents[delivery.receiver].name);
  if (const std::string* const error = turn.tables.messages.notes.last_error(ref);
      error != nullptr) {
    fact.error = keep(*error);
  }
  put(fact);
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
void Facts::add_moved(const Applied& turn, Seq moved, std::string_view to) {
  const core::Messages& messages = turn.tables.messages;
  const core::AgentRef receiver = turn.tables.agents.find(to);
  const core::MessageRef message = messages.find(moved);
  const core::DeliveryRef ref =
      message == none || receiver == none ? none : messages.delivery_to(message, receiver);
  if (ref != none) {
    add_delivery(turn, ref);
  }
}

void Facts::add_resolved(const Applied& turn, uint64_t id, core::Resolution resolution,
                         std::string_view by) {
  const auto& letters = turn.tables.dead_letters.all();
  const auto letter = letters.find(id);
  Fact fact = turn.fact(Fact::Kind::resolved, {});
  fact.letter = id;
  fact.word = static_cast<uint8_t>(resolution);
  fact.name = keep(by);
  put(fact);
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

Fact::Text Facts::keep(std::string_view text) {
  Fact::Text& kept = kept_[base::hash64(text) % kept_.size()];
  if (this->text(kept) != text) {
    kept = {static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(text.size())};
    texts_.append(text);
  }
  return kept;
}

}  // namespace parley::view
