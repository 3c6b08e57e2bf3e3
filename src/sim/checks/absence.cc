// SPDX-License-Identifier: Apache-2.0
// Who is there, who stands in for one who is not, and who waits for whom.
#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr int64_t second = 1'000'000;

Time whole_second(Time t) { return Time{(t.us + second - 1) / second * second}; }

bool can(const Member& member, const std::string& capability) {
  return std::ranges::find(member.capabilities, capability) != member.capabilities.end();
}

}  // namespace

bool Ledger::has_stream(const std::string& name) const {
  return std::ranges::any_of(streams_, [&](const auto& item) { return item.second.agent == name; });
}

bool Ledger::is_offline(const std::string& name) const {
  const auto at = members_.find(name);
  return at != members_.end() && !has_stream(name) &&
         (at->second.silent || at->second.status == "offline");
}

bool Ledger::is_away(const std::string& name) const {
  const auto at = members_.find(name);
  return at != members_.end() && (is_offline(name) || at->second.unanswered);
}

bool Ledger::is_away_for(const Step& step, const std::string& name) const {
  return is_away(name) ||
         (name != step.entry.actor && std::ranges::any_of(step.facts, [&](const Fact& fact) {
            return fact.kind == Fact::Kind::timed_out && sent_.contains(fact.message) &&
                   asked_alone(sent_.at(fact.message)) == name;
          }));
}

// Before the command: time has passed, and whoever asks is there. Silence is looked at at whole
// seconds; in between the tables may say either.
void Ledger::learn_silence(const Step& step) {
  const core::Tables& t = step.after.tables();
  const core::Duration patience{rules_.collab_heartbeat.us *
                                static_cast<int64_t>(rules_.collab_heartbeats_missed)};
  const bool passes = !std::holds_alternative<core::StartNode>(step.entry.command);
  for (auto& [name, member] : members_) {
    if (patience.us == 0 || member.since.us == 0 || has_stream(name) || member.silent) {
      continue;
    }
    const Time silent = std::max(member.heard, member.since) + patience;
    const core::AgentRef ref = t.agents.find(name);
    const bool said =
        ref != core::none && t.agents[ref].presence.standing == core::Presence::Standing::offline;
    member.silent = whole_second(silent) <= now_ && passes ? true : silent <= now_ && said;
  }
  if (!step.is_here) {
    return;
  }
  if (const auto at = members_.find(std::string(step.entry.actor)); at != members_.end()) {
    const bool was_away = at->second.silent || at->second.unanswered;
    at->second.heard = now_;
    at->second.since = was_away && at->second.since.us != 0 ? now_ : at->second.since;
    at->second.silent = false;
    at->second.unanswered = false;
  }
}

// Who was asked alone, as it was before the entry: its time passes before its command is done. Of a
// task that was given to another, who has it. Empty: several were asked.
std::string Ledger::asked_alone(const Sent& sent) const {
  if (sent.pairs.size() == 1 && sent.topic.empty()) {
    return sent.pairs.front().receiver;
  }
  const auto given = std::ranges::find_if(
      given_, [&](const auto& item) { return item.second.message == sent.seq; });
  return given == given_.end() ? std::string() : given->second.specialist;
}

// One that was asked by itself, and did not answer.
void Ledger::note_unanswered(const Step& step, Seq message) {
  const auto at = members_.find(asked_alone(sent_.at(message)));
  if (at != members_.end() && at->second.kind == core::PrincipalKind::agent &&
      !is_offline(at->first) && at->first != step.entry.actor) {
    at->second.unanswered = true;
  }
}

// After the command.
void Ledger::check_presence(const Step& step) {
  if (const auto* beat = done<core::Heartbeat>(step); beat != nullptr && !beat->only_seen) {
    Member& member = members_[std::string(step.entry.actor)];
    member.since = now_;
    member.status = beat->status;
  }
  for (const std::string& agent : disconnected_) {
    if (const auto at = members_.find(agent); at != members_.end() && !has_stream(agent)) {
      at->second.since = now_;
    }
  }
  disconnected_.clear();
  const core::Tables& t = step.after.tables();
  for (const auto& [name, member] : members_) {
    const core::AgentRef ref = t.agents.find(name);
    if (ref == core::none || !t.agents[ref].is_registered()) {
      continue;
    }
    if (t.agents[ref].is_offline() != is_offline(name)) {
      fail(Check::presence, step, text("{} is {}offline", name, is_offline(name) ? "not " : ""));
    } else if (!is_offline(name) && t.agents[ref].is_available() == member.unanswered) {
      fail(Check::presence, step,
           text("{} is {}unavailable", name, member.unanswered ? "not " : ""));
    }
    coverage_.count("presence", is_offline(name)    ? "offline"
                                : member.unanswered ? "unavailable"
                                                    : "available");
  }
}

// Whether `other` may have the message in place of `named`: that one is away, and the other can do
// what it can.
bool Ledger::may_stand_in(const Step& step, const core::Send& command, const std::string& named,
                          const std::string& other) const {
  const auto away = members_.find(named);
  const auto there = members_.find(other);
  if (away == members_.end() || there == members_.end() || named == other ||
      !is_away_for(step, named) || is_away_for(step, other) ||
      there->second.kind != core::PrincipalKind::agent || there->second.role == "observer" ||
      other == command.envelope.sender) {
    return false;
  }
  const auto meeting = meetings_.find(std::string(command.envelope.session));
  if (meeting != meetings_.end() && !meeting->second.participants.contains(other)) {
    return false;
  }
  const std::string action(command.envelope.action);
  if (can(away->second, action)) {
    return can(there->second, action);
  }
  return !away->second.capabilities.empty() &&
         std::ranges::all_of(away->second.capabilities, [&](const std::string& capability) {
           return can(there->second, capability);
         });
}

bool Ledger::redirects(const core::Send& command) const {
  const core::Envelope& e = command.envelope;
  const bool by_rules = command.on_unavailable == core::OnUnavailable::by_rules &&
                        e.dialect == core::Dialect::collab && rules_.collab_on_unavailable == 1;
  return (command.on_unavailable == core::OnUnavailable::redirect || by_rules) &&
         e.kind != core::Kind::response && e.sender != core::broker_sender &&
         command.outbox_item == 0 && topic_of(e).empty() && e.receivers.front() != "*";
}

// Takes those out of `wanted` whose place another took, and puts that one in.
void Ledger::redirect(const Step& step, const core::Send& command,
                      const std::set<std::string>& found, std::set<std::string>& wanted) {
  if (!redirects(command)) {
    return;
  }
  const core::Tables& t = step.after.tables();
  for (const std::string& name : std::set<std::string>(wanted)) {
    if (!is_away_for(step, name)) {
      continue;
    }
    if (found.contains(name)) {
      for (const auto& [other, member] : members_) {
        if (!wanted.contains(other) && !found.contains(other) &&
            !may_be_too_large(command.envelope.body.size()) &&
            may_stand_in(step, command, name, other) &&
            t.load_of(t.agents.find(other)) < rules_.queue_max) {
          fail(Check::receivers, step, text("waits for {}, though {} is there", name, other));
        }
      }
      continue;
    }
    const auto other = std::ranges::find_if(found, [&](const std::string& one) {
      return !wanted.contains(one) && may_stand_in(step, command, name, one);
    });
    if (other != found.end()) {
      wanted.erase(name);
      wanted.insert(*other);
      coverage_.count("told", "redirected");
    }
  }
}

bool Ledger::leads(const std::string& from, const std::string& to) const {
  std::set<std::string> reached;
  std::vector<std::string> left = {from};
  while (!left.empty()) {
    const std::string at = left.back();
    left.pop_back();
    for (const auto& [seq, blocked] : blocked_) {
      const bool answers_itself = blocked.asks_back && blocked.from == from && blocked.to == to;
      if (blocked.from == at && !answers_itself && reached.insert(blocked.to).second) {
        left.push_back(blocked.to);
      }
    }
  }
  return reached.contains(to);
}

// The request that the sender says it works on, if it got it and someone still waits for what it
// says; 0 when there is none.
Seq Ledger::working_on(const Step& step, const core::Send& command) const {
  const core::Envelope& e = command.envelope;
  const core::MessageId id = e.in_reply_to.is_none() ? command.cause : e.in_reply_to;
  if (!core::asks(e.kind) || id.is_none() || step.entry.actor == core::broker_name) {
    return {};
  }
  for (auto at = sent_.rbegin(); at != sent_.rend(); ++at) {
    const auto& [seq, sent] = *at;
    const auto pair = std::ranges::find(sent.pairs, e.sender, &Pair::receiver);
    if (sent.id != id || pair == sent.pairs.end() || seq == step.entry.seq ||
        step.after.tables().messages.find(seq) == core::none) {
      continue;
    }
    // Whom it waits for is decided before it takes the place of a task that was given before: what
    // it ends itself was open.
    const bool has_letter = std::ranges::any_of(letters_, [&](const auto& item) {
      return item.second.message == seq && item.second.receiver == pair->receiver &&
             item.second.failed == now_;
    });
    const bool ends_it = pair->state == State::dead && !core::is_final(pair->state_before) &&
                         !has_letter && is_superseded(step, seq, pair->receiver);
    const bool is_open =
        ends_it || (pair->state != State::answered && pair->state < State::expired);
    return core::asks(sent.kind) && !sent.timed_out && is_open ? seq : Seq{};
  }
  return {};
}

// Who goes on only with an answer, and for whom it waits. `message` is where it was sent first.
std::optional<Blocked> Ledger::blocks(const Step& step, const core::Send& command,
                                      Seq message) const {
  const core::Envelope& e = command.envelope;
  const bool is_collab = e.dialect == core::Dialect::collab;
  const std::set<std::string> names(e.receivers.begin(), e.receivers.end());
  if (!core::asks(e.kind) || command.gathering || !command.later_stages.empty() ||
      step.entry.actor == core::broker_name ||
      (message == step.entry.seq && (names.size() != 1 || !is_registered(*names.begin())))) {
    return std::nullopt;
  }
  Blocked blocked{std::string(e.sender), *names.begin(),
                  is_collab ? base::time_max : now_ + command.wait};
  blocked.origin = is_collab ? 0 : step.entry.id.origin;
  if (const auto at = sent_.find(message); at != sent_.end() && !at->second.pairs.empty()) {
    blocked.to = at->second.pairs.front().receiver;
  }
  const auto cause = sent_.find(working_on(step, command));
  if (!e.reply_to.empty() && e.reply_to != e.sender) {
    // It waits for nothing. But who waits for what it passes on waits for this now.
    const auto first = cause == sent_.end() ? blocked_.end() : blocked_.find(cause->first);
    if (first == blocked_.end() || first->second.from == blocked.to ||
        cause->second.asker != e.reply_to) {
      return std::nullopt;
    }
    blocked.from = first->second.from;
    blocked.until = first->second.until;
    blocked.carries = first->second.carries.n == 0 ? first->first : first->second.carries;
    blocked.origin = 0;
    return blocked;
  }
  if (!is_collab && command.wait.us <= 0) {
    return std::nullopt;
  }
  blocked.asks_back = cause != sent_.end() && cause->second.asker == blocked.to;
  return blocked;
}

// What was sent before, where its sender waits for the answer from now on; nullptr when it does
// not.
const Sent* Ledger::waited_for_again(const Step& step, const core::Send& command) const {
  const core::Envelope& e = command.envelope;
  const auto first = std::ranges::find_if(sent_, [&](const auto& item) {
    return item.first != step.entry.seq && item.second.sender == e.sender &&
           (item.second.id == e.id ||
            (!item.second.key.is_none() && item.second.key == e.idempotency_key)) &&
           step.after.tables().messages.find(item.first) != core::none;
  });
  if (command.wait.us <= 0 || first == sent_.end()) {
    return nullptr;
  }
  const Sent& sent = first->second;
  const bool over = !core::asks(sent.kind) || sent.asker != sent.sender || sent.answered ||
                    sent.timed_out || sent.pairs.size() != 1 ||
                    sent.pairs.front().state >= State::expired || !sent.topic.empty();
  return over ? nullptr : &sent;
}

// What is not waited for any more.
void Ledger::end_blocked(const Step& step) {
  std::erase_if(blocked_, [&](const auto& item) {
    const auto& [seq, blocked] = item;
    const auto sent = sent_.find(seq);
    if (sent == sent_.end() || blocked.until <= now_ || !is_registered(blocked.from) ||
        !is_registered(blocked.to) || (blocked.origin != 0 && ended_.contains(blocked.origin)) ||
        step.after.tables().messages.find(seq) == core::none) {
      return true;
    }
    const State state = sent->second.pairs.front().state;
    const bool timed_out = blocked.is_watched && !asked_.contains(seq);
    return state == State::answered || state >= State::expired || timed_out;
  });
  const auto* const stop = done<core::StopWaiting>(step);
  const auto at = stop == nullptr ? blocked_.end() : blocked_.find(stop->message);
  if (at != blocked_.end() && at->second.origin != 0) {
    blocked_.erase(at);
  }
  std::erase_if(blocked_, [&](const auto& item) {
    return item.second.carries.n != 0 && !blocked_.contains(item.second.carries);
  });
}

// No circle closes unseen, and none is seen that is none.
void Ledger::check_circles(const Step& step) {
  end_blocked(step);
  const bool warned = std::exchange(warned_, false);
  const auto* const send = step.is_here ? std::get_if<core::Send>(&step.entry.command) : nullptr;
  if (send == nullptr) {
    return;
  }
  const bool refused = !step.outcome && step.outcome.error().code == base::Code::deadlock;
  const bool is_new = step.outcome && step.outcome->message == step.entry.seq;
  const Sent* const again = is_new ? nullptr : waited_for_again(step, *send);
  if (!is_new && !refused && again == nullptr) {
    return;
  }
  const Seq message = again == nullptr ? step.entry.seq : again->seq;
  if (is_new) {
    sent_.at(message).cause = working_on(step, *send);
  }
  auto blocked = blocks(step, *send, message);
  const bool is_circle = blocked && !blocked->asks_back &&
                         (blocked->from == blocked->to || leads(blocked->to, blocked->from));
  if (refused) {
    coverage_.count("circle", "refused");
    // Whom it would have been redirected to is not told.
    if (!is_circle && !(redirects(*send) && is_away(std::string(send->envelope.receivers[0])))) {
      fail(Check::deadlock, step,
           "refused for a circle that is none: " + step.outcome.error().detail);
    }
    return;
  }
  if (!step.outcome) {
    return;
  }
  if (const auto before = blocked_.find(message); before != blocked_.end()) {
    if (before->second.origin != 0) {
      before->second.origin = step.entry.id.origin;
      for (auto& [seq, other] : blocked_) {
        const bool goes_along = seq == message || other.carries == message;
        other.until = goes_along ? std::max(other.until, now_ + send->wait) : other.until;
      }
    }
    return;
  }
  const bool warns = rules_.collab_deadlock == 1;
  if (is_circle && (!warns || !(warned || again != nullptr))) {
    fail(Check::deadlock, step,
         text("closes a circle from {} to {}, and nobody says so", blocked->from, blocked->to));
  } else if (!is_circle && warned) {
    fail(Check::deadlock, step, "warned of a circle that is none");
  }
  const bool is_passed_on = blocked && blocked->carries.n != 0;
  if (blocked && !(is_passed_on && again != nullptr) &&
      (again != nullptr || !core::is_final(sent_.at(message).pairs.front().state))) {
    blocked->is_watched = asked_.contains(message);
    blocked_.emplace(message, *blocked);
    coverage_.count("circle", is_passed_on         ? "passed on"
                              : blocked->asks_back ? "asked back"
                              : again != nullptr   ? "waited later"
                                                   : "waited");
  }
}

}  // namespace parley::sim
