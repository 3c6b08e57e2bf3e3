// SPDX-License-Identifier: Apache-2.0
// What sends, answers, time and commands do to threads.
#include <algorithm>
#include <utility>

#include "core/machine/checks.h"
#include "core/machine/workspace.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

// Ends a refusal: how the conversation goes on elsewhere, and is found again.
std::string linked(const Thread& thread) {
  return "; go on in a new conversation_id with metadata.correlation_id " +
         quoted_start(thread.correlations.empty() ? thread.name : thread.correlations.front()) +
         ", by which both are found";
}

std::unexpected<Error> refuse_closed(const Thread& thread) {
  std::string detail = "thread " + quoted_start(thread.name);
  if (!thread.is_closed()) {
    detail += " is older than it may be and closes when its pending requests have ended";
  } else {
    detail += " was closed " +
              (thread.closed_by.empty() ? std::string("by its age (thread_duration_max)")
                                        : "by " + quoted_start(thread.closed_by)) +
              " at " + base::format_time(thread.closed);
  }
  return std::unexpected(Error{Code::thread_closed, detail + linked(thread), "/conversation_id"});
}

}  // namespace

// Who joins speaks to one who takes part: a stranger who knows no more than its name may neither
// see the thread nor fill it behind their backs. People may always have a word. Of a crowd the
// engine does not know all.
bool Workspace::may_join(const Asking& turn, const Thread& thread, const Route& route) const {
  const auto takes_part = [&](AgentRef agent) {
    return std::ranges::find(thread.participants, agent) != thread.participants.end();
  };
  return thread.is_public || t_.agents[turn.actor].kind != PrincipalKind::agent ||
         thread.participants.size() >= t_.rules.thread_participants_max || takes_part(turn.actor) ||
         (!route.everyone && std::ranges::any_of(route.agents, takes_part));
}

// The thread that a message goes into, none where it has no name or begins one; or why it may not.
// Flow has limits for its agents, however they write; whoever answers a request is heard all the
// same, and so is the broker.
std::expected<ThreadRef, Error> Workspace::find_thread(const Asking& turn, const Envelope& e,
                                                       const Route& route) const {
  const ThreadRef ref = e.thread.empty() ? none : t_.threads.find(e.thread);
  if (e.thread.empty() || turn.actor == none || turn.answers) {
    return ref;
  }
  if (ref == none) {
    if (t_.threads.count(Threads::Standing::active) >= t_.rules.threads_max) {
      return std::unexpected(
          Error{Code::limit_reached,
                "the workspace has " + std::to_string(t_.rules.threads_max) +
                    " threads with a pending request (threads_max); answer some, or raise it",
                "/conversation_id"});
    }
    return ref;
  }
  const Thread& thread = t_.threads[ref];
  if (!may_join(turn, thread, route)) {
    return std::unexpected(Error{Code::forbidden,
                                 "the conversation " + quoted_start(thread.name) +
                                     " is between others; write to one who takes part, or begin "
                                     "one of your own with another conversation_id",
                                 "/conversation_id"});
  }
  const bool has_limits = t_.agents[turn.actor].dialect == Dialect::flow;
  const Time age_end = thread.created + t_.rules.thread_duration_max;
  const bool is_over = thread.overdue || (thread.ages && age_end <= turn.now());
  if ((thread.is_closed() && (has_limits || !thread.closed_by.empty())) ||
      (has_limits && is_over)) {
    return refuse_closed(thread);
  }
  if (has_limits && thread.messages >= t_.rules.thread_messages_max) {
    return std::unexpected(
        Error{Code::thread_full,
              "thread " + quoted_start(thread.name) + " has " + std::to_string(thread.messages) +
                  " messages (thread_messages_max " + std::to_string(t_.rules.thread_messages_max) +
                  ")" + linked(thread),
              "/conversation_id"});
  }
  return ref;
}

// Writes the accepted message down in its thread, which begins with it where there was none. The
// direct receivers of a message take part; those of a topic or of everyone's only listen.
void Workspace::enter_thread(ThreadRef ref, const Envelope& e, const Route& route,
                             MessageRef message_ref) {
  Message& message = t_.messages.message(message_ref);
  if (e.thread.empty() || message.is_own) {
    return;
  }
  if (ref == none) {
    Thread begun;
    begun.name = e.thread;
    begun.root = message.seq;
    begun.root_id = message.id;
    begun.created = t_.now;
    begun.closed = base::time_max;
    begun.ages = t_.agents[message.sender].dialect == Dialect::flow;
    ref = t_.threads.add(std::move(begun));
  }
  Thread& thread = t_.threads[ref];
  ++thread.messages;
  t_.threads.touch(ref, t_.now);
  const auto take_part = [&](AgentRef agent) {
    if (std::ranges::find(thread.participants, agent) == thread.participants.end() &&
        thread.participants.size() < t_.rules.thread_participants_max) {
      thread.participants.push_back(agent);
      t_.agents.use(agent);
    }
  };
  take_part(message.sender);
  if (!route.everyone && route.topic.empty()) {
    std::ranges::for_each(route.agents, take_part);
  } else {
    thread.is_public = true;
  }
  if (!e.correlation.empty() && e.correlation.size() <= thread_name_bytes_max &&
      thread.correlations.size() < t_.rules.thread_correlations_max &&
      std::ranges::find(thread.correlations, e.correlation) == thread.correlations.end()) {
    thread.correlations.emplace_back(e.correlation);
  }
  if (asks(e.kind) && (message.open > 0 || message.watched)) {
    message.thread = ref;
    t_.threads.open_request(ref);
  }
}

std::expected<ThreadRef, Error> thread_to_close(const Tables& t, const Claimant& claimant,
                                                const CloseThread& command) {
  const ThreadRef ref = t.threads.find(command.thread);
  const bool takes_part =
      ref != none && std::ranges::find(t.threads[ref].participants, claimant.actor) !=
                         t.threads[ref].participants.end();
  if (ref == none || (!takes_part && !claimant.is_maintainer)) {
    return std::unexpected(Error{Code::not_found,
                                 "you have no open thread " + quoted_start(command.thread) +
                                     "; old ones are closed, and only the history knows them",
                                 {}});
  }
  const Thread& thread = t.threads[ref];
  if (thread.owner() != claimant.actor && !claimant.is_maintainer) {
    return std::unexpected(Error{Code::forbidden,
                                 "only " + quoted_start(t.agents[thread.owner()].name) +
                                     ", who began the thread, may close it, or a maintainer",
                                 {}});
  }
  return ref;
}

Outcome Workspace::on(Turn& turn, const CloseThread& command) {
  const auto ref = thread_to_close(
      t_, {turn.actor, may_administer(turn, Right::maintainer).has_value()}, command);
  if (!ref) {
    return std::unexpected(ref.error());
  }
  const Thread& thread = t_.threads[*ref];
  if (!thread.is_closed()) {
    turn.dispatch.close_thread(*ref, turn.actor);
  }
  return Receipt{.message = thread.root, .count = thread.messages};
}

void Dispatch::close_thread(ThreadRef ref, AgentRef by) {
  t_.threads.close(ref, by == none ? std::string_view{} : t_.agents[by].name, t_.now);
  const Thread& thread = t_.threads[ref];
  // An old root is only in the history; the facts name the thread.
  const Seq root = t_.messages.find(thread.root) == none ? Seq{} : thread.root;
  for (const AgentRef participant : thread.participants) {
    if (participant != by) {
      owe({.kind = OutboxKind::thread_closed,
           .to = t_.agents[participant].name,
           .about = root,
           .priority = Priority::low,
           .facts = {{"thread", thread.name},
                     {"closed_by", by == none ? "system" : t_.agents[by].name},
                     {"owner", t_.agents[thread.owner()].name},
                     {"messages", int64_t{thread.messages}},
                     {"began", thread.created}}});
    }
  }
}

void Dispatch::end_request(MessageRef ref) {
  const ThreadRef thread = std::exchange(t_.messages.message(ref).thread, none);
  if (thread == none) {
    return;
  }
  t_.threads.end_request(thread, t_.now);
  if (t_.threads[thread].overdue && t_.threads[thread].pending == 0 &&
      !t_.threads[thread].is_closed()) {
    close_thread(thread, none);
  }
}

void Dispatch::close_old_threads() {
  for (size_t n = 0; n < due_max; ++n) {
    const ThreadRef ref = t_.threads.oldest();
    if (ref == none || t_.threads[ref].created + t_.rules.thread_duration_max > t_.now) {
      return;
    }
    if (t_.threads[ref].pending > 0) {
      t_.threads.set_overdue(ref);
    } else {
      close_thread(ref, none);
    }
  }
}

// Those that are closed go first, then those in which nobody waits for anything. One with a pending
// request stays.
void Dispatch::forget_threads() {
  for (size_t n = 0; n < due_max; ++n) {
    const ThreadRef closed = t_.threads.first(Threads::Standing::closed);
    const ThreadRef idle = t_.threads.first(Threads::Standing::idle);
    const auto is_old = [this](ThreadRef ref) {
      return ref != none && t_.threads[ref].changed + t_.rules.thread_retention <= t_.now;
    };
    const bool too_many = t_.threads.size() > t_.rules.threads_max;
    const ThreadRef gone = too_many         ? (closed != none ? closed : idle)
                           : is_old(closed) ? closed
                           : is_old(idle)   ? idle
                                            : none;
    if (gone == none) {
      return;
    }
    for (const AgentRef agent : t_.threads[gone].participants) {
      t_.agents.release(agent);
    }
    t_.threads.remove(gone);
  }
}

}  // namespace parley::core
