// SPDX-License-Identifier: Apache-2.0
// Sessions and locks: every write that was accepted is there and has its own version, nothing is
// handed out inside a paused session, a lock has one owner, and locks are taken in order.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

bool passes_time(const Step& step) {
  return !std::holds_alternative<core::StartNode>(step.entry.command);
}

}  // namespace

Meeting* Ledger::meeting_of(std::string_view id) {
  const auto at = meetings_.find(std::string(id));
  return at == meetings_.end() ? nullptr : &at->second;
}

bool Ledger::is_paused(const Sent& sent) const {
  const auto at = meetings_.find(sent.session);
  return at != meetings_.end() && at->second.paused && at->second.began == sent.meeting;
}

// Whether the message was held up by its session before this entry, or is now.
bool Ledger::is_held_up(const Sent& sent) const {
  const auto at = meetings_.find(sent.session);
  return at != meetings_.end() && at->second.began == sent.meeting &&
         (at->second.paused || at->second.was_paused);
}

void Ledger::end_meeting(Meeting& meeting) {
  meeting.over = true;
  meeting.paused = false;
  meeting.ended = now_;
  ++meeting.version;
}

// What the command and the time bring about, before anything is told of it.
void Ledger::learn_meetings(const Step& step) {
  for (auto& [id, meeting] : meetings_) {
    meeting.was_paused = meeting.paused;
    const bool late = meeting.started + rules_.session_duration_max <= now_;
    if (!meeting.over && late && passes_time(step)) {
      end_meeting(meeting);
      coverage_.count("session", "over by its age");
    }
  }
  if (const auto* start = done<core::StartSession>(step)) {
    Meeting meeting;
    meeting.began = step.entry.seq;
    meeting.started = now_;
    const std::string_view leads =
        start->coordinator.empty() ? step.entry.actor : start->coordinator;
    meeting.coordinator = leads;
    meeting.participants.emplace(leads);
    meeting.participants.insert(start->participants.begin(), start->participants.end());
    const auto at = meetings_.find(std::string(start->id));
    if (at != meetings_.end() && !at->second.over) {
      fail(Check::session, step, text("{} is started twice", start->id));
    }
    meetings_[std::string(start->id)] = std::move(meeting);
  }
  if (const auto* change =
          step.is_here ? std::get_if<core::ChangeSession>(&step.entry.command) : nullptr) {
    learn_change(step, *change);
  }
  if (const auto* gone = done<core::Unregister>(step)) {
    for (auto& [id, meeting] : meetings_) {
      const bool leads = meeting.coordinator == gone->name;
      if (!meeting.over && leads) {
        end_meeting(meeting);
      } else if (!meeting.over && meeting.participants.erase(std::string(gone->name)) > 0) {
        ++meeting.version;
      }
    }
  }
}

void Ledger::learn_change(const Step& step, const core::ChangeSession& change) {
  Meeting* const meeting = meeting_of(change.id);
  const bool stale =
      meeting != nullptr && change.version != 0 && change.version != meeting->version;
  if (!step.outcome) {
    const base::Code code = step.outcome.error().code;
    const bool wrong =
        (code == base::Code::version_conflict && !stale) ||
        (code == base::Code::session_ended && (meeting == nullptr || !meeting->over));
    if (wrong) {
      fail(Check::session, step, text("a change of {} is refused without cause", change.id));
    }
    return;
  }
  if (meeting == nullptr || meeting->over || stale) {
    fail(Check::session, step, text("a change of {} is made too late", change.id));
    return;
  }
  const std::string actor(step.entry.actor);
  const bool is_agent =
      members_.contains(actor) && members_[actor].kind == core::PrincipalKind::agent;
  const bool leaves =
      change.act == core::SessionAct::remove_participant && change.subject == step.entry.actor;
  const bool may = core::is_entry(change.act) || leaves ? meeting->participants.contains(actor)
                                                        : meeting->coordinator == actor;
  if ((is_agent || core::is_entry(change.act)) && !may) {
    fail(Check::session, step, text("{} changes {} and may not", actor, change.id));
  }
  coverage_.count("session", core::session_act_name(change.act));
  const std::string subject(change.subject);
  switch (change.act) {
    case core::SessionAct::add_participant:
      meeting->participants.insert(subject);
      break;
    case core::SessionAct::remove_participant:
      meeting->participants.erase(subject);
      break;
    case core::SessionAct::add_decision:
    case core::SessionAct::add_artifact:
    case core::SessionAct::add_finding:
      meeting->writes.push_back({meeting->version + 1, step.entry.seq, actor});
      break;
    case core::SessionAct::pause:
    case core::SessionAct::resume:
      meeting->paused = change.act == core::SessionAct::pause;
      break;
    case core::SessionAct::complete:
    case core::SessionAct::fail:
      end_meeting(*meeting);
      --meeting->version;
      break;
  }
  if (step.outcome->number != ++meeting->version) {
    fail(Check::session, step,
         text("{} is told to have version {}, has {}", change.id, step.outcome->number,
              meeting->version));
  }
}

// Whom a message in a session may go to, and whether it is in one at all.
void Ledger::join_meeting(const Step& step, const core::Envelope& e, Sent& sent) {
  Meeting* const meeting =
      e.session.empty() || e.sender == core::broker_sender ? nullptr : meeting_of(e.session);
  // A pipeline's first message that waited for a busy stage: it was let in when it was sent.
  const bool is_asked_later = step.entry.actor == core::broker_name;
  if (!e.session.empty() && meeting == nullptr && e.sender != core::broker_sender &&
      !is_asked_later) {
    fail(Check::session, step, text("is said in {}, which there is not", e.session));
  }
  if (meeting == nullptr) {
    return;
  }
  if (is_asked_later && std::ranges::none_of(piped_, [&](const auto& item) {
        return item.second.owed == std::get<core::Send>(step.entry.command).outbox_item &&
               meeting->began < item.first;
      })) {
    return;  // another session has the name by now
  }
  const bool outside = std::ranges::any_of(e.receivers, [&](std::string_view name) {
    return name != "*" && !meeting->participants.contains(std::string(name));
  });
  const bool answers_late = meeting->over && e.kind == core::Kind::response;
  if (!is_asked_later && (!meeting->participants.contains(std::string(e.sender)) ||
                          (!answers_late && (outside || meeting->over)))) {
    fail(Check::session, step, text("is said in {} by or to a stranger", e.session));
  }
  if (!meeting->over) {
    sent.session = e.session;
    sent.meeting = meeting->began;
    coverage_.count("session", meeting->paused ? "message while paused" : "message");
  }
}

void Ledger::check_meetings(const Step& step) {
  const core::Sessions& sessions = step.after.tables().sessions;
  for (auto at = meetings_.begin(); at != meetings_.end();) {
    const Meeting& meeting = at->second;
    const core::Session* const session = sessions.find(at->first);
    if (session == nullptr) {
      const bool full = sessions.size() >= rules_.sessions_max;
      if (!meeting.over || (!full && meeting.ended + rules_.session_retention > now_)) {
        fail(Check::session, step, text("session {} vanished", at->first));
      }
      coverage_.count("session", "forgotten");
      at = meetings_.erase(at);
      continue;
    }
    const bool same_people =
        std::set<std::string>(session->participants.begin(), session->participants.end()) ==
        meeting.participants;
    if (session->version != meeting.version || session->is_over() != meeting.over ||
        (session->status == core::SessionStatus::paused) != meeting.paused || !same_people) {
      fail(Check::session, step,
           text("session {} has version {} and is {}, should have {}", at->first, session->version,
                core::session_status_name(session->status), meeting.version));
    }
    const bool same_writes = std::ranges::equal(
        session->entries, meeting.writes, [](const auto& kept, const Meeting::Write& told) {
          return kept.version == told.version && kept.seq == told.seq && kept.by == told.by;
        });
    if (!same_writes) {
      fail(Check::session, step,
           text("session {} has {} entries, {} were accepted", at->first, session->entries.size(),
                meeting.writes.size()));
    }
    ++at;
  }
  if (sessions.size() != meetings_.size()) {
    fail(Check::session, step, "a session is kept that no one started");
  }
}

// Whether the lock has been given up: by the clock, or by someone in this entry.
bool Ledger::is_free(const Step& step, const std::string& name, const Locked& lock) const {
  const auto* release = done<core::ReleaseLock>(step);
  const auto* gone = done<core::Unregister>(step);
  return lock.ends <= now_ || (release != nullptr && release->name == name) ||
         (gone != nullptr && gone->name == lock.owner);
}

void Ledger::learn_lock(const Step& step) {
  const auto* const take =
      step.is_here ? std::get_if<core::TakeLock>(&step.entry.command) : nullptr;
  if (take == nullptr) {
    return;
  }
  const std::string name(take->name);
  const std::string actor(step.entry.actor);
  const auto at = locks_.find(name);
  const bool renews = at != locks_.end() && at->second.owner == actor && at->second.ends > now_;
  const bool disordered = std::ranges::any_of(locks_, [&](const auto& item) {
    return item.second.owner == actor && item.second.ends > now_ && item.first > name;
  });
  const bool waits =
      std::ranges::any_of(in_line_, [&](const auto& item) { return item.second.agent == actor; });
  if (!step.outcome) {
    if (step.outcome.error().code == base::Code::lock_order && !disordered && !waits) {
      fail(Check::lock, step, text("{} is in order for {} and is refused", name, actor));
    }
    return;
  }
  if (!renews && disordered) {
    fail(Check::lock, step, text("{} takes {} and holds a greater one", actor, name));
  }
  if (take->fence && (take->fence->n == 0 ? renews : !renews || at->second.fence != *take->fence)) {
    fail(Check::lock, step, text("{} has {} by another request than it says", actor, name));
  }
  coverage_.count("lock", !take->fence ? "any hold" : renews ? "renewed by fence" : "anew");
  const core::Duration lease = take->lease.us > 0 ? take->lease : rules_.lock_lease;
  if (step.outcome->number == 0) {
    in_line_[step.entry.seq] = {name, actor, now_ + take->wait, lease, step.entry.id.origin};
    return;
  }
  if (at != locks_.end() && at->second.ends > now_ && !renews) {
    fail(Check::lock, step, text("{} has {}, which {} holds", actor, name, at->second.owner));
  }
  locks_[name] = {actor, renews ? at->second.fence : step.entry.seq, now_ + lease};
}

void Ledger::on_lock_turn(const Step& step, const Fact& fact) {
  const auto at = in_line_.find(fact.message);
  if (at == in_line_.end() || at->second.agent != fact.receiver) {
    fail(Check::lock, step, text("{} does not wait for a lock", fact.receiver));
    return;
  }
  const InLine waiter = at->second;
  in_line_.erase(at);
  const auto* release = done<core::ReleaseLock>(step);
  const auto* gone = done<core::Unregister>(step);
  if (!fact.granted) {
    coverage_.count("lock", "waited in vain");
    const bool may = waiter.until <= now_ || (release != nullptr && release->name == waiter.name) ||
                     (gone != nullptr && gone->name == waiter.agent);
    if (!may) {
      fail(Check::lock, step, text("{} waits no more for {}", waiter.agent, waiter.name));
    }
    return;
  }
  coverage_.count("lock", "passed on");
  const bool overtakes = std::ranges::any_of(in_line_, [&](const auto& item) {
    return item.second.name == waiter.name && item.first < fact.message &&
           !ended_.contains(item.second.origin);
  });
  const auto held = locks_.find(waiter.name);
  const bool is_held = held != locks_.end() && !is_free(step, waiter.name, held->second);
  if (overtakes || is_held) {
    fail(Check::lock, step,
         text("{} has {}, {}", waiter.agent, waiter.name,
              is_held ? "which another holds" : "before its turn"));
  }
  locks_[waiter.name] = {waiter.agent, fact.message, now_ + waiter.lease};
}

void Ledger::check_locks(const Step& step) {
  const core::Locks& locks = step.after.tables().locks;
  for (auto at = locks_.begin(); at != locks_.end();) {
    const core::Lock* const lock = locks.find(at->first);
    if (lock == nullptr) {
      if (!is_free(step, at->first, at->second)) {
        fail(Check::lock, step, text("lock {} of {} vanished", at->first, at->second.owner));
      }
      at = locks_.erase(at);
      continue;
    }
    if (lock->owner != at->second.owner || lock->fence != at->second.fence ||
        lock->ends != at->second.ends) {
      fail(Check::lock, step,
           text("lock {} is {}'s, should be {}'s", at->first, lock->owner, at->second.owner));
    }
    if (lock->ends <= now_ && passes_time(step)) {
      fail(Check::lock, step, text("the lease on {} should be over", at->first));
    }
    ++at;
  }
  if (locks.size() != locks_.size()) {
    fail(Check::lock, step, "a lock is held that no one took");
  }
  std::erase_if(in_line_, [this](const auto& item) { return ended_.contains(item.second.origin); });
  size_t waiting = 0;
  locks.each_wait([&](const std::string&, const std::string&, const std::string&) { ++waiting; });
  if (waiting != in_line_.size()) {
    fail(Check::lock, step, text("{} wait for locks, told of {}", waiting, in_line_.size()));
  }
}

}  // namespace parley::sim
