// SPDX-License-Identifier: Apache-2.0
// Conversations: counted, limited, closed and announced as the rules say.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

bool Ledger::is_over(const Talk& talk) const {
  return talk.overdue || (talk.ages && talk.created + rules_.thread_duration_max <= now_);
}

// Whether it is the first answer to a request that the sender got.
bool Ledger::answers_request(const core::Envelope& e) const {
  const auto question = std::find_if(sent_.rbegin(), sent_.rend(), [&](const auto& item) {
    return item.second.id == e.in_reply_to &&
           std::ranges::find(item.second.pairs, e.sender, &Pair::receiver) !=
               item.second.pairs.end();
  });
  return e.kind == core::Kind::response && question != sent_.rend() &&
         core::asks(question->second.kind) &&
         std::ranges::find(question->second.pairs, e.sender, &Pair::receiver)->state !=
             State::answered;
}

// Before anything is told of the entry: whether the message may be said, and that it was.
void Ledger::learn_talk(const Step& step, const core::Send& send) {
  const core::Envelope& e = send.envelope;
  const bool accepted = step.outcome && !step.outcome->duplicate;
  if (e.thread.empty() || e.sender == core::broker_sender ||
      (step.outcome && step.outcome->duplicate)) {
    return;
  }
  const auto at = talks_.find(std::string(e.thread));
  const bool exempt = answers_request(e) || step.entry.actor == core::broker_name;
  const auto sender = members_.find(std::string(e.sender));
  const bool flow = sender == members_.end() || sender->second.dialect == core::Dialect::flow;
  const bool full = at != talks_.end() && at->second.messages >= rules_.thread_messages_max;
  const bool over = at != talks_.end() && (at->second.closed || is_over(at->second));
  const base::Code code = step.outcome ? base::Code::bad_request : step.outcome.error().code;
  if ((code == base::Code::thread_full && (!flow || !full || exempt)) ||
      (code == base::Code::thread_closed && (!over || exempt))) {
    fail(Check::thread, step, text("may be said in {}, and is refused", e.thread));
  }
  if (accepted && flow && !exempt && (full || over)) {
    fail(Check::thread, step, text("is said in {}, which is full or closed", e.thread));
  }
  if (!accepted) {
    return;
  }
  Talk& talk = talks_[std::string(e.thread)];
  if (talk.messages++ == 0) {
    talk.root = step.entry.seq;
    talk.created = now_;
    talk.ages = flow;
  }
  const auto take_part = [&](const std::string& name) {
    if (std::ranges::find(talk.participants, name) == talk.participants.end() &&
        talk.participants.size() < rules_.thread_participants_max) {
      talk.participants.push_back(name);
    }
  };
  take_part(std::string(e.sender));
  const bool direct = topic_of(e).empty() && e.receivers.front() != "*";
  for (const std::string_view receiver : e.receivers) {
    if (direct && is_registered(std::string(receiver))) {
      take_part(reached_by(step, std::string(receiver)));
    }
  }
}

// Who got this entry's message in the place of `named`, who is away; else that one itself. Only the
// tables know; `redirect` asks whether it may be.
std::string Ledger::reached_by(const Step& step, const std::string& named) const {
  const core::Tables& t = step.after.tables();
  for (const auto& [ref, away] : t.messages.redirected()) {
    if (away == named && t.messages.message_of(ref).seq == step.entry.seq) {
      return t.agents[t.messages.delivery(ref).receiver].name;
    }
  }
  return named;
}

// The requests in a thread that wait for an answer.
std::set<Seq> Ledger::pending_in(const std::string& thread) const {
  std::set<Seq> pending;
  for (const auto& [seq, sent] : sent_) {
    if (sent.asks && sent.thread == thread) {
      pending.insert(seq);
    }
  }
  return pending;
}

void Ledger::end_requests() {
  for (auto& [seq, sent] : sent_) {
    const bool is_open = std::ranges::any_of(
        sent.pairs, [](const Pair& pair) { return !core::is_final(pair.state); });
    const bool is_waited_for =
        asked_.contains(seq) || scattered_.contains(seq) || waits_to_begin(seq);
    sent.asks = sent.asks && (sent.watched ? is_waited_for : is_open && !sent.answered);
  }
}

// It ends because this entry's message, which is pending already, takes its place: its task was
// given in other words, or its pipeline waited for a busy stage and begins.
bool Ledger::is_replaced(const Step& step, Seq former) const {
  const auto piped = piped_.find(former);
  return (piped != piped_.end() && piped->second.message == step.entry.seq) ||
         std::ranges::any_of(sent_.at(former).pairs, [&](const Pair& pair) {
           return is_superseded(step, former, pair.receiver);
         });
}

// After all is told, by the rules that held when the entry came.
void Ledger::check_talks(const Step& step) {
  const core::Threads& threads = step.after.tables().threads;
  const auto* close = done<core::CloseThread>(step);
  const bool is_tick = std::holds_alternative<core::Tick>(step.entry.command);
  const bool is_start = std::holds_alternative<core::StartNode>(step.entry.command);
  std::map<std::string, int> untold;
  std::map<std::string, int> maybe;
  const auto* send = done<core::Send>(step);
  const std::set<Seq> before =
      send == nullptr ? std::set<Seq>{} : pending_in(std::string(send->envelope.thread));
  end_requests();
  for (auto& [name, talk] : talks_) {
    const core::ThreadRef ref = threads.find(name);
    if (ref == core::none) {
      // `forget_talks` asks why. It may have been closed just before.
      for (const std::string& participant : talk.participants) {
        ++maybe[participant];
      }
      continue;
    }
    const core::Thread& thread = threads[ref];
    std::set<Seq> pending = pending_in(name);
    if (thread.messages != talk.messages || thread.root != talk.root ||
        thread.pending != pending.size()) {
      fail(Check::thread, step,
           text("{} says {} messages and {} pending, has {} and {}", name, thread.messages,
                thread.pending, talk.messages, pending.size()));
    }
    const bool goes_on =
        pending.erase(step.entry.seq) > 0 && std::ranges::any_of(before, [&](Seq seq) {
          return seq != step.entry.seq && !pending.contains(seq) && is_replaced(step, seq);
        });
    // Threads are closed at whole seconds: a tick before that, which other things or changed rules
    // brought about, need not close it.
    const bool rests = is_tick && !talk.overdue &&
                       talk.created + rules_.thread_duration_max + base::seconds(1) > now_;
    const bool time_passes = !is_start && (!rests || thread.overdue);
    const bool asked = close != nullptr && close->thread == name;
    if (thread.is_closed() && !talk.closed) {
      // Time passes first, so the entry that asks may find it closed by age: all are told then.
      const bool by_asking = asked && thread.closed_by == step.entry.actor;
      if (!by_asking && (!is_over(talk) || !pending.empty())) {
        fail(Check::thread, step, text("{} is closed too early", name));
      }
      talk.closed = true;
      coverage_.count("thread", by_asking ? "closed by someone" : "closed by age");
      // One who came with this very entry came before it was closed, or after.
      for (size_t n = 0; n < talk.participants.size(); ++n) {
        const std::string& participant = talk.participants[n];
        if (is_registered(participant) && !(by_asking && participant == step.entry.actor)) {
          ++(n < talk.known ? untold[participant] : maybe[participant]);
        }
      }
    } else if (!thread.is_closed() &&
               (asked || talk.closed ||
                (time_passes && is_over(talk) && pending.empty() && !goes_on))) {
      fail(Check::thread, step, text("{} is open and should be closed", name));
    }
    talk.overdue = talk.overdue || (time_passes && is_over(talk));
    talk.known = talk.participants.size();
    coverage_.count("thread", core::state_name(thread.state()));
  }
  for (const Fact& fact : step.facts) {
    if (fact.kind == Fact::Kind::owed && fact.outbox_kind == core::OutboxKind::thread_closed) {
      --untold[fact.receiver];
    }
  }
  const bool comparable = done<core::Unregister>(step) == nullptr;  // those who go hear nothing
  for (const auto& [name, told] : untold) {
    const int count = told - summed_up(name, core::OutboxKind::thread_closed);
    if (comparable && (count > 0 || count + maybe[name] < 0)) {
      fail(Check::thread, step, text("{} is told of {} closed threads too few", name, count));
    }
  }
}

// What is gone from the tables is old, or there were too many; nothing waits in it.
void Ledger::forget_talks(const Step& step) {
  const core::Threads& threads = step.after.tables().threads;
  for (auto at = talks_.begin(); at != talks_.end();) {
    if (threads.find(at->first) != core::none) {
      ++at;
      continue;
    }
    const bool over = threads.size() >= rules_.threads_max ||
                      rules_.thread_retention.us <= (now_ - at->second.created).us;
    if (!over || !pending_in(at->first).empty()) {
      fail(Check::thread, step, text("thread {} vanished", at->first));
    }
    coverage_.count("thread", "forgotten");
    at = talks_.erase(at);
  }
  if (threads.size() != talks_.size()) {
    fail(Check::thread, step,
         text("{} threads are kept, told of {}", threads.size(), talks_.size()));
  }
}

}  // namespace parley::sim
