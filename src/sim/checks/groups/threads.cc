// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/threads.h"

#include <algorithm>

#include "sim/checks/delivery/shares.h"
#include "sim/checks/groups/tasks.h"
#include "sim/checks/delivery/receivers.h"
#include "sim/text.h"

namespace parley::sim {

void ThreadChecks::learn(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const bool accepted = step.outcome && !step.outcome->duplicate;
  if (e.thread.empty() || e.sender == core::broker_sender ||
      (step.outcome && step.outcome->duplicate)) {
    return;
  }
  const auto at = threads_.find(std::string(e.thread));
  if (at != threads_.end() && !joins(step, e, at->second)) {
    if (!step.outcome && (step.outcome.error().code == base::Code::thread_full ||
                          step.outcome.error().code == base::Code::thread_closed)) {
      model_.fail(Check::thread, step, text("a stranger hears how {} stands", e.thread));
    }
    if (accepted) {
      apart_.insert(step.entry.seq);
      model_.coverage.count("thread", "apart");
    }
    return;
  }
  const bool exempt = answers_.answers_request(e) || step.entry.actor == core::broker_name;
  const auto sender = model_.principals.find(std::string(e.sender));
  const bool flow =
      sender == model_.principals.end() || sender->second.dialect == core::Dialect::flow;
  const bool full = at != threads_.end() && at->second.messages >= model_.rules.thread_messages_max;
  const bool over = at != threads_.end() && (at->second.closed || is_over(at->second));
  const base::Code code = step.outcome ? base::Code::bad_request : step.outcome.error().code;
  if ((code == base::Code::thread_full && (!flow || !full || exempt)) ||
      (code == base::Code::thread_closed && (!over || exempt))) {
    model_.fail(Check::thread, step, text("may be said in {}, and is refused", e.thread));
  }
  if (accepted && flow && !exempt && (full || over)) {
    model_.fail(Check::thread, step, text("is said in {}, which is full or closed", e.thread));
  }
  if (!accepted) {
    return;
  }
  add_message(step, e, flow);
}

// Nobody joins by its own word: who takes part was written to, or asked, in it. People may always,
// and anyone where all heard of it.
bool ThreadChecks::joins(const Step& step, const core::Envelope& e, const Thread& thread) const {
  const auto sender = model_.principals.find(std::string(e.sender));
  const bool is_person =
      sender != model_.principals.end() && sender->second.kind != core::PrincipalKind::agent;
  if (thread.is_public || is_person ||
      thread.participants.size() >= model_.rules.thread_participants_max ||
      takes_part(thread, std::string(e.sender))) {
    return true;
  }
  // What was asked of it, or its task, may end with this very entry, before the message or after
  // it: only the tables know.
  const core::Threads& threads = step.after.tables().threads;
  const core::ThreadRef ref = threads.find(e.thread);
  const bool is_counted = ref != core::none && threads[ref].messages > thread.messages;
  const bool is_limited = !step.outcome && (step.outcome.error().code == base::Code::thread_full ||
                                            step.outcome.error().code == base::Code::thread_closed);
  return stands_in(e, thread) && (is_counted || is_limited);
}

bool ThreadChecks::takes_part(const Thread& thread, const std::string& name) {
  return std::ranges::find(thread.participants, name) != thread.participants.end();
}

// Whether the sender got a request of the thread, or one of its tasks, in the place of another.
bool ThreadChecks::stands_in(const core::Envelope& e, const Thread& thread) const {
  const bool was_asked = std::ranges::any_of(pending_in(std::string(e.thread)), [&](Seq seq) {
    const SentMessage& request = model_.messages.at(seq);
    return request.id == e.in_reply_to && find_delivery(request, std::string(e.sender)) != nullptr;
  });
  return was_asked || std::ranges::any_of(model_.tasks, [&](const auto& item) {
           const auto& [director, id, in] = item.first;
           return id == e.task && in == e.thread && item.second.specialist == e.sender &&
                  takes_part(thread, director);
         });
}

bool ThreadChecks::is_direct(const core::Envelope& e) const {
  return model_.topic_of(e).empty() && e.receivers.front() != "*";
}

void ThreadChecks::add_message(const Step& step, const core::Envelope& e, bool ages) {
  Thread& thread = threads_[std::string(e.thread)];
  if (thread.messages++ == 0) {
    thread.root = step.entry.seq;
    thread.created = model_.now;
    thread.ages = ages;
  }
  const auto take_part = [&](const std::string& name) {
    if (std::ranges::find(thread.participants, name) == thread.participants.end() &&
        thread.participants.size() < model_.rules.thread_participants_max) {
      thread.participants.push_back(name);
    }
  };
  take_part(std::string(e.sender));
  const bool direct = is_direct(e);
  thread.is_public = thread.is_public || !direct;
  for (const std::string_view receiver : e.receivers) {
    if (direct && model_.is_registered(std::string(receiver))) {
      take_part(reached_by(step, std::string(receiver)));
    }
  }
  for (const std::string& name : people_besides(model_, step, e)) {
    take_part(name);
  }
}

// The agent that got this entry's message in the place of `named`, who is away; else that one
// itself. Only the tables know. ReceiverChecks asks whether it may be.
std::string ThreadChecks::reached_by(const Step& step, const std::string& named) const {
  const core::Tables& t = step.after.tables();
  for (const auto& [ref, away] : t.messages.notes.redirected()) {
    if (away == named && t.messages.message_of(ref).seq == step.entry.seq) {
      return t.agents[t.messages.delivery(ref).receiver].name;
    }
  }
  return named;
}

void ThreadChecks::check(const Step& step) {
  const auto* const send = done<core::Send>(step);
  const std::set<Seq> before =
      send == nullptr ? std::set<Seq>{} : pending_in(std::string(send->envelope.thread));
  end_requests();
  Notices notices;
  for (auto& [name, thread] : threads_) {
    check_thread(step, name, thread, before, notices);
  }
  check_notices(step, notices);
}

void ThreadChecks::check_thread(const Step& step, const std::string& name, Thread& thread,
                                const std::set<Seq>& pending_before, Notices& notices) {
  const core::Threads& threads = step.after.tables().threads;
  const core::ThreadRef ref = threads.find(name);
  if (ref == core::none) {
    // `forget` asks why it is gone. It may have been closed just before.
    for (const std::string& participant : thread.participants) {
      ++notices.possible[participant];
    }
    return;
  }
  const core::Thread& actual = threads[ref];
  std::set<Seq> pending = pending_in(name);
  if (actual.messages != thread.messages || actual.root != thread.root ||
      actual.pending != pending.size()) {
    model_.fail(Check::thread, step,
                text("{} says {} messages and {} pending, has {} and {}", name, actual.messages,
                     actual.pending, thread.messages, pending.size()));
  }
  const bool goes_on =
      pending.erase(step.entry.seq) > 0 && std::ranges::any_of(pending_before, [&](Seq seq) {
        return seq != step.entry.seq && !pending.contains(seq) && is_replaced(step, seq);
      });
  const bool may_age = may_close_by_age(step, actual, thread);
  const auto* const close = done<core::CloseThread>(step);
  const bool is_asked = close != nullptr && close->thread == name;
  if (actual.is_closed() && !thread.closed) {
    // Time passes first, so the command that closes it may find it closed by age: all are told
    // then.
    const bool by_command = is_asked && actual.closed_by == step.entry.actor;
    if (!by_command && (!is_over(thread) || !pending.empty())) {
      model_.fail(Check::thread, step, text("{} is closed too early", name));
    }
    on_closed(step, thread, by_command, notices);
  } else if (!actual.is_closed() && (is_asked || thread.closed ||
                                     (may_age && is_over(thread) && pending.empty() && !goes_on))) {
    model_.fail(Check::thread, step, text("{} is open and should be closed", name));
  }
  thread.overdue = thread.overdue || (may_age && is_over(thread));
  thread.known = thread.participants.size();
  model_.coverage.count("thread", core::thread_state_words[actual.state()]);
}

// The core closes threads at whole seconds. A tick before that, which came for another reason or
// after the rules changed, need not close the thread.
bool ThreadChecks::may_close_by_age(const Step& step, const core::Thread& actual,
                                    const Thread& thread) const {
  const bool is_tick = std::holds_alternative<core::Tick>(step.entry.command);
  const bool rests =
      is_tick && !thread.overdue &&
      thread.created + model_.rules.thread_duration_max + base::seconds(1) > model_.now;
  return passes_time(step) && (!rests || actual.overdue);
}

void ThreadChecks::on_closed(const Step& step, Thread& thread, bool by_command, Notices& notices) {
  thread.closed = true;
  model_.coverage.count("thread", by_command ? "closed by someone" : "closed by age");
  // An agent that came with this very entry came before the thread was closed, or after.
  const auto root = model_.messages.find(thread.root);
  for (size_t n = 0; n < thread.participants.size(); ++n) {
    const std::string& participant = thread.participants[n];
    if (model_.is_registered(participant) && !(by_command && participant == step.entry.actor)) {
      // Whose name a former one had, which began the thread, is not told.
      const bool is_namesake = root != model_.messages.end() &&
                               root->second.sender == participant &&
                               !model_.was_sender(participant, thread.root);
      const bool is_due = n < thread.known && !is_namesake;
      ++(is_due ? notices.due[participant] : notices.possible[participant]);
    }
  }
}

void ThreadChecks::check_notices(const Step& step, Notices& notices) {
  for (const NamedEffect& effect : step.effects) {
    if (effect.kind == NamedEffect::Kind::owed &&
        effect.outbox_kind == core::OutboxKind::thread_closed) {
      --notices.due[effect.receiver];
    }
  }
  if (done<core::Unregister>(step) != nullptr) {
    return;  // An agent that is removed is not told.
  }
  for (const auto& [name, due] : notices.due) {
    const int count = due - model_.outbox.summed_up(name, core::OutboxKind::thread_closed);
    if (count > 0 || count + notices.possible[name] < 0) {
      model_.fail(Check::thread, step,
                  text("{} is told of {} closed threads too few", name, count));
    }
  }
}

// A thread leaves the tables when it is old or there are too many, and nothing waits in it.
void ThreadChecks::forget(const Step& step) {
  const core::Threads& threads = step.after.tables().threads;
  std::erase_if(apart_, [this](Seq seq) { return !model_.messages.contains(seq); });
  Holdings holdings;
  for (const auto standing : {core::Threads::Standing::closed, core::Threads::Standing::idle}) {
    for (core::ThreadRef ref = threads.first(standing); ref != core::none;
         ref = threads.next(ref)) {
      ++holdings.kept[step.after.tables().agents[threads[ref].owner()].name];
    }
  }
  for (auto at = threads_.begin(); at != threads_.end();) {
    if (threads.find(at->first) != core::none) {
      ++at;
      continue;
    }
    const bool is_old = model_.rules.thread_retention.us <= (model_.now - at->second.created).us;
    const bool over = is_old || threads.size() >= model_.rules.threads_max;
    if (!is_old) {
      ++holdings.gone[at->second.participants.front()];
    }
    if (!over || !pending_in(at->first).empty()) {
      model_.fail(Check::thread, step, text("thread {} vanished", at->first));
    }
    model_.coverage.count("thread", "forgotten");
    at = threads_.erase(at);
  }
  if (threads.size() != threads_.size()) {
    model_.fail(Check::thread, step,
                text("{} threads are kept, told of {}", threads.size(), threads_.size()));
  }
  check_fair(model_, step, "a thread", holdings);
}

// Ends what a thread waits for: a request that is answered, has failed or has timed out.
void ThreadChecks::end_requests() {
  for (auto& [seq, sent] : model_.messages) {
    const auto pipeline = model_.pipelines.find(seq);
    const bool waits_to_begin = pipeline != model_.pipelines.end() && pipeline->second.asked == 0;
    const bool is_waited_for =
        model_.requests.contains(seq) || model_.scatters.contains(seq) || waits_to_begin;
    sent.asks =
        sent.asks && (sent.waits_by_rule ? is_waited_for : !sent.is_final() && !sent.answered);
  }
}

// True when the request ends because this entry's message, which is pending already, takes its
// place: its task was given in other words, or its pipeline waited for a busy stage and begins.
bool ThreadChecks::is_replaced(const Step& step, Seq former) const {
  const auto pipeline = model_.pipelines.find(former);
  return (pipeline != model_.pipelines.end() && pipeline->second.message == step.entry.seq) ||
         std::ranges::any_of(model_.messages.at(former).deliveries, [&](const Delivery& delivery) {
           return is_superseded(model_, step, former, delivery.receiver);
         });
}

bool ThreadChecks::is_over(const Thread& thread) const {
  return thread.overdue ||
         (thread.ages && thread.created + model_.rules.thread_duration_max <= model_.now);
}

// The requests in a thread that wait for an answer.
std::set<Seq> ThreadChecks::pending_in(const std::string& thread) const {
  std::set<Seq> pending;
  for (const auto& [seq, sent] : model_.messages) {
    if (sent.asks && sent.thread == thread && !apart_.contains(seq)) {
      pending.insert(seq);
    }
  }
  return pending;
}

}  // namespace parley::sim
