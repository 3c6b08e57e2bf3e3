// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/sessions.h"

#include <algorithm>
#include <array>

#include "core/model/wire.h"

namespace parley::core {

namespace {

void encode_change(const SessionChange& change, Writer& out) {
  out.varint(change.version);
  out.seq(change.seq);
  out.time(change.at);
  out.enumerator(change.act);
  out.text(change.by);
  out.text(change.subject);
}

SessionChange decode_change(Reader& in) {
  SessionChange change;
  change.version = in.varint();
  change.seq = in.seq();
  change.at = in.time();
  change.act = in.enumerator(session_act_last);
  change.by = in.text();
  change.subject = in.text();
  return change;
}

template <class Changes>
void encode_changes(const Changes& changes, Writer& out) {
  out.varint(changes.size());
  for (const SessionChange& change : changes) {
    encode_change(change, out);
  }
}

// Versions rise, and none is beyond the session's own.
template <class Changes>
void decode_changes(Changes& changes, uint64_t version, Reader& in) {
  uint64_t before = 0;
  for (size_t left = in.count(13); left > 0 && in.ok(); --left) {
    changes.push_back(decode_change(in));
    if (changes.back().version <= before || changes.back().version > version) {
      in.fail();
    }
    before = changes.back().version;
  }
}

void encode_log(const Session& session, Writer& out) {
  out.varint(session.messages);
  out.varint(session.log.size());
  for (const SessionMessage& message : session.log) {
    out.seq(message.seq);
    out.id(message.id);
    out.time(message.at);
    out.varint(message.receivers);
    out.text(message.from);
    out.text(message.to);
    out.text(message.type);
    out.text(message.action);
  }
}

void decode_log(Session& session, Reader& in) {
  session.messages = in.varint();
  for (size_t left = in.count(30); left > 0 && in.ok(); --left) {
    SessionMessage message;
    message.seq = in.seq();
    message.id = in.id();
    message.at = in.time();
    message.receivers = static_cast<uint32_t>(in.varint());
    message.from = in.text();
    message.to = in.text();
    message.type = in.text();
    message.action = in.text();
    session.log.push_back(std::move(message));
  }
}

}  // namespace

std::string_view session_status_name(SessionStatus status) {
  switch (status) {
    case SessionStatus::active:
      return "active";
    case SessionStatus::paused:
      return "paused";
    case SessionStatus::completed:
      return "completed";
    case SessionStatus::failed:
      return "failed";
  }
  return "unknown";
}

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
  return added;
}

// Into the look-ups that its status belongs to.
void Sessions::file(Session& session) {
  if (session.is_over()) {
    ended_.emplace(session.ended, session.began);
    return;
  }
  live_.insert(session.began);
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

size_t Sessions::led_by(std::string_view coordinator) const {
  return static_cast<size_t>(std::ranges::count_if(
      live_, [&](Seq began) { return sessions_.at(began).coordinator == coordinator; }));
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
    live_.erase(session.began);
    unwarned_.erase(session.began);
    session.ended = now;
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
  ended_.erase({found->second.ended, began});
  by_id_.erase(found->second.id);
  sessions_.erase(found);
}

void Sessions::encode(Writer& out) const {
  out.varint(sessions_.size());
  for (const auto& [began, session] : sessions_) {
    out.text(session.id);
    out.seq(began);
    out.text(session.coordinator);
    out.varint(session.participants.size());
    for (const std::string& name : session.participants) {
      out.text(name);
    }
    out.enumerator(session.status);
    out.boolean(session.warned);
    out.varint(session.version);
    out.time(session.started);
    out.time(session.last_activity);
    out.time(session.ended);
    encode_changes(session.entries, out);
    encode_changes(session.changes, out);
    encode_log(session, out);
    out.varint(session.open.size());
    for (const Seq message : session.open) {
      out.seq(message);
    }
  }
}

bool Sessions::decode(Reader& in) {
  Seq before;
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    Session session;
    session.id = in.text();
    session.began = in.seq();
    session.coordinator = in.text();
    session.participants.resize(in.count());
    for (std::string& name : session.participants) {
      name = in.text();
    }
    session.status = in.enumerator(session_status_last);
    session.warned = in.boolean();
    session.version = in.varint();
    session.started = in.time();
    session.last_activity = in.time();
    session.ended = in.time();
    decode_changes(session.entries, session.version, in);
    decode_changes(session.changes, session.version, in);
    decode_log(session, in);
    std::set<Seq> open;
    for (size_t messages = in.count(); messages > 0; --messages) {
      open.insert(in.seq());
    }
    const bool good = session.began > before && !session.participants.empty() &&
                      session.participants.front() == session.coordinator &&
                      find(session.id) == nullptr && (open.empty() || !session.is_over());
    if (!in.ok() || !good) {
      in.fail();
      return false;
    }
    before = session.began;
    Session& added = add(std::move(session));
    for (const Seq message : open) {
      if (!messages_.emplace(message, added.began).second) {
        in.fail();
        return false;
      }
    }
    added.open = std::move(open);
  }
  return in.ok();
}

}  // namespace parley::core
