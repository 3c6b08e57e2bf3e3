// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/sessions.h"

#include <algorithm>
#include <array>

#include "core/model/wire.h"

namespace parley::core {

namespace {

// Versions rise, and none is beyond the session's own.
template <class Changes>
bool versions_rise(const Changes& changes, uint64_t last) {
  uint64_t before = 0;
  for (const SessionChange& change : changes) {
    if (change.version <= before || change.version > last) {
      return false;
    }
    before = change.version;
  }
  return true;
}

}  // namespace

std::string_view session_act_name(SessionAct act) {
  constexpr std::array<std::string_view, 9> names = {
      "add_participant", "remove_participant", "add_decision",
      "add_artifact",    "add_finding",        "pause",
      "resume",          "complete",           "fail"};
  static_assert(names.size() == static_cast<size_t>(session_act_last) + 1);
  return names[static_cast<size_t>(act)];
}

bool Session::has(std::string_view name) const {
  return std::ranges::find(participants, name) != participants.end();
}

Session& Sessions::add(Session session) {
  const Seq began = session.began;
  by_id_.emplace(session.id, began);
  Session& added = sessions_.emplace(began, std::move(session)).first->second;
  file(added);
  for (const std::string& name : added.participants) {
    joined_[name].insert(began);
  }
  return added;
}

void Sessions::join(Session& session, std::string_view name) {
  joined_.try_emplace(std::string(name)).first->second.insert(session.began);
  session.participants.emplace_back(name);
}

void Sessions::leave(Session& session, std::string_view name) {
  unjoin(session.began, name);
  std::erase(session.participants, name);
}

void Sessions::unjoin(Seq began, std::string_view name) {
  const auto at = joined_.find(name);
  if (at != joined_.end() && at->second.erase(began) > 0 && at->second.empty()) {
    joined_.erase(at);
  }
}

const std::set<Seq>* Sessions::of(std::string_view name) const {
  const auto at = joined_.find(name);
  return at == joined_.end() ? nullptr : &at->second;
}

// Into the look-ups that its status belongs to.
void Sessions::file(Session& session) {
  if (session.is_over()) {
    ended_.emplace(session.ended, session.began);
    return;
  }
  if (live_.insert(session.began).second) {
    led_.add(session.coordinator);
  }
  if (!session.warned) {
    unwarned_.insert(session.began);
  }
}

Session* Sessions::find(std::string_view id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &sessions_.at(found->second);
}

const Session* Sessions::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &sessions_.at(found->second);
}

void Sessions::enter(Session& session, Seq message) {
  session.open.insert(session.open.end(), message);
  messages_.emplace_hint(messages_.end(), message, session.began);
}

void Sessions::leave(Seq message) {
  const auto found = messages_.find(message);
  if (found != messages_.end()) {
    sessions_.at(found->second).open.erase(message);
    messages_.erase(found);
  }
}

void Sessions::set_status(Session& session, SessionStatus status, Time now) {
  session.status = status;
  if (session.is_over()) {
    if (live_.erase(session.began) > 0) {
      led_.remove(session.coordinator);
    }
    unwarned_.erase(session.began);
    session.ended = now;
    // What was said in it goes its way like any other message from now on.
    for (const Seq message : session.open) {
      messages_.erase(message);
    }
    session.open.clear();
  }
  file(session);
}

void Sessions::set_warned(Session& session) {
  session.warned = true;
  unwarned_.erase(session.began);
}

void Sessions::remove(Seq began) {
  const auto found = sessions_.find(began);
  for (const std::string& name : found->second.participants) {
    unjoin(began, name);
  }
  ended_.erase({found->second.ended, began});
  by_id_.erase(found->second.id);
  sessions_.erase(found);
}

void Sessions::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [began, session] : sessions_) {
    seqs.push_back(began);
    for (const SessionChange& entry : session.entries) {
      seqs.push_back(entry.seq);
    }
  }
}

void Sessions::encode(Writer& out) const { put_rows(sessions_, out); }

bool Sessions::decode(Reader& in) {
  Seq before;
  get_rows<Session>(in, [&](Session session) {
    if (session.began <= before || session.participants.empty() ||
        session.participants.front() != session.coordinator || find(session.id) != nullptr ||
        (session.is_over() && !session.open.empty()) ||
        !versions_rise(session.entries, session.version) ||
        !versions_rise(session.changes, session.version)) {
      return false;
    }
    before = session.began;
    const Session& added = add(std::move(session));
    return std::ranges::all_of(
        added.open, [&](Seq message) { return messages_.emplace(message, added.began).second; });
  });
  return in.ok();
}

}  // namespace parley::core
