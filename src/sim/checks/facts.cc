// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/facts.h"

#include <array>
#include <variant>

#include "base/hash.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr std::array<std::string_view, std::variant_size_v<core::Command>> command_names = {
    "tick",           "start_node",   "add_workspace", "set_rules",    "register",
    "unregister",     "subscribe",    "unsubscribe",   "send",         "read",
    "take",           "ack",          "nack",          "reject",       "extend",
    "open_stream",    "close_stream", "resolve",       "heartbeat",    "malformed",
    "escalation",     "close_thread", "reset",         "stop_waiting", "start_session",
    "change_session", "take_lock",    "release_lock",  "reassign_task"};

struct Translate {
  const core::Machine& machine;
  Fact fact;

  std::string name(core::WorkspaceId workspace, core::AgentRef ref) const {
    return machine.find(workspace)->tables().agents[ref].name;
  }

  void operator()(const core::Deliver& e) {
    fact.kind = Fact::Kind::deliver;
    fact.receiver = name(e.workspace, e.receiver);
    fact.stream = e.stream;
    fact.message = e.message;
    fact.attempt = e.attempt;
    fact.mark = e.mark;
    fact.seen = e.seen;
  }
  void operator()(const core::Mail& e) {
    fact.kind = Fact::Kind::mail;
    fact.receiver = name(e.workspace, e.receiver);
  }
  void operator()(const core::Settled& e) {
    fact.kind = Fact::Kind::settled;
    fact.receiver = name(e.workspace, e.receiver);
    fact.message = e.message;
    fact.state = e.state;
  }
  void operator()(const core::DeadLettered& e) {
    fact.kind = Fact::Kind::dead_lettered;
    fact.letter = e.id;
    fact.message = e.message;
    fact.reason = e.reason;
  }
  void operator()(const core::DeadLetterDropped& e) {
    fact.kind = Fact::Kind::letter_dropped;
    fact.letter = e.id;
  }
  void operator()(const core::StreamClosed& e) {
    fact.kind = Fact::Kind::stream_closed;
    fact.stream = e.stream;
  }
  void operator()(const core::RequestTimedOut& e) {
    fact.kind = Fact::Kind::timed_out;
    fact.message = e.message;
    fact.is_final = e.is_final;
  }
  void operator()(const core::DeadLetterResolved& e) {
    fact.kind = Fact::Kind::letter_resolved;
    fact.letter = e.id;
    fact.message = e.message;
    fact.resolution = e.resolution;
  }
  void operator()(const core::LockTurn& e) {
    fact.kind = Fact::Kind::lock_turn;
    fact.receiver = name(e.workspace, e.agent);
    fact.message = e.place;
    fact.granted = e.granted;
  }
  void operator()(const core::DeadLettersAlarming&) { fact.kind = Fact::Kind::alarm; }
  void operator()(const core::Owed& e) {
    const core::OutboxItem* const item =
        machine.find(e.workspace)->tables().outbox.find(e.outbox_item);
    fact.kind = Fact::Kind::owed;
    fact.outbox_item = e.outbox_item;
    if (item != nullptr) {  // else it was dropped in the same entry: its receiver is gone
      fact.receiver = item->to;
      fact.outbox_kind = item->kind;
    }
  }
};

}  // namespace

std::vector<Fact> facts_of(const core::Machine& machine, std::span<const core::Effect> effects) {
  std::vector<Fact> facts;
  facts.reserve(effects.size());
  for (const core::Effect& effect : effects) {
    Translate translate{machine, {}};
    translate.fact.workspace = std::visit([](const auto& e) { return e.workspace; }, effect);
    std::visit(translate, effect);
    facts.push_back(std::move(translate.fact));
  }
  return facts;
}

uint64_t digest_of(const core::Outcome& outcome, std::span<const Fact> facts) {
  uint64_t hash = outcome.has_value() ? 1 : 2;
  if (outcome) {
    hash = base::mix64(hash, outcome->message.n);
    hash = base::mix64(hash, outcome->number);
    hash = base::mix64(
        hash, outcome->count * 4 + (outcome->duplicate ? 1 : 0) + (outcome->skipped ? 2 : 0));
    hash = base::mix64(hash, static_cast<uint64_t>(outcome->workspace));
    hash = base::mix64(hash, static_cast<uint64_t>(outcome->delay.us));
  } else {
    hash = base::hash64(outcome.error().detail, hash);
    hash = base::mix64(hash, static_cast<uint64_t>(outcome.error().code));
  }
  for (const Fact& fact : facts) {
    hash = base::mix64(hash, static_cast<uint64_t>(fact.kind));
    hash = base::mix64(hash, static_cast<uint64_t>(fact.workspace));
    hash = base::hash64(fact.receiver, hash);
    hash = base::mix64(hash, fact.stream.origin);
    hash = base::mix64(hash, fact.stream.number);
    hash = base::mix64(hash, fact.message.n);
    hash = base::mix64(hash, fact.attempt * 2 + (fact.seen ? 1 : 0));
    hash = base::mix64(hash, (uint64_t{fact.mark.stream} << 32) + fact.mark.number);
    hash = base::mix64(hash, static_cast<uint64_t>(fact.state));
    hash = base::mix64(hash, fact.letter);
    hash = base::mix64(hash, (fact.is_final ? 1 : 0) + (fact.granted ? 2 : 0));
    hash = base::mix64(hash, fact.outbox_item * 256 + static_cast<uint64_t>(fact.outbox_kind));
    hash = base::mix64(hash, static_cast<uint64_t>(fact.reason));
    hash = base::mix64(hash, static_cast<uint64_t>(fact.resolution));
  }
  return hash;
}

std::string_view kind_name(Fact::Kind kind) {
  switch (kind) {
    case Fact::Kind::deliver:
      return "deliver";
    case Fact::Kind::mail:
      return "mail";
    case Fact::Kind::settled:
      return "settled";
    case Fact::Kind::dead_lettered:
      return "dead_lettered";
    case Fact::Kind::letter_dropped:
      return "letter_dropped";
    case Fact::Kind::stream_closed:
      return "stream_closed";
    case Fact::Kind::owed:
      return "owed";
    case Fact::Kind::timed_out:
      return "timed_out";
    case Fact::Kind::letter_resolved:
      return "letter_resolved";
    case Fact::Kind::alarm:
      return "alarm";
    case Fact::Kind::lock_turn:
      return "lock_turn";
  }
  return "unknown";
}

std::string_view command_name(const core::Command& command) {
  return command_names[command.index()];
}

std::string describe(const Fact& fact) {
  std::string line(kind_name(fact.kind));
  if (fact.message.n != 0) {
    line += text(" #{}", fact.message.n);
  }
  if (!fact.receiver.empty()) {
    line += " to " + fact.receiver;
  }
  if (fact.stream != core::stream_none) {
    line += text(" on {}.{} as {}-{}{}", fact.stream.origin, fact.stream.number, fact.mark.stream,
                 fact.mark.number, fact.seen ? " seen" : "");
  }
  if (fact.kind == Fact::Kind::settled) {
    line += text(" {}", core::state_name(fact.state));
  }
  if (fact.outbox_item != 0) {
    line += text(" errand {} {}", fact.outbox_item, core::outbox_kind_name(fact.outbox_kind));
  }
  if (fact.letter != 0) {
    line += text(" letter {}", fact.letter);
  }
  if (fact.kind == Fact::Kind::dead_lettered) {
    line += text(" {}", core::reason_name(fact.reason));
  }
  return line;
}

}  // namespace parley::sim
