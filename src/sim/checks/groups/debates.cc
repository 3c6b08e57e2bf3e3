// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/debates.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

using core::Debate;
using core::DebateState;
using core::Kind;
using core::Stance;

namespace {

// What the challenged one says for what it said before.
bool defends(Kind kind, Stance stance) {
  if (kind == Kind::challenge) {
    return stance != Stance::escalate;
  }
  return (kind == Kind::response && stance == Stance::unset) ||
         (stance == Stance::defend && (kind == Kind::response || kind == Kind::acknowledgement));
}

// What the challenger says so that the other has to answer.
bool disputes(Kind kind, Stance stance) {
  if (kind == Kind::challenge) {
    return stance != Stance::escalate;
  }
  return kind == Kind::response && (stance == Stance::unset || stance == Stance::defend);
}

}  // namespace

void DebateChecks::check(const Step& step) {
  learn(step);
  count_escalations(step);
  check_opened(step);
  std::map<uint64_t, DebateState> known;
  for (const auto& [id, debate] : step.after.tables().debates.all()) {
    check_one(step, debate);
    known[id] = debate.state;
  }
  known_ = std::move(known);
}

void DebateChecks::learn(const Step& step) {
  const auto* const send = done<core::Send>(step);
  if (send != nullptr && !step.outcome->duplicate && step.entry.actor != core::broker_name) {
    const core::Envelope& e = send->envelope;
    said_[step.entry.seq] = {std::string(e.sender), e.kind, e.stance};
  }
}

// No debate is put before people twice.
void DebateChecks::count_escalations(const Step& step) {
  const auto& all = step.after.tables().escalations.all();
  for (auto at = all.upper_bound(newest_); at != all.end(); ++at) {
    newest_ = at->first;
    model_.coverage.count("escalation", core::cause_name(at->second.cause));
    if (at->second.debate != 0 && ++escalations_[at->second.debate] > 1) {
      model_.fail(Check::debate, step, text("debate {} is escalated again", at->second.debate));
    }
  }
}

bool DebateChecks::is_full(const Debate& debate) const {
  return debate.steps.size() >= model_.rules.debate_log_max;
}

// A challenge to one other agent that is there is a part of a debate.
void DebateChecks::check_opened(const Step& step) {
  const auto* const send = done<core::Send>(step);
  if (send == nullptr || step.outcome->duplicate || send->envelope.kind != Kind::challenge ||
      step.entry.actor == core::broker_name || send->envelope.receivers.size() != 1) {
    return;
  }
  const std::string to(send->envelope.receivers.front());
  const core::Debates& debates = step.after.tables().debates;
  const bool is_known = std::ranges::any_of(debates.all(), [&](const auto& item) {
    const Debate& debate = item.second;
    return debate.steps.back().message == step.entry.seq ||
           (debate.is_side(to) && debate.is_side(send->envelope.sender) &&
            debate.steps.size() >= 4);
  });
  if (model_.is_registered(to) && to != send->envelope.sender &&
      model_.topic_of(send->envelope).empty() && !is_known) {
    model_.fail(Check::debate, step, text("a challenge to {} opens no debate", to));
  }
}

void DebateChecks::check_one(const Step& step, const Debate& debate) {
  const auto before = known_.find(debate.id);
  const DebateState was = before == known_.end() ? DebateState::open : before->second;
  const bool is_decided_by_people =
      debate.state == DebateState::escalated || debate.state == DebateState::resolved;
  if (escalations_[debate.id] != (is_decided_by_people ? 1 : 0)) {
    model_.fail(Check::debate, step,
                text("debate {} is {} with {} escalations", debate.id,
                     core::debate_state_words[debate.state], escalations_[debate.id]));
  }
  if (debate.is_undecided() && debate.unanswered && debate.due <= model_.now && passes_time(step)) {
    model_.fail(Check::debate, step, text("debate {} waits beyond its time", debate.id));
  }
  check_rounds(step, debate);
  if (debate.state != was) {
    model_.coverage.count("debate", core::debate_state_words[debate.state]);
    check_change(step, debate, was);
  }
  // What was said with this entry, by the one who may end it so.
  const auto said = said_.find(debate.steps.back().message);
  if (debate.steps.back().message != step.entry.seq || said == said_.end() ||
      !debate.is_undecided()) {
    return;
  }
  if (said->second.stance == Stance::escalate) {
    model_.fail(Check::debate, step, text("debate {} is not put before people", debate.id));
  } else if (said->second.sender == debate.challenged && said->second.stance == Stance::revise &&
             said->second.kind != Kind::challenge) {
    model_.fail(Check::debate, step, text("debate {} is revised and goes on", debate.id));
  }
}

// `12 a1 challenge (challenge revise)`: what each message is to it, and what it said of itself.
std::string DebateChecks::listed(const Debate& debate) const {
  std::string all;
  for (const core::DebateStep& each : debate.steps) {
    const auto said = said_.find(each.message);
    all += text(" {} {} {}", each.message.n, each.agent, core::debate_act_words[each.act]);
    if (said != said_.end()) {
      all += text(" ({} {})", core::word_of(said->second.kind), core::word_of(said->second.stance));
    }
  }
  return all;
}

// One for each challenge that was answered by a defence.
void DebateChecks::check_rounds(const Step& step, const Debate& debate) {
  if (is_full(debate)) {
    return;  // The rest of what was said is not listed.
  }
  uint64_t rounds = 0;
  bool is_waited_for = false;
  for (const core::DebateStep& each : debate.steps) {
    const auto said = said_.find(each.message);
    if (each.act == core::DebateAct::claim || said == said_.end()) {
      continue;
    }
    const auto& [sender, kind, stance] = said->second;
    if (sender != each.agent) {
      model_.fail(Check::debate, step,
                  text("{} is listed as the word of {}", each.message.n, each.agent));
    }
    if (sender == debate.challenger && (each.message == debate.opened || disputes(kind, stance))) {
      is_waited_for = true;
    } else if (sender == debate.challenged && defends(kind, stance)) {
      rounds += is_waited_for ? 1 : 0;
      is_waited_for = false;
    }
  }
  if (rounds != debate.rounds) {
    model_.fail(Check::debate, step,
                text("debate {} of {} with {} counts {} rounds, had {}:{}", debate.id,
                     debate.challenger, debate.challenged, debate.rounds, rounds, listed(debate)));
  }
  if (debate.steps.back().message == step.entry.seq && debate.is_undecided() &&
      rounds >= model_.rules.squad_debate_rounds) {
    model_.fail(Check::debate, step, text("debate {} goes on after {} rounds", debate.id, rounds));
  }
}

// It came to this state with the entry at hand.
void DebateChecks::check_change(const Step& step, const Debate& debate, DebateState before) {
  const std::string_view actor = step.entry.actor;
  const bool is_send = done<core::Send>(step) != nullptr;
  bool good = true;
  if (debate.state == DebateState::revised) {
    good = before == DebateState::open && is_send && actor == debate.challenged;
  } else if (debate.state == DebateState::withdrawn) {
    const auto* const gone = done<core::Unregister>(step);
    good = before == DebateState::open && ((is_send && actor == debate.challenger) ||
                                           (gone != nullptr && gone->name == debate.challenger));
  } else if (debate.state == DebateState::resolved) {
    const auto* const resolve = done<core::ResolveEscalation>(step);
    good = resolve != nullptr && resolve->id == debate.escalation;
  } else if (debate.state == DebateState::escalated) {
    const core::Escalation* const found = step.after.tables().escalations.find(debate.escalation);
    const auto said = said_.find(step.entry.seq);
    const bool by_message = found != nullptr && found->about == step.entry.seq &&
                            said != said_.end() && debate.challenged == said->second.sender &&
                            defends(said->second.kind, said->second.stance);
    good = before == DebateState::open && found != nullptr &&
           (!by_message || is_full(debate) || debate.rounds >= model_.rules.squad_debate_rounds);
  }
  if (!good) {
    model_.fail(
        Check::debate, step,
        text("debate {} of {} with {} must not be {} now:{}", debate.id, debate.challenger,
                     debate.challenged, core::debate_state_words[debate.state], listed(debate)));
  }
}

}  // namespace parley::sim
