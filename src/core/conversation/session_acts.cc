// SPDX-License-Identifier: Apache-2.0
// What is done to sessions, by their participants and by the clock, and what they do to messages.
#include "core/conversation/session_acts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "core/agents/hub.h"
#include "core/holds/hold_acts.h"
#include "core/limits/admission.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/pipeline_acts.h"

namespace parley::core {

namespace {

using base::Code;

Hold hold_of(const Session& session) {
  return {.reason = HoldReason::session_paused, .by = session.began};
}

// Others are told what they would be told if it did not exist.
std::unexpected<Error> no_such_session(std::string_view id) {
  return refuse(Code::not_found, "you take part in no session " + quoted_start(id));
}

std::unexpected<Error> is_over(const Session& session) {
  return refuse(Code::session_ended, "session " + quoted_start(session.id) + " is " +
                                         std::string(session_status_words[session.status]) +
                                         " since " + base::format_time(session.ended) +
                                         "; start another");
}

// What is shared in a session is said to all in it (SP-02).
Checked check_may_invite(const ConstContext& context, AgentRef invited, std::string field) {
  if (context.actor == none || may_write_to(context.t, context.actor, invited)) {
    return {};
  }
  return refuse(Code::not_via_orchestrator,
                quoted(context.t.agents[invited].name) +
                    " is a worker, and workers talk by way of an orchestrator; let one invite it",
                std::move(field));
}

std::unexpected<Error> too_many_participants(const Rules& rules) {
  return refuse(Code::limit_reached,
                "a session has at most " + std::to_string(rules.session_participants_max) +
                    " participants (session.participants_max)",
                "/participants");
}

// What the log keeps of a text that its sender chose.
std::string_view logged(std::string_view text) {
  constexpr size_t logged_bytes_max = 64;
  return base::cut(text, logged_bytes_max);
}

int64_t count_of(const Session& session, SessionAct act) {
  return std::ranges::count(session.entries, act, &SessionChange::act);
}

// How many are told of such a change, at most.
uint64_t notices_of(const Session& session, SessionAct act, std::string_view by) {
  switch (act) {
    case SessionAct::add_decision:
    case SessionAct::add_artifact:
    case SessionAct::add_finding:
      return 0;
    case SessionAct::add_participant:
    case SessionAct::remove_participant:
      return 1;
    case SessionAct::pause:
    case SessionAct::resume:
      return session.participants.size() - (session.has(by) ? 1 : 0);
    case SessionAct::complete:
    case SessionAct::fail:
      return session.participants.size();
  }
  return 0;
}

Checked check_newcomer(const ConstContext& context, const Session& session,
                       std::string_view name) {
  const Tables& t = context.t;
  const AgentRef ref = t.agents.find(name);
  if (ref == none || !t.agents[ref].is_registered()) {
    return refuse(Code::receiver_not_found, "no principal is named " + quoted_start(name),
                  "/agent");
  }
  if (session.has(name)) {
    return refuse(Code::conflict, quoted_start(name) + " takes part already", "/agent");
  }
  if (auto good = check_may_invite(context, ref, "/agent"); !good) {
    return good;
  }
  if (session.participants.size() >= t.rules.session_participants_max) {
    return refuse(Code::limit_reached, "the session has " +
                                           std::to_string(session.participants.size()) +
                                           " participants already (session.participants_max)");
  }
  return {};
}

Checked check_change(const ConstContext& context, const Session& session, const ChangeSession& c) {
  const Tables& t = context.t;
  const bool manages = may_administer(context, Right::maintainer).has_value() ||
                       session.coordinator == context.entry.actor;
  const bool leaves = c.act == SessionAct::remove_participant && c.subject == context.entry.actor;
  if (!is_entry(c.act) && !manages && !leaves) {
    return refuse(Code::forbidden, "only " + quoted_start(session.coordinator) +
                                       ", who coordinates the session, or a maintainer may " +
                                       std::string(session_act_name(c.act)));
  }
  if (is_entry(c.act) && !session.has(context.entry.actor)) {
    return refuse(Code::forbidden,
                  "only those who take part in a session write in it; its "
                  "coordinator or a maintainer can add you");
  }
  if (session.is_over()) {
    return is_over(session);
  }
  if (c.version != 0 && c.version != session.version) {
    return refuse(Code::version_conflict,
                  "session " + quoted_start(session.id) + " has version " +
                      std::to_string(session.version) + ", not " + std::to_string(c.version) +
                      ": another change came before; read it and decide again");
  }
  if (is_entry(c.act) && session.entries.size() >= t.rules.session_entries_max) {
    return refuse(Code::limit_reached,
                  "the session has " + std::to_string(session.entries.size()) +
                      " decisions, artifacts and findings already (session.entries_max)");
  }
  if (c.body.size() > t.rules.session_entry_bytes_max) {
    return refuse(Code::payload_too_large, "the entry has " + std::to_string(c.body.size()) +
                                               " bytes; at most " +
                                               std::to_string(t.rules.session_entry_bytes_max) +
                                               " are taken (session.entry_bytes_max)");
  }
  const bool is_paused = session.status == SessionStatus::paused;
  if ((c.act == SessionAct::pause && is_paused) || (c.act == SessionAct::resume && !is_paused)) {
    return refuse(
        Code::conflict,
        "the session is " + std::string(session_status_words[session.status]) + " already");
  }
  if ((c.act == SessionAct::complete || c.act == SessionAct::fail) &&
      c.subject.size() > t.rules.reason_bytes_max) {
    return refuse(Code::bad_request,
                  "a summary has at most " + std::to_string(t.rules.reason_bytes_max) +
                      " bytes (reason_bytes_max)",
                  "/summary");
  }
  if (c.act == SessionAct::remove_participant && !session.has(c.subject)) {
    return refuse(Code::not_found, quoted_start(c.subject) + " takes no part in the session");
  }
  if (c.act == SessionAct::remove_participant && c.subject == session.coordinator) {
    return refuse(Code::conflict,
                  "the coordinator stays to the end; complete the session, or let it fail");
  }
  return c.act == SessionAct::add_participant ? check_newcomer(context, session, c.subject)
                                              : Checked();
}

std::expected<void, Error> charge_notices(Context& context, uint64_t count) {
  if (auto good = check_notices(context, count); !good) {
    return good;
  }
  count_notices(context, count);
  return {};
}

void tell_change(Dispatch& dispatch, const Session& session, std::string_view to,
                 std::string_view what, std::string_view by) {
  Tables& t = dispatch.t;
  // Who does not read is not told more and more: the session itself says how it stands.
  const AgentRef ref = t.agents.find(to);
  if (ref != none && t.load_of(ref) >= t.rules.queue_max) {
    return;
  }
  owe(dispatch, {.kind = OutboxKind::session_changed,
                 .to = std::string(to),
                 .about = {},
                 .facts = {{"session", session.id},
                           {"change", std::string(what)},
                           {"by", std::string(by_whom(by))},
                           {"coordinator", session.coordinator},
                           {"status", std::string(session_status_words[session.status])},
                           {"version", static_cast<int64_t>(session.version)},
                           {"ends_at", session.started + t.rules.session_duration_max}}});
}

void announce_session(Dispatch& dispatch, const Session& session, std::string_view by) {
  for (const std::string& name : session.participants) {
    if (name != by) {
      tell_change(dispatch, session, name, "add_participant", by);
    }
  }
}

void tell_end(Dispatch& dispatch, const Session& session, const SessionChange& change) {
  for (const std::string& name : session.participants) {
    owe(dispatch, {.kind = OutboxKind::session_ended,
                   .to = name,
                   .about = {},
                   .facts = {{"session", session.id},
                             {"status", std::string(session_status_words[session.status])},
                             {"by", std::string(by_whom(change.by))},
                             {"summary", change.subject},
                             {"decisions", count_of(session, SessionAct::add_decision)},
                             {"artifacts", count_of(session, SessionAct::add_artifact)},
                             {"findings", count_of(session, SessionAct::add_finding)},
                             {"messages", static_cast<int64_t>(session.messages)},
                             {"version", static_cast<int64_t>(session.version)},
                             {"started_at", session.started}}});
  }
}

// What is said in a session is held while it is paused.
void set_session_status(Dispatch& dispatch, Session& session, SessionStatus status) {
  Tables& t = dispatch.t;
  // A copy: a session that is over has no open messages any more.
  const std::vector<Seq> messages(session.open.begin(), session.open.end());
  const bool was_paused = session.status == SessionStatus::paused;
  t.sessions.set_status(session, status, t.now);
  if (status == SessionStatus::paused) {
    hold_messages(dispatch, messages, hold_of(session));
  } else if (was_paused) {
    release_messages(dispatch, messages, hold_of(session));
  }
}

void change_session(Dispatch& dispatch, Session& session, SessionChange change) {
  Tables& t = dispatch.t;
  change.version = ++session.version;  // first: the notices tell it
  change.at = t.now;
  session.last_activity = t.now;
  const std::string_view what = session_act_name(change.act);
  switch (change.act) {
    case SessionAct::add_decision:
    case SessionAct::add_artifact:
    case SessionAct::add_finding:
      change.subject.clear();
      session.entries.push_back(std::move(change));
      return;
    case SessionAct::add_participant:
      t.sessions.join(session, change.subject);
      tell_change(dispatch, session, change.subject, what, change.by);
      break;
    case SessionAct::remove_participant:
      t.sessions.leave(session, change.subject);
      if (change.subject != change.by) {
        tell_change(dispatch, session, change.subject, what, change.by);
      }
      break;
    case SessionAct::pause:
    case SessionAct::resume:
      set_session_status(
          dispatch, session,
          change.act == SessionAct::pause ? SessionStatus::paused : SessionStatus::active);
      for (const std::string& name : session.participants) {
        if (name != change.by) {
          tell_change(dispatch, session, name, what, change.by);
        }
      }
      change.subject.clear();
      break;
    case SessionAct::complete:
    case SessionAct::fail:
      set_session_status(
          dispatch, session,
          change.act == SessionAct::complete ? SessionStatus::completed : SessionStatus::failed);
      tell_end(dispatch, session, change);
      break;
  }
  session.changes.push_back(std::move(change));
  while (session.changes.size() > t.rules.session_changes_max) {
    session.changes.pop_front();
  }
}

std::string_view coordinator_of(const ConstContext& context, const StartSession& command) {
  return command.coordinator.empty() ? context.entry.actor : command.coordinator;
}

}  // namespace

Checked check(const ConstContext& context, const StartSession& c) {
  const Tables& t = context.t;
  const std::string_view coordinator = coordinator_of(context, c);
  if (c.id.empty() || c.id.size() > t.rules.name_bytes_max || !base::is_plain_name(c.id)) {
    return refuse(Code::bad_request,
                  "a session's id is 1 to " + std::to_string(t.rules.name_bytes_max) +
                      " bytes (name_bytes_max), without control or invisible characters and "
                      "without a space at its ends",
                  "/id");
  }
  const bool is_self = context.actor != none && coordinator == t.agents[context.actor].name;
  if (!is_self && !may_administer(context, Right::maintainer)) {
    return refuse(Code::forbidden, "only a maintainer starts a session for another coordinator",
                  "/coordinator");
  }
  if (c.participants.size() > t.rules.session_participants_max) {
    return too_many_participants(t.rules);
  }
  for (const std::string_view name : c.participants) {
    const AgentRef ref = t.agents.find(name);
    if (ref == none || !t.agents[ref].is_registered()) {
      return refuse(Code::receiver_not_found, "no principal is named " + quoted_start(name),
                    "/participants");
    }
    if (auto good = check_may_invite(context, ref, "/participants"); !good) {
      return good;
    }
  }
  if (const AgentRef ref = t.agents.find(coordinator);
      ref == none || !t.agents[ref].is_registered()) {
    return refuse(Code::receiver_not_found, "no principal is named " + quoted_start(coordinator),
                  "/coordinator");
  }
  if (c.task.size() > t.rules.session_entry_bytes_max) {
    return refuse(Code::payload_too_large,
                  "the task has " + std::to_string(c.task.size()) + " bytes; at most " +
                      std::to_string(t.rules.session_entry_bytes_max) +
                      " are taken (session.entry_bytes_max)",
                  "/task");
  }
  if (t.sessions.find(c.id) != nullptr) {
    return refuse(Code::conflict, "a session has the id " + quoted_start(c.id) + " already", "/id");
  }
  if (t.agents[t.agents.find(coordinator)].kind == PrincipalKind::agent &&
      t.sessions.led_by(coordinator) >= t.rules.sessions_per_agent_max) {
    return refuse(Code::limit_reached,
                  quoted_start(coordinator) + " coordinates " +
                      std::to_string(t.rules.sessions_per_agent_max) +
                      " sessions that are not over (sessions_per_agent_max); end one, or ask an "
                      "admin to raise it");
  }
  if (t.sessions.live() >= t.rules.sessions_max) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t.rules.sessions_max) +
                                           " sessions that are not over (sessions_max)");
  }
  return {};
}

Outcome on(Context& context, const StartSession& command) {
  Tables& t = context.t;
  const std::string_view coordinator = coordinator_of(context, command);
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  Session session;
  session.id = command.id;
  session.began = context.entry.seq;
  session.coordinator = coordinator;
  session.started = t.now;
  session.last_activity = t.now;
  session.participants.emplace_back(coordinator);
  for (const std::string_view name : command.participants) {
    if (!session.has(name)) {
      session.participants.emplace_back(name);
    }
  }
  // Once more: the coordinator may be one more than the command names.
  if (session.participants.size() > t.rules.session_participants_max) {
    return too_many_participants(t.rules);
  }
  if (auto good = charge_notices(context, session.participants.size() - 1); !good) {
    return std::unexpected(good.error());
  }
  announce_session(context.dispatch, t.sessions.add(std::move(session)), context.entry.actor);
  return Receipt{.message = context.entry.seq, .session_version = 1};
}

Outcome on(Context& context, const ChangeSession& command) {
  Tables& t = context.t;
  Session* const session = t.sessions.find(command.id);
  const bool may_see = session != nullptr && (session->has(context.entry.actor) ||
                                              may_administer(context, Right::maintainer));
  if (!may_see) {
    return no_such_session(command.id);
  }
  if (auto good = check_change(context, *session, command); !good) {
    return std::unexpected(good.error());
  }
  const uint64_t notices = notices_of(*session, command.act, context.entry.actor);
  if (auto good = charge_notices(context, notices); !good) {
    return std::unexpected(good.error());
  }
  change_session(context.dispatch, *session,
                 {.seq = context.entry.seq,
                  .act = command.act,
                  .by = std::string(context.entry.actor),
                  .subject = std::string(command.subject)});
  return Receipt{.message = context.entry.seq, .session_version = session->version};
}

std::expected<const Session*, Error> session_of(const ConstContext& context, const Send& command,
                                                Route& route) {
  const Tables& t = context.t;
  const Envelope& e = command.envelope;
  if (e.session.empty() || e.sender == broker_sender) {
    return nullptr;
  }
  const Session* const session = t.sessions.find(e.session);
  // A pipeline's first message that waited for a busy stage. It was let in when it was sent, to the
  // session that had the name then.
  if (context.actor == none) {
    const OutboxItem* const item = t.outbox.find(command.outbox_item);
    const bool is_in = session != nullptr && !session->is_over() && item != nullptr &&
                       session->began < pipeline_of(*item);
    return is_in ? session : nullptr;
  }
  if (session == nullptr || !session->has(t.agents[context.actor].name)) {
    return refuse(Code::not_a_participant,
                  "you take part in no session " + quoted_start(e.session) +
                      "; start it, or ask its coordinator to add you",
                  std::string(policy_of(e.dialect).session_field.value));
  }
  if (session->is_over()) {
    // Who was asked in it may still answer.
    if (e.kind == Kind::response) {
      return nullptr;
    }
    return is_over(*session);
  }
  if (!e.reply_to.empty() && !session->has(e.reply_to)) {
    return refuse(Code::not_a_participant,
                  quoted_start(e.reply_to) + " takes no part in session " +
                      quoted_start(session->id) + ", and would be sent what is said in it",
                  std::string(policy_of(e.dialect).reply_to_field.value));
  }
  if (route.everyone) {
    route.agents.clear();
    for (const std::string& name : session->participants) {
      const AgentRef ref = t.agents.find(name);
      if (e.durability == Durability::disk || !t.agents[ref].is_offline() || ref == context.actor) {
        route.agents.push_back(ref);
      }
    }
    return session;
  }
  const auto outside = std::ranges::find_if(
      e.receivers, [session](std::string_view name) { return !session->has(name); });
  if (outside != e.receivers.end()) {
    return refuse(Code::not_a_participant,
                  quoted_start(*outside) + " takes no part in session " +
                      quoted_start(session->id) +
                      "; its coordinator can add it, or send without the session",
                  std::string(policy_of(e.dialect).receiver_field.value));
  }
  return session;
}

void enter_session(Tables& t, Session& session, const Envelope& e, const Route& route,
                   MessageRef ref) {
  const Message& message = t.messages.message(ref);
  const size_t to_self = route.everyone ? 1 : 0;  // who speaks takes part, and does not get it
  t.sessions.enter(session, message.seq);
  if (session.status == SessionStatus::paused) {
    t.holds.add(message.seq, hold_of(session));
  }
  session.last_activity = t.now;
  ++session.messages;
  session.log.push_back({.seq = message.seq,
                         .id = message.id,
                         .at = t.now,
                         .receivers = static_cast<uint32_t>(route.agents.size() - to_self),
                         .from = std::string(e.sender),
                         .to = std::string(e.receivers.front()),
                         .type = std::string(logged(e.type)),
                         .action = std::string(logged(e.action))});
  while (session.log.size() > t.rules.session_log_max) {
    session.log.pop_front();
  }
}

void leave_sessions(Dispatch& dispatch, std::string_view name) {
  Tables& t = dispatch.t;
  // By the place of the one before: a session that fails leaves the list that is walked.
  for (Seq next = t.sessions.next_live({}); next.n != 0; next = t.sessions.next_live(next)) {
    Session& session = t.sessions.at(next);
    if (session.coordinator == name) {
      change_session(dispatch, session,
                     {.act = SessionAct::fail, .subject = "its coordinator was removed"});
    } else if (session.has(name)) {
      change_session(dispatch, session,
                     {.act = SessionAct::remove_participant, .subject = std::string(name)});
    }
  }
}

// When the first ends, is warned of, and is forgotten; time_max: there is none.
static Time next_session_end(const Tables& t) {
  const Session* const first = t.sessions.first_live();
  return first == nullptr ? base::time_max : first->started + t.rules.session_duration_max;
}

static Time next_session_warning(const Tables& t) {
  const Session* const first = t.sessions.first_unwarned();
  return first == nullptr ? base::time_max : session_warned_at(t.rules, first->started);
}

static Time next_session_gone(const Tables& t) {
  const Session* const first = t.sessions.first_ended();
  return first == nullptr ? base::time_max : first->ended + t.rules.session_retention;
}

Time sessions_due(const Tables& t) {
  return std::min(next_session_end(t), next_session_warning(t));
}

Time old_sessions_due(const Tables& t) {
  return base::next_multiple(next_session_gone(t), base::minutes(1));
}

void advance_sessions(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  // Ends first: nobody is warned of what is over.
  for (size_t n = 0; n < due_max && next_session_end(t) <= t.now; ++n) {
    const Session* const first = t.sessions.first_live();
    change_session(
        dispatch, t.sessions.at(first->began),
        {.act = SessionAct::fail, .subject = "its time was over (collab.session_duration_max)"});
  }
  for (size_t n = 0; n < due_max && next_session_warning(t) <= t.now; ++n) {
    const Session* const first = t.sessions.first_unwarned();
    t.sessions.set_warned(t.sessions.at(first->began));
    for (const std::string& name : first->participants) {
      owe(dispatch, {.kind = OutboxKind::session_warning,
                     .to = name,
                     .about = {},
                     .priority = Priority::high,
                     .facts = {{"session", first->id},
                               {"ends_at", first->started + t.rules.session_duration_max},
                               {"left", first->started + t.rules.session_duration_max - t.now},
                               {"coordinator", first->coordinator}}});
    }
  }
}

void forget_sessions(Tables& t) {
  for (size_t n = 0; n < due_max; ++n) {
    const Session* const first = t.sessions.first_ended();
    const bool gone = first != nullptr &&
                      (t.sessions.size() > t.rules.sessions_max || next_session_gone(t) <= t.now);
    if (!gone) {
      return;
    }
    t.sessions.remove(first->began);
  }
}

void restore_session_holds(Tables& t) {
  for (const auto& [began, session] : t.sessions.all()) {
    if (session.status == SessionStatus::paused) {
      for (const Seq message : session.open) {
        t.holds.add(message, hold_of(session));
      }
    }
  }
}

}  // namespace parley::core
