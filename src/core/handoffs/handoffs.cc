// SPDX-License-Identifier: Apache-2.0
#include "core/handoffs/handoffs.h"

#include "base/check.h"
#include "core/model/fields.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

Handoffs::Key key_of(const Handoff& handoff) { return {handoff.message, handoff.to}; }

template <class Index, class Name>
void drop(Index& index, const Name& name, const Handoffs::Key& key) {
  const auto at = index.find(name);
  if (at != index.end() && at->second.erase(key) > 0 && at->second.empty()) {
    index.erase(at);
  }
}

}  // namespace

void Handoffs::add(Handoff handoff) {
  const Key key = key_of(handoff);
  const auto [at, is_new] = handoffs_.emplace(key, std::move(handoff));
  CHECK(is_new);
  of_[at->second.from].insert(key);
  of_[at->second.to].insert(key);
  in_thread_[{at->second.to, at->second.thread}].insert(key);
  owned_.add(at->second.owner());
  file_times(at->second);
}

void Handoffs::remove(const Key& key) {
  const auto at = handoffs_.find(key);
  if (at == handoffs_.end()) {
    return;
  }
  unfile_times(at->second);
  owned_.remove(at->second.owner());
  drop(of_, at->second.from, key);
  drop(of_, at->second.to, key);
  drop(in_thread_, std::pair(at->second.to, at->second.thread), key);
  handoffs_.erase(at);
}

void Handoffs::file_times(const Handoff& handoff) {
  const Key key = key_of(handoff);
  if (handoff.waits_for_reaction()) {
    due_.emplace(handoff.due, key);
    if (!handoff.announced) {
      unannounced_.emplace(handoff.due, key);
    }
  }
  if (handoff.is_silent()) {
    silent_.emplace(handoff.heard, key);
  }
}

void Handoffs::unfile_times(const Handoff& handoff) {
  const Key key = key_of(handoff);
  due_.erase({handoff.due, key});
  unannounced_.erase({handoff.due, key});
  silent_.erase({handoff.heard, key});
}

const Handoff* Handoffs::find(const Key& key) const {
  const auto at = handoffs_.empty() ? handoffs_.end() : handoffs_.find(key);
  return at == handoffs_.end() ? nullptr : &at->second;
}

const std::set<Handoffs::Key>* Handoffs::of(std::string_view principal) const {
  const auto at = of_.find(principal);
  return at == of_.end() ? nullptr : &at->second;
}

const std::set<Handoffs::Key>* Handoffs::in_thread(std::string_view to,
                                                   std::string_view thread) const {
  const auto at = in_thread_.empty() ? in_thread_.end()
                                     : in_thread_.find({std::string(to), std::string(thread)});
  return at == in_thread_.end() ? nullptr : &at->second;
}

std::vector<const Handoff*> Handoffs::overdue(Time now) const {
  std::vector<const Handoff*> found;
  for (const auto& [due, key] : due_) {
    if (due > now) {
      break;
    }
    found.push_back(find(key));
  }
  return found;
}

const AgentSession* Handoffs::session_of(std::string_view agent) const {
  const auto at = sessions_.find(agent);
  return at == sessions_.end() ? nullptr : &at->second;
}

void Handoffs::set_session(AgentSession session) {
  AgentSession& known = sessions_[session.agent];
  known = std::move(session);
}

void Handoffs::forget_session(std::string_view agent) {
  if (const auto at = sessions_.find(agent); at != sessions_.end()) {
    sessions_.erase(at);
  }
}

void Handoffs::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [key, handoff] : handoffs_) {
    seqs.push_back(key.first);
  }
}

void Handoffs::encode(Writer& out) const {
  put_rows(handoffs_, out);
  put_rows(sessions_, out);
}

bool Handoffs::decode(Reader& in) {
  get_rows<Handoff>(in, [this](Handoff row) {
    const bool is_next = handoffs_.empty() || handoffs_.rbegin()->first < key_of(row);
    if (is_next) {
      add(std::move(row));
    }
    return is_next;
  });
  get_rows<AgentSession>(in, [this](AgentSession row) {
    const bool is_next = sessions_.empty() || sessions_.rbegin()->first < row.agent;
    if (is_next) {
      set_session(std::move(row));
    }
    return is_next;
  });
  return in.ok();
}

}  // namespace parley::core
