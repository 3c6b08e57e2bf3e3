// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/named_effect.h"

#include <variant>

#include "base/hash.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

// Puts names in place of the references in one effect.
struct Translate {
  const core::Machine& machine;
  NamedEffect named;

  std::string name(core::WorkspaceId workspace, core::AgentRef ref) const {
    return machine.find(workspace)->tables().agents[ref].name;
  }

  void operator()(const core::Deliver& e) {
    named.kind = NamedEffect::Kind::deliver;
    named.receiver = name(e.workspace, e.receiver);
    named.stream = e.stream;
    named.message = e.message;
    named.attempt = e.attempt;
    named.mark = e.mark;
    named.seen = e.seen;
  }
  void operator()(const core::Mail& e) {
    named.kind = NamedEffect::Kind::mail;
    named.receiver = name(e.workspace, e.receiver);
  }
  void operator()(const core::Settled& e) {
    named.kind = NamedEffect::Kind::settled;
    named.receiver = name(e.workspace, e.receiver);
    named.message = e.message;
    named.state = e.state;
  }
  void operator()(const core::DeadLettered& e) {
    named.kind = NamedEffect::Kind::dead_lettered;
    named.letter = e.id;
    named.message = e.message;
    named.reason = e.reason;
  }
  void operator()(const core::DeadLetterDropped& e) {
    named.kind = NamedEffect::Kind::letter_dropped;
    named.letter = e.id;
  }
  void operator()(const core::StreamClosed& e) {
    named.kind = NamedEffect::Kind::stream_closed;
    named.stream = e.stream;
  }
  void operator()(const core::RequestTimedOut& e) {
    named.kind = NamedEffect::Kind::timed_out;
    named.message = e.message;
    named.is_final = e.is_final;
  }
  void operator()(const core::DeadLetterResolved& e) {
    named.kind = NamedEffect::Kind::letter_resolved;
    named.letter = e.id;
    named.message = e.message;
    named.resolution = e.resolution;
  }
  void operator()(const core::LockTurn& e) {
    named.kind = NamedEffect::Kind::lock_turn;
    named.receiver = name(e.workspace, e.agent);
    named.message = e.place;
    named.granted = e.granted;
  }
  void operator()(const core::ApprovalChanged& e) {
    named.kind = NamedEffect::Kind::approval_changed;
    named.approval = e.approval;
  }
  void operator()(const core::DeadLettersAlarming&) { named.kind = NamedEffect::Kind::alarm; }
  void operator()(const core::Owed& e) {
    const core::OutboxItem* const item =
        machine.find(e.workspace)->tables().outbox.find(e.outbox_item);
    named.kind = NamedEffect::Kind::owed;
    named.outbox_item = e.outbox_item;
    if (item != nullptr) {  // Else it was dropped in the same entry: its receiver is gone.
      named.receiver = item->to;
      named.outbox_kind = item->kind;
    }
  }
};

}  // namespace

std::vector<NamedEffect> named_effects(const core::Machine& machine,
                                       std::span<const core::Effect> effects) {
  std::vector<NamedEffect> named;
  named.reserve(effects.size());
  for (const core::Effect& effect : effects) {
    Translate translate{machine, {}};
    translate.named.workspace = std::visit([](const auto& e) { return e.workspace; }, effect);
    std::visit(translate, effect);
    named.push_back(std::move(translate.named));
  }
  return named;
}

uint64_t digest_of(const core::Outcome& outcome, std::span<const NamedEffect> effects) {
  uint64_t hash = outcome.has_value() ? 1 : 2;
  if (outcome) {
    hash = base::mix64(hash, outcome->message.n);
    hash = base::mix64(
        hash, outcome->number + outcome->session_version + (outcome->lock_granted ? 1 : 0));
    hash = base::mix64(
        hash, outcome->count * 4 + (outcome->duplicate ? 1 : 0) + (outcome->skipped ? 2 : 0));
    hash = base::mix64(hash, static_cast<uint64_t>(outcome->workspace));
    hash = base::mix64(hash, static_cast<uint64_t>(outcome->delay.us));
  } else {
    hash = base::hash64(base::whole_detail(outcome.error()), hash);
    hash = base::hash64(base::info(outcome.error().code).name, hash);
  }
  for (const NamedEffect& effect : effects) {
    hash = base::mix64(hash, static_cast<uint64_t>(effect.kind));
    hash = base::mix64(hash, static_cast<uint64_t>(effect.workspace));
    hash = base::hash64(effect.receiver, hash);
    hash = base::mix64(hash, effect.stream.origin);
    hash = base::mix64(hash, effect.stream.number);
    hash = base::mix64(hash, effect.message.n);
    hash = base::mix64(hash, effect.attempt * 2 + (effect.seen ? 1 : 0));
    hash = base::mix64(hash, (uint64_t{effect.mark.stream} << 32) + effect.mark.number);
    hash = base::mix64(hash, static_cast<uint64_t>(effect.state));
    hash = base::mix64(hash, effect.letter);
    hash = base::mix64(hash, effect.approval);
    hash = base::mix64(hash, (effect.is_final ? 1 : 0) + (effect.granted ? 2 : 0));
    hash = base::mix64(hash, effect.outbox_item * 256 + static_cast<uint64_t>(effect.outbox_kind));
    hash = base::mix64(hash, static_cast<uint64_t>(effect.reason));
    hash = base::mix64(hash, static_cast<uint64_t>(effect.resolution));
  }
  return hash;
}

std::string_view kind_name(NamedEffect::Kind kind) {
  switch (kind) {
    case NamedEffect::Kind::deliver:
      return "deliver";
    case NamedEffect::Kind::approval_changed:
      return "approval_changed";
    case NamedEffect::Kind::mail:
      return "mail";
    case NamedEffect::Kind::settled:
      return "settled";
    case NamedEffect::Kind::dead_lettered:
      return "dead_lettered";
    case NamedEffect::Kind::letter_dropped:
      return "letter_dropped";
    case NamedEffect::Kind::stream_closed:
      return "stream_closed";
    case NamedEffect::Kind::owed:
      return "owed";
    case NamedEffect::Kind::timed_out:
      return "timed_out";
    case NamedEffect::Kind::letter_resolved:
      return "letter_resolved";
    case NamedEffect::Kind::alarm:
      return "alarm";
    case NamedEffect::Kind::lock_turn:
      return "lock_turn";
  }
  return "unknown";
}

std::string describe(const NamedEffect& effect) {
  std::string line(kind_name(effect.kind));
  if (effect.message.n != 0) {
    line += text(" #{}", effect.message.n);
  }
  if (!effect.receiver.empty()) {
    line += " to " + effect.receiver;
  }
  if (effect.stream != core::stream_none) {
    line += text(" on {}.{} as {}-{}{}", effect.stream.origin, effect.stream.number,
                 effect.mark.stream, effect.mark.number, effect.seen ? " seen" : "");
  }
  if (effect.kind == NamedEffect::Kind::settled) {
    line += text(" {}", core::state_name(effect.state));
  }
  if (effect.outbox_item != 0) {
    line +=
        text(" outbox item {} {}", effect.outbox_item, core::outbox_kind_name(effect.outbox_kind));
  }
  if (effect.letter != 0) {
    line += text(" letter {}", effect.letter);
  }
  if (effect.kind == NamedEffect::Kind::dead_lettered) {
    line += text(" {}", core::reason_name(effect.reason));
  }
  return line;
}

}  // namespace parley::sim
