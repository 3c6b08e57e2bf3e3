// SPDX-License-Identifier: Apache-2.0
#include "core/debates/debates.h"

#include <algorithm>

#include "base/check.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

// The work under way in one thread.
struct ThreadWork {
  std::string thread;
  std::set<Seq> messages;
  static void fields(auto& self, auto& field) {
    field("thread", self.thread);
    field("messages", self.messages);
  }
};

bool is_due(const Debate& debate) { return debate.is_undecided() && debate.unanswered; }

void drop(std::map<std::string, std::set<uint64_t>, std::less<>>& index, std::string_view name,
          uint64_t id) {
  const auto at = index.find(name);
  if (at != index.end() && at->second.erase(id) > 0 && at->second.empty()) {
    index.erase(at);
  }
}

}  // namespace

uint64_t Debates::add(Debate debate, uint64_t max) {
  CHECK(debate.is_undecided());
  const uint64_t id =
      cases_.add(std::move(debate), max, [this](const Debate& old) { forget(old); });
  file(*find(id));
  return id;
}

// All look-ups, for one that is new here.
void Debates::file(const Debate& debate) {
  of_[debate.challenger].insert(debate.id);
  of_[debate.challenged].insert(debate.id);
  for (const DebateStep& step : debate.steps) {
    if (step.act == DebateAct::claim) {
      continue;
    }
    of_[step.agent].insert(debate.id);
    if (debate.is_open()) {
      by_message_[step.message] = debate.id;
    }
  }
  if (debate.is_open()) {
    open_in_[debate.thread].insert(debate.id);
  }
  if (is_due(debate)) {
    due_.emplace(debate.due, debate.id);
  }
}

// It goes for room.
void Debates::forget(const Debate& debate) {
  drop(of_, debate.challenger, debate.id);
  drop(of_, debate.challenged, debate.id);
  for (const DebateStep& step : debate.steps) {
    drop(of_, step.agent, debate.id);
  }
}

// It is open no more.
void Debates::close(const Debate& debate) {
  drop(open_in_, debate.thread, debate.id);
  for (const DebateStep& step : debate.steps) {
    if (step.act != DebateAct::claim) {
      by_message_.erase(step.message);
    }
  }
}

void Debates::add_step(uint64_t id, DebateStep step) {
  by_message_[step.message] = id;
  of_[step.agent].insert(id);
  cases_.change(id, [&step](Debate& debate) { debate.steps.push_back(std::move(step)); });
}

void Debates::await(uint64_t id, Time due) {
  if (is_due(*find(id))) {
    return;  // the time of the challenge that was not answered runs on
  }
  cases_.change(id, [due](Debate& debate) {
    debate.unanswered = true;
    debate.due = due;
  });
  if (is_due(*find(id))) {
    due_.emplace(due, id);
  }
}

void Debates::note_answer(uint64_t id, bool is_defence) {
  due_.erase({find(id)->due, id});
  cases_.change(id, [is_defence](Debate& debate) {
    debate.rounds += debate.unanswered && is_defence ? 1 : 0;
    debate.unanswered = false;
  });
}

void Debates::note_severity(uint64_t id, Severity severity, bool holds) {
  cases_.change(id, [severity, holds](Debate& debate) {
    debate.severity = std::max(debate.severity, severity);
    debate.holds = debate.holds || holds;
  });
}

void Debates::escalate(uint64_t id, uint64_t escalation) {
  CHECK(find(id)->is_undecided());
  due_.erase({find(id)->due, id});
  cases_.change(id, [escalation](Debate& debate) {
    debate.state = DebateState::escalated;
    debate.escalation = escalation;
  });
}

void Debates::end(uint64_t id, const End& how) {
  CHECK(how.state > DebateState::escalated);
  due_.erase({find(id)->due, id});
  cases_.change(id, [&how](Debate& debate) {
    debate.state = how.state;
    debate.ended = how.at;
    debate.ended_by = how.by;
    debate.outcome = how.outcome;
  });
  close(*find(id));
}

const Debate* Debates::find_by_message(Seq message) const {
  const auto at = by_message_.find(message);
  return at == by_message_.end() ? nullptr : find(at->second);
}

const Debate* Debates::find_between(std::string_view thread, std::string_view challenger,
                                    std::string_view challenged) const {
  return find_in(thread, [&](const Debate& debate) {
    return debate.challenger == challenger && debate.challenged == challenged;
  });
}

const std::set<uint64_t>* Debates::of(std::string_view name) const {
  const auto at = of_.find(name);
  return at == of_.end() ? nullptr : &at->second;
}

void Debates::note_work(std::string_view thread, Seq message) {
  work_[std::string(thread)].insert(message);
  thread_of_.emplace(message, thread);
}

void Debates::done_with(Seq message) {
  const auto at = thread_of_.empty() ? thread_of_.end() : thread_of_.find(message);
  if (at == thread_of_.end()) {
    return;
  }
  const auto thread = work_.find(at->second);
  thread->second.erase(message);
  if (thread->second.empty()) {
    work_.erase(thread);
  }
  thread_of_.erase(at);
}

const std::set<Seq>* Debates::work_in(std::string_view thread) const {
  const auto at = work_.find(thread);
  return at == work_.end() ? nullptr : &at->second;
}

std::vector<Hold> Debates::holds_in(std::string_view thread) const {
  std::vector<Hold> holds;
  (void)find_in(thread, [&holds](const Debate& debate) {
    if (debate.holds) {
      holds.push_back({HoldReason::challenge, debate.opened});
    }
    return false;
  });
  return holds;
}

void Debates::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [id, debate] : all()) {
    for (const DebateStep& step : debate.steps) {
      if (debate.is_open()) {
        seqs.push_back(step.message);
      }
    }
  }
}

void Debates::encode(Writer& out) const {
  cases_.encode(out);
  out.varint(work_.size());
  for (const auto& [thread, messages] : work_) {
    put(ThreadWork{thread, messages}, out);
  }
}

bool Debates::decode(Reader& in) {
  const bool good = cases_.decode(in, [this](const Debate& debate) {
    file(debate);
    const bool ends = debate.is_open() == debate.ended_by.empty();
    const bool was_escalated = debate.state != DebateState::escalated || debate.escalation != 0;
    return ends && was_escalated && !debate.steps.empty() && debate.severity <= severity_last;
  });
  get_rows<ThreadWork>(in, [this](const ThreadWork& row) {
    for (const Seq message : row.messages) {
      if (thread_of_.contains(message)) {
        return false;
      }
      note_work(row.thread, message);
    }
    const bool is_next = !work_.empty() && work_.rbegin()->first == row.thread;
    return is_next && !row.messages.empty();
  });
  return good && in.ok();
}

}  // namespace parley::core
