// SPDX-License-Identifier: Apache-2.0
// Two agents do not agree: what each says, round by round, until one gives in or people decide.
#include "core/debates/debate_acts.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "core/delivery/routing.h"
#include "core/holds/hold_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr size_t subject_bytes_max = 256;

Seq seq_of(const Tables& t, MessageRef ref) {
  return ref == none ? Seq{} : t.messages.message(ref).seq;
}

// The message that this one is about: one that its sender got, or sent.
MessageRef named_by(const ConstContext& context, const Envelope& e, MessageRef question) {
  if (question != none || e.in_reply_to.is_none()) {
    return question;
  }
  const Messages& messages = context.t.messages;
  const MessageRef received = messages.find_received(context.actor, e.in_reply_to);
  return received != none ? received : messages.find_sent(context.actor, e.in_reply_to);
}

// Whether the actor is one of the two; who has the name of one that was there before is not.
bool is_side(const ConstContext& context, const Debate& debate) {
  const Agent& actor = context.t.agents[context.actor];
  return debate.is_side(actor.name) && debate.opened > actor.since;
}

// Whether the actor is a reviewer who knows of it: it has a part in the thread, or got `named`.
bool reviews(const ConstContext& context, const Debate& debate, MessageRef named) {
  const Tables& t = context.t;
  const Agent& actor = t.agents[context.actor];
  if (!role_of(actor.dialect, actor.role).reviews) {
    return false;
  }
  const ThreadRef thread = debate.thread.empty() ? none : t.threads.find(debate.thread);
  return named != none ||
         (thread != none && std::ranges::find(t.threads[thread].participants, context.actor) !=
                                t.threads[thread].participants.end());
}

Seq claim_of(const Debate& debate) {
  const DebateStep& first = debate.steps.front();
  return first.act == DebateAct::claim ? first.message : Seq{};
}

// The one that the message goes on with; nullptr: none.
const Debate* find_debate(const ConstContext& context, const Envelope& e, const Route& route,
                          MessageRef named) {
  const Tables& t = context.t;
  const Debate* const found = t.debates.find_by_message(seq_of(t, named));
  if (found != nullptr && (is_side(context, *found) || reviews(context, *found, named))) {
    return found;
  }
  if (found != nullptr || e.thread.empty()) {
    return nullptr;
  }
  return t.debates.find_in(e.thread, [&](const Debate& debate) {
    if (e.kind == Kind::escalation) {
      return is_side(context, debate) || reviews(context, debate, none);
    }
    if (e.kind != Kind::challenge || !is_side(context, debate) || !route.is_one()) {
      return false;
    }
    const bool same_claim = named == none || claim_of(debate) == seq_of(t, named);
    return same_claim && debate.is_side(t.agents[route.agents.front()].name);
  });
}

// What the message does in a debate that goes on; none: nothing.
std::optional<DebateAct> act_in(const ConstContext& context, const Envelope& e,
                                const Debate& debate, MessageRef named) {
  if (e.kind == Kind::escalation || e.stance == Stance::escalate) {
    return DebateAct::escalate;
  }
  if (!is_side(context, debate)) {
    return std::nullopt;
  }
  const bool is_own = named != none && context.t.messages.message(named).sender == context.actor;
  const bool is_ack = e.kind == Kind::acknowledgement;
  const bool gives_in = e.kind != Kind::challenge && e.stance == Stance::revise;
  if (context.t.agents[context.actor].name == debate.challenged) {
    // To acknowledge a challenge is to revise what was challenged: the text knows no other answer.
    const bool revises = gives_in || (is_ack && e.stance == Stance::unset);
    return is_own && is_ack ? std::nullopt
                            : std::optional(revises ? DebateAct::revise : DebateAct::defend);
  }
  // To acknowledge a defence says only that it was read; one's own challenge is taken back so.
  if (gives_in || (is_ack && is_own)) {
    return DebateAct::withdraw;
  }
  return is_ack ? std::nullopt : std::optional(DebateAct::challenge);
}

Checked check_share(const ConstContext& context) {
  const Tables& t = context.t;
  const std::string& name = t.agents[context.actor].name;
  if (t.debates.open() >= t.rules.debates_max) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.debates.open()) +
                      " open debates, and no room for more (debates_max); end some");
  }
  const size_t open = t.debates.open_of(name);
  if (open >= share_of(t.rules, t.rules.debates_max)) {
    return refuse_share("you have " + std::to_string(open) + " open debates", "debates_max",
                        "withdraw a challenge, or let people decide on some");
  }
  // Each may be put before people, and must not find that there is no room.
  const size_t escalations = open + t.escalations.open_of(name);
  if (escalations >= share_of(t.rules, t.rules.escalations_max)) {
    return refuse_share("you have " + std::to_string(escalations) +
                            " open escalations and debates that may become some",
                        "escalations_max", "let a maintainer resolve some");
  }
  return {};
}

// A challenge that opens a debate: with the one who made the claim, or its only receiver.
std::expected<DebateMove, Error> plan_opening(const ConstContext& context, const Route& route,
                                              MessageRef named) {
  const Tables& t = context.t;
  if (route.is_one() ? route.agents.front() == context.actor : route.agents.empty()) {
    return DebateMove{};  // with nobody
  }
  const AgentRef author = named == none ? none : t.messages.message(named).sender;
  const bool goes_to_author =
      std::ranges::find(route.agents, author) != route.agents.end() && author != context.actor;
  if (!goes_to_author && !route.is_one()) {
    return refuse(Code::bad_request,
                  "a challenge goes to the one whose claim it disputes; name that one alone, or "
                  "the message with the claim as what this one replies to",
                  "/receiver");
  }
  if (auto good = check_share(context); !good) {
    return std::unexpected(good.error());
  }
  return DebateMove{.act = DebateAct::challenge,
                    .challenged = goes_to_author ? author : route.agents.front(),
                    .claim = named};
}

DebateStep step_of(const Context& context, const Envelope& e, DebateAct act) {
  return {.message = context.entry.seq,
          .id = e.native_id.empty() ? base::format_uuid(e.id) : std::string(e.native_id),
          .agent = std::string(e.sender),
          .subject = std::string(base::cut(e.subject, subject_bytes_max)),
          .act = act,
          .at = context.t.now};
}

Time answer_due(const Tables& t) { return t.now + t.rules.squad_response_p1; }

uint64_t open_debate(Context& context, const Envelope& e, const DebateMove& move) {
  Tables& t = context.t;
  Debate debate{.challenger = std::string(e.sender),
                .challenged = t.agents[move.challenged].name,
                .thread = std::string(e.thread),
                .opened = context.entry.seq,
                .severity = e.severity,
                .since = t.now,
                .due = answer_due(t)};
  if (move.claim != none) {
    const Message& claim = t.messages.message(move.claim);
    debate.steps.push_back(
        {.message = claim.seq,
         .id = e.question.empty() ? base::format_uuid(claim.id) : std::string(e.question),
         .agent = t.agents[claim.sender].name,
         .subject = {},
         .act = DebateAct::claim,
         .at = claim.time});
  }
  debate.steps.push_back(step_of(context, e, DebateAct::challenge));
  broker_topics::audit(context.dispatch, "debate_opened", e.sender, debate.challenged);
  return t.debates.add(std::move(debate), t.rules.debates_max);
}

// Both sides hear what no message of theirs says.
void tell_sides(Dispatch& dispatch, const Debate& debate, std::string_view why) {
  for (const std::string& side : {debate.challenger, debate.challenged}) {
    owe(dispatch, {.kind = OutboxKind::debate_changed,
                   .to = side,
                   .about = debate.opened,
                   .priority = Priority::high,
                   .facts = {{"debate", static_cast<int64_t>(debate.id)},
                             {"state", std::string(debate_state_words[debate.state])},
                             {"thread", debate.thread},
                             {"challenger", debate.challenger},
                             {"challenged", debate.challenged},
                             {"rounds", static_cast<int64_t>(debate.rounds)},
                             {"escalation", static_cast<int64_t>(debate.escalation)},
                             {"why", std::string(why)}}});
  }
}

// Once in its life.
void put_before_people(Dispatch& dispatch, uint64_t id, Seq about, std::string why,
                       std::vector<std::string> people = {}) {
  Tables& t = dispatch.t;
  const Debate& debate = *t.debates.find(id);
  std::vector<std::string> concerned = {debate.challenged};
  for (const DebateStep& step : debate.steps) {
    if (step.act != DebateAct::claim && step.agent != debate.challenger &&
        std::ranges::find(concerned, step.agent) == concerned.end()) {
      concerned.push_back(step.agent);
    }
  }
  const uint64_t escalation = escalate(dispatch, {.cause = EscalationCause::debate,
                                                  .about = about,
                                                  .agent = debate.challenger,
                                                  .receiver = debate.challenged,
                                                  .why = why,
                                                  .debate = id,
                                                  .people = std::move(people),
                                                  .concerned = std::move(concerned)});
  t.debates.escalate(id, escalation);
  tell_sides(dispatch, *t.debates.find(id), why);
}

void end_debate(Dispatch& dispatch, uint64_t id, const Debates::End& how) {
  Tables& t = dispatch.t;
  const Debate& debate = *t.debates.find(id);
  std::vector<Seq> held;
  if (const std::set<Seq>* const work = t.debates.work_in(debate.thread);
      debate.holds && work != nullptr) {
    held.assign(work->begin(), work->end());
  }
  t.debates.end(id, how);
  release_messages(dispatch, held, {HoldReason::challenge, debate.opened});
  broker_topics::audit(dispatch, "debate_ended", how.by, debate.challenger);
}

// A reviewer finds it critical: what is under way in the thread waits.
void note_severity(Context& context, const Envelope& e, uint64_t id, bool is_apart) {
  Tables& t = context.t;
  const Agent& challenger = t.agents[context.actor];
  const Debate& debate = *t.debates.find(id);
  const bool was_held = debate.holds;
  const bool holds = e.severity == Severity::critical && !is_apart && !debate.thread.empty() &&
                     debate.challenger == challenger.name &&
                     role_of(challenger.dialect, challenger.role).reviews;
  t.debates.note_severity(id, e.severity, holds);
  const std::set<Seq>* const work = t.debates.work_in(debate.thread);
  if (holds && !was_held && work != nullptr) {
    hold_messages(context.dispatch, std::vector<Seq>(work->begin(), work->end()),
                  {HoldReason::challenge, debate.opened});
  }
}

// What follows from the step that was just made.
void follow(Context& context, const Envelope& e, const Route& route, uint64_t id, DebateAct act) {
  Tables& t = context.t;
  const Debate& debate = *t.debates.find(id);
  const Seq seq = context.entry.seq;
  if (act == DebateAct::challenge) {
    t.debates.await(id, answer_due(t));
  } else if (act == DebateAct::defend) {
    t.debates.note_answer(id, true);
  }
  if (!debate.is_undecided()) {
    return;  // people are to decide: what the two say is kept
  }
  if (act == DebateAct::revise || act == DebateAct::withdraw) {
    t.debates.note_answer(id, false);
    end_debate(context.dispatch, id,
               {.state = act == DebateAct::revise ? DebateState::revised : DebateState::withdrawn,
                .by = e.sender,
                .outcome = base::cut(e.subject, subject_bytes_max),
                .at = t.now});
  } else if (act == DebateAct::escalate || e.stance == Stance::escalate) {
    put_before_people(context.dispatch, id, seq, quoted(e.sender) + " wants people to decide",
                      route.people(t));
  } else if (debate.rounds >= t.rules.squad_debate_rounds) {
    put_before_people(context.dispatch, id, seq,
                      std::to_string(debate.rounds) + " rounds of defence, and no resolution");
  } else if (debate.steps.size() >= t.rules.debate_log_max) {
    put_before_people(context.dispatch, id, seq,
                      std::to_string(debate.steps.size()) + " messages, and no resolution");
  }
}

}  // namespace

std::expected<DebateMove, Error> plan_debate(const ConstContext& context, const Envelope& e,
                                             const Route& route, MessageRef question) {
  const bool may = e.kind == Kind::challenge || e.kind == Kind::response ||
                   e.kind == Kind::acknowledgement || e.kind == Kind::escalation;
  if (context.actor == none || !may) {
    return DebateMove{};
  }
  const MessageRef named = named_by(context, e, question);
  if (const Debate* const debate = find_debate(context, e, route, named); debate != nullptr) {
    if (const auto act = act_in(context, e, *debate, named); act) {
      return DebateMove{.act = act, .debate = debate->id};
    }
  }
  return e.kind == Kind::challenge ? plan_opening(context, route, named) : DebateMove{};
}

bool enter_debate(Context& context, const Envelope& e, const DebateMove& move, const Route& route,
                  bool is_apart) {
  Tables& t = context.t;
  if (!move.act) {
    return false;
  }
  const bool is_new = move.debate == 0;
  const uint64_t id = is_new ? open_debate(context, e, move) : move.debate;
  if (!is_new && t.debates.find(id)->steps.size() < t.rules.debate_log_max) {
    t.debates.add_step(id, step_of(context, e, *move.act));
  }
  if (move.act == DebateAct::challenge) {
    note_severity(context, e, id, is_apart);
  }
  const bool was_undecided = t.debates.find(id)->is_undecided();
  follow(context, e, route, id, *move.act);
  const bool is_escalated = t.debates.find(id)->state == DebateState::escalated;
  return is_escalated && (was_undecided || move.act == DebateAct::escalate);
}

void hold_work(Tables& t, const Envelope& e, const DebateMove& move, bool is_apart,
               MessageRef message) {
  const bool is_work = e.kind == Kind::request || e.kind == Kind::response;
  if (!is_work || move.act || is_apart || e.thread.empty() || !has_reviewers(e.dialect) ||
      t.messages.message(message).is_own) {
    return;
  }
  const Seq seq = t.messages.message(message).seq;
  t.debates.note_work(e.thread, seq);
  for (const Hold& hold : t.debates.holds_in(e.thread)) {
    t.holds.add(seq, hold);
  }
}

void restore_challenged(Tables& t) {
  for (const auto& [thread, messages] : t.debates.work()) {
    for (const Hold& hold : t.debates.holds_in(thread)) {
      for (const Seq message : messages) {
        t.holds.add(message, hold);
      }
    }
  }
}

bool escalate_unread_challenge(Dispatch& dispatch, Seq message) {
  const Debate* const debate = dispatch.t.debates.find_by_message(message);
  if (debate == nullptr || !debate->is_undecided() || !debate->unanswered) {
    return false;
  }
  put_before_people(dispatch, debate->id, message,
                    quoted(debate->challenged) + " did not read the challenge while it lived");
  return true;
}

size_t escalate_unanswered(Dispatch& dispatch, std::string_view challenged) {
  const std::set<uint64_t>* const known = dispatch.t.debates.of(challenged);
  size_t count = 0;
  for (const uint64_t id : known == nullptr ? std::set<uint64_t>{} : *known) {
    const Debate& debate = *dispatch.t.debates.find(id);
    if (debate.challenged == challenged && debate.is_undecided() && debate.unanswered) {
      put_before_people(dispatch, id, debate.steps.back().message,
                        "the session of " + quoted(challenged) +
                            " is over, and the challenge is "
                            "not answered");
      ++count;
    }
  }
  return count;
}

void resolve_debate(Dispatch& dispatch, uint64_t id, std::string_view resolution,
                    std::string_view by) {
  const Debate* const debate = dispatch.t.debates.find(id);
  if (debate != nullptr && debate->is_open()) {
    end_debate(
        dispatch, id,
        {.state = DebateState::resolved, .by = by, .outcome = resolution, .at = dispatch.t.now});
  }
}

void advance_debates(Dispatch& dispatch) {
  Debates& debates = dispatch.t.debates;
  for (size_t n = 0; n < due_max && debates.next_due() <= dispatch.t.now; ++n) {
    const Debate& debate = *debates.find(debates.first_due());
    put_before_people(dispatch, debate.id, debate.steps.back().message,
                      quoted(debate.challenged) + " did not answer the challenge in time");
  }
}

Time debates_due(const Tables& t) { return t.debates.next_due(); }

void leave_debates(Dispatch& dispatch, std::string_view name) {
  const std::set<uint64_t>* const known = dispatch.t.debates.of(name);
  for (const uint64_t id : known == nullptr ? std::set<uint64_t>{} : *known) {
    const Debate& debate = *dispatch.t.debates.find(id);
    if (!debate.is_undecided() || !debate.is_side(name)) {
      continue;
    }
    if (debate.challenged == name) {
      put_before_people(dispatch, id, debate.steps.back().message,
                        quoted(name) + " was removed, and cannot answer any more");
      continue;
    }
    end_debate(dispatch, id,
               {.state = DebateState::withdrawn,
                .by = broker_word,
                .outcome = "its challenger was removed",
                .at = dispatch.t.now});
    tell_sides(dispatch, *dispatch.t.debates.find(id), "its challenger was removed");
  }
}

}  // namespace parley::core
