// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/sessions.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

void SessionChecks::learn(const Step& step) {
  for (auto& [id, session] : model_.sessions) {
    session.was_paused = session.paused;
    const bool late = session.started + model_.rules.session_duration_max <= model_.now;
    if (!session.over && late && passes_time(step)) {
      end(session);
      model_.coverage.count("session", "over by its age");
    }
  }
  if (const auto* start = done<core::StartSession>(step)) {
    learn_start(step, *start);
  }
  if (const auto* change = asked<core::ChangeSession>(step)) {
    learn_change(step, *change);
  }
  if (const auto* gone = done<core::Unregister>(step)) {
    remove(gone->name);
  }
}

void SessionChecks::learn_start(const Step& step, const core::StartSession& start) {
  Session session;
  session.began = step.entry.seq;
  session.started = model_.now;
  const std::string_view leads = start.coordinator.empty() ? step.entry.actor : start.coordinator;
  session.coordinator = leads;
  session.participants.emplace(leads);
  session.participants.insert(start.participants.begin(), start.participants.end());
  const Session* const former = model_.find_session(start.id);
  if (former != nullptr && !former->over) {
    model_.fail(Check::session, step, text("{} is started twice", start.id));
  }
  model_.sessions[std::string(start.id)] = std::move(session);
}

void SessionChecks::remove(std::string_view name) {
  for (auto& [id, session] : model_.sessions) {
    if (!session.over && session.coordinator == name) {
      end(session);
    } else if (!session.over && session.participants.erase(std::string(name)) > 0) {
      ++session.version;
    }
  }
}

void SessionChecks::learn_change(const Step& step, const core::ChangeSession& change) {
  Session* const session = model_.find_session(change.id);
  if (!may_change(step, change, session)) {
    return;
  }
  model_.coverage.count("session", core::session_act_name(change.act));
  apply(step, change, *session);
  if (step.outcome->session_version != ++session->version) {
    model_.fail(Check::session, step,
                text("{} is told to have version {}, has {}", change.id,
                     step.outcome->session_version, session->version));
  }
}

// Whether the change is made. Checks that it is refused, or done, with a cause.
bool SessionChecks::may_change(const Step& step, const core::ChangeSession& change,
                               Session* session) {
  const bool stale =
      session != nullptr && change.version != 0 && change.version != session->version;
  if (!step.outcome) {
    const base::Code code = step.outcome.error().code;
    const bool wrong =
        (code == base::Code::version_conflict && !stale) ||
        (code == base::Code::session_ended && (session == nullptr || !session->over));
    if (wrong) {
      model_.fail(Check::session, step, text("a change of {} is refused without cause", change.id));
    }
    return false;
  }
  if (session == nullptr || session->over || stale) {
    model_.fail(Check::session, step, text("a change of {} is made too late", change.id));
    return false;
  }
  const std::string actor(step.entry.actor);
  const auto principal = model_.principals.find(actor);
  const bool is_agent =
      principal != model_.principals.end() && principal->second.kind == core::PrincipalKind::agent;
  const bool leaves =
      change.act == core::SessionAct::remove_participant && change.subject == step.entry.actor;
  const bool may = core::is_entry(change.act) || leaves ? session->participants.contains(actor)
                                                        : session->coordinator == actor;
  if ((is_agent || core::is_entry(change.act)) && !may) {
    model_.fail(Check::session, step, text("{} changes {} and may not", actor, change.id));
  }
  return true;
}

void SessionChecks::apply(const Step& step, const core::ChangeSession& change, Session& session) {
  const std::string subject(change.subject);
  switch (change.act) {
    case core::SessionAct::add_participant:
      session.participants.insert(subject);
      break;
    case core::SessionAct::remove_participant:
      session.participants.erase(subject);
      break;
    case core::SessionAct::add_decision:
    case core::SessionAct::add_artifact:
    case core::SessionAct::add_finding:
      session.writes.push_back(
          {session.version + 1, step.entry.seq, std::string(step.entry.actor)});
      break;
    case core::SessionAct::pause:
    case core::SessionAct::resume:
      session.paused = change.act == core::SessionAct::pause;
      break;
    case core::SessionAct::complete:
    case core::SessionAct::fail:
      end(session);
      --session.version;  // The caller counts the change.
      break;
  }
}

void SessionChecks::join(const Step& step, const core::Envelope& e, SentMessage& sent) {
  Session* const session = e.session.empty() || e.sender == core::broker_sender
                               ? nullptr
                               : model_.find_session(e.session);
  // The first request of a pipeline that waited for a busy stage was let in when it was sent.
  const bool is_asked_later = step.entry.actor == core::broker_name;
  if (!e.session.empty() && session == nullptr && e.sender != core::broker_sender &&
      !is_asked_later) {
    model_.fail(Check::session, step, text("is said in {}, which there is not", e.session));
  }
  if (session == nullptr) {
    return;
  }
  if (is_asked_later && std::ranges::none_of(model_.pipelines, [&](const auto& item) {
        return item.second.outbox_item == std::get<core::Send>(step.entry.command).outbox_item &&
               session->began < item.first;
      })) {
    return;  // Another session has the name by now.
  }
  const bool outside = std::ranges::any_of(e.receivers, [&](std::string_view name) {
    return name != "*" && !session->participants.contains(std::string(name));
  });
  const bool answers_late = session->over && e.kind == core::Kind::response;
  if (!is_asked_later && (!session->participants.contains(std::string(e.sender)) ||
                          (!answers_late && (outside || session->over)))) {
    model_.fail(Check::session, step, text("is said in {} by or to a stranger", e.session));
  }
  if (!session->over) {
    sent.session = e.session;
    sent.session_began = session->began;
    model_.coverage.count("session", session->paused ? "message while paused" : "message");
  }
}

void SessionChecks::end(Session& session) {
  session.over = true;
  session.paused = false;
  session.ended = model_.now;
  ++session.version;
}

void SessionChecks::check(const Step& step) {
  const core::Sessions& sessions = step.after.tables().sessions;
  for (auto at = model_.sessions.begin(); at != model_.sessions.end();) {
    const Session& session = at->second;
    const core::Session* const actual = sessions.find(at->first);
    if (actual == nullptr) {
      const bool full = sessions.size() >= model_.rules.sessions_max;
      if (!session.over || (!full && session.ended + model_.rules.session_retention > model_.now)) {
        model_.fail(Check::session, step, text("session {} vanished", at->first));
      }
      model_.coverage.count("session", "forgotten");
      at = model_.sessions.erase(at);
      continue;
    }
    const bool same_people =
        std::set<std::string>(actual->participants.begin(), actual->participants.end()) ==
        session.participants;
    if (actual->version != session.version || actual->is_over() != session.over ||
        (actual->status == core::SessionStatus::paused) != session.paused || !same_people) {
      model_.fail(
          Check::session, step,
          text("session {} has version {} and is {}, should have {}", at->first, actual->version,
               core::session_status_words[actual->status], session.version));
    }
    const bool same_writes = std::ranges::equal(
        actual->entries, session.writes, [](const auto& kept, const Session::Write& expected) {
          return kept.version == expected.version && kept.seq == expected.seq &&
                 kept.by == expected.by;
        });
    if (!same_writes) {
      model_.fail(Check::session, step,
                  text("session {} has {} entries, {} were accepted", at->first,
                       actual->entries.size(), session.writes.size()));
    }
    ++at;
  }
  if (sessions.size() != model_.sessions.size()) {
    model_.fail(Check::session, step, "a actual is kept that no one started");
  }
}

}  // namespace parley::sim
