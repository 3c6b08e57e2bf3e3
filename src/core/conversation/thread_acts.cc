// SPDX-License-Identifier: Apache-2.0
// What sends, answers, time and commands do to threads.
#include "core/conversation/thread_acts.h"

#include <algorithm>
#include <utility>

#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"

namespace parley::core {

namespace {

using base::Code;

// A message that the thread does not take. Says how the conversation goes on elsewhere, and is
// found again.
std::unexpected<Error> refuse_in(const Thread& thread, Code code, std::string detail) {
  Error error{code, std::move(detail), "/conversation_id"};
  error.remedy =
      "go on in a new conversation_id with metadata.correlation_id " +
      quoted_start(thread.correlations.empty() ? thread.name : thread.correlations.front()) +
      ", by which both are found";
  return std::unexpected(std::move(error));
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
  return refuse_in(thread, Code::thread_closed, std::move(detail));
}

bool takes_part(const Thread& thread, AgentRef agent) {
  return std::ranges::find(thread.participants, agent) != thread.participants.end();
}

// Whether one who takes part gave the sender the task that it writes of, in this thread. A task
// that was reassigned comes to one to whom nobody has written.
bool has_task_in(const Tables& t, const Thread& thread, AgentRef sender, const Envelope& e) {
  return !e.task.empty() &&
         std::ranges::any_of(
             t.tasks.in_thread(e.task, e.thread, t.agents[sender].name), [&](const Task* task) {
               return takes_part(thread, t.agents.find(task->director));
             });
}

// Nobody joins by its own word: who knows no more than a thread's name may neither see it nor fill
// it, also not by writing to those who take part. One of them writes to a newcomer, who takes part
// then; or the newcomer was asked in it, or has a task of it, in another's place. People may always
// have a word. Of a crowd the engine does not know all.
bool may_join(const Tables& t, ThreadRef ref, AgentRef sender, const Envelope& e,
              MessageRef question) {
  const Thread& thread = t.threads[ref];
  return thread.is_public || takes_part(thread, sender) ||
         t.agents[sender].kind == PrincipalKind::human ||
         t.agents[sender].kind == PrincipalKind::admin ||
         thread.participants.size() >= t.rules.thread_participants_max ||
         (question != none && t.messages.message(question).thread == ref) ||
         has_task_in(t, thread, sender, e);
}

// A principal with many threads in which a request is pending must leave room for those of others.
// `place` is where the message goes: a thread that would be another of them, or none yet.
std::expected<ThreadPlace, Error> within_share(const ConstContext& context, ThreadPlace place) {
  const Tables& t = context.t;
  const size_t active = t.threads.active_of(t.agents[context.actor].name);
  if (active < share_of(t.rules, t.rules.threads_max)) {
    return place;
  }
  return refuse_share("you have " + std::to_string(active) + " threads with a pending request",
                      "threads_max", "wait until some are answered", "/conversation_id");
}

void close_thread(Dispatch& dispatch, ThreadRef ref, AgentRef by) {
  Tables& t = dispatch.t;
  t.threads.close(ref, by == none ? std::string_view{} : t.agents[by].name, t.now);
  const Thread& thread = t.threads[ref];
  // An old root is only in the history; the facts name the thread.
  const Seq root = t.messages.find(thread.root) == none ? Seq{} : thread.root;
  for (const AgentRef participant : thread.participants) {
    if (participant != by) {
      owe(dispatch, {.kind = OutboxKind::thread_closed,
                     .to = t.agents[participant].name,
                     .about = root,
                     .priority = Priority::low,
                     .facts = {{"thread", thread.name},
                               {"closed_by", std::string(by_whom(thread.closed_by))},
                               {"owner", t.agents[thread.owner()].name},
                               {"messages", int64_t{thread.messages}},
                               {"began", thread.created}}});
    }
  }
}

std::expected<ThreadRef, Error> thread_to_close(const ConstContext& context,
                                                const CloseThread& command) {
  const Tables& t = context.t;
  const ThreadRef ref = t.threads.find(command.thread);
  const bool is_in = ref != none && takes_part(t.threads[ref], context.actor);
  if (ref == none || (!is_in && !is_maintainer(context))) {
    return std::unexpected(Error{Code::not_found,
                                 "you have no open thread " + quoted_start(command.thread) +
                                     "; old ones are closed, and only the history knows them",
                                 {}});
  }
  const Thread& thread = t.threads[ref];
  if (thread.owner() != context.actor && !is_maintainer(context)) {
    return std::unexpected(Error{Code::forbidden,
                                 "only " + quoted_start(t.agents[thread.owner()].name) +
                                     ", who began the thread, may close it, or a maintainer",
                                 {}});
  }
  return ref;
}

}  // namespace

// Flow has limits for its agents, however they write; whoever answers a request is heard all the
// same, and so is the broker. A pipeline's later stages, which a node sends, speak for its owner.
std::expected<ThreadPlace, Error> find_thread(const ConstContext& context, const Envelope& e,
                                              MessageRef question) {
  const Tables& t = context.t;
  ThreadPlace place{.thread = e.thread.empty() ? none : t.threads.find(e.thread)};
  const AgentRef sender = context.actor == none ? t.agents.find(e.sender) : context.actor;
  if (place.thread != none && sender != none && e.sender != broker_sender &&
      !may_join(t, place.thread, sender, e, question)) {
    return ThreadPlace{.is_apart = true};
  }
  if (e.thread.empty() || context.actor == none || context.answers) {
    return place;
  }
  if (place.thread == none) {
    if (t.threads.count(Threads::Standing::active) >= t.rules.threads_max) {
      return std::unexpected(
          Error{Code::limit_reached,
                "the workspace has " + std::to_string(t.rules.threads_max) +
                    " threads with a pending request (threads_max); answer some, or raise it",
                "/conversation_id"});
    }
    return within_share(context, place);
  }
  const Thread& thread = t.threads[place.thread];
  const bool has_limits = policy_of(t.agents[context.actor].dialect).has_thread_limits;
  const Time age_end = thread.created + t.rules.thread_duration_max;
  const bool is_over = thread.overdue || (thread.ages && age_end <= context.now());
  if ((thread.is_closed() && (has_limits || !thread.closed_by.empty())) ||
      (has_limits && is_over)) {
    return refuse_closed(thread);
  }
  if (has_limits && thread.messages >= t.rules.thread_messages_max) {
    return refuse_in(thread, Code::thread_full,
                     "thread " + quoted_start(thread.name) + " has " +
                         std::to_string(thread.messages) + " messages (thread_messages_max " +
                         std::to_string(t.rules.thread_messages_max) + ")");
  }
  if (asks(e.kind) && thread.pending == 0 && thread.owner() == context.actor) {
    return within_share(context, place);
  }
  return place;
}

// The direct receivers of a message take part; those of a topic or of everyone's only listen.
void enter_thread(Tables& t, const ThreadPlace& place, const Envelope& e, const Route& route,
                  MessageRef message_ref) {
  Message& message = t.messages.message(message_ref);
  if (e.thread.empty() || message.is_own || place.is_apart) {
    return;
  }
  ThreadRef ref = place.thread;
  if (ref == none) {
    Thread begun;
    begun.name = e.thread;
    begun.root = message.seq;
    begun.root_id = message.id;
    begun.created = t.now;
    begun.closed = base::time_max;
    begun.owner_name = t.agents[message.sender].name;
    begun.ages = policy_of(t.agents[message.sender].dialect).has_thread_limits;
    ref = t.threads.add(std::move(begun));
  }
  Thread& thread = t.threads[ref];
  ++thread.messages;
  t.threads.touch(ref, t.now);
  const auto take_part = [&](AgentRef agent) {
    if (!takes_part(thread, agent) &&
        thread.participants.size() < t.rules.thread_participants_max) {
      t.threads.join(ref, agent);
      t.agents.use(agent);
    }
  };
  take_part(message.sender);
  if (!route.everyone && route.topic.empty()) {
    std::ranges::for_each(route.agents, take_part);
  } else {
    thread.is_public = true;
  }
  if (!e.correlation.empty() && e.correlation.size() <= thread_name_bytes_max &&
      thread.correlations.size() < t.rules.thread_correlations_max &&
      std::ranges::find(thread.correlations, e.correlation) == thread.correlations.end()) {
    thread.correlations.emplace_back(e.correlation);
  }
  if (asks(e.kind) && (message.open > 0 || message.watched)) {
    message.thread = ref;
    t.threads.open_request(ref);
  }
}

Checked check(const ConstContext& context, const CloseThread& command) {
  return checked(thread_to_close(context, command));
}

Outcome on(Context& context, const CloseThread& command) {
  Tables& t = context.t;
  const auto ref = thread_to_close(context, command);
  if (!ref) {
    return std::unexpected(ref.error());
  }
  const Thread& thread = t.threads[*ref];
  if (!thread.is_closed()) {
    close_thread(context.dispatch, *ref, context.actor);
  }
  return Receipt{.message = thread.root, .count = thread.messages};
}

void end_thread_request(Dispatch& dispatch, MessageRef ref) {
  Tables& t = dispatch.t;
  const ThreadRef thread = std::exchange(t.messages.message(ref).thread, none);
  if (thread == none) {
    return;
  }
  t.threads.end_request(thread, t.now);
  if (t.threads[thread].overdue && t.threads[thread].pending == 0 &&
      !t.threads[thread].is_closed()) {
    close_thread(dispatch, thread, none);
  }
}

Time next_thread_end(const Tables& t) {
  const ThreadRef oldest = t.threads.oldest();
  return oldest == none ? base::time_max : t.threads[oldest].created + t.rules.thread_duration_max;
}

Time threads_due(const Tables& t) {
  return base::next_multiple(next_thread_end(t), base::seconds(1));
}

void advance_threads(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && next_thread_end(t) <= t.now; ++n) {
    const ThreadRef ref = t.threads.oldest();
    if (t.threads[ref].pending > 0) {
      t.threads.set_overdue(ref);
    } else {
      close_thread(dispatch, ref, none);
    }
  }
}

// Until when the thread is kept that came first to this standing; time_max: there is none.
static Time kept_until(const Tables& t, ThreadRef ref) {
  return ref == none ? base::time_max : t.threads[ref].changed + t.rules.thread_retention;
}

Time old_threads_due(const Tables& t) {
  const Time first = std::min(kept_until(t, t.threads.first(Threads::Standing::closed)),
                              kept_until(t, t.threads.first(Threads::Standing::idle)));
  return base::next_multiple(first, base::minutes(1));
}

// Whether one owner has more than its share in which nothing is pending: also where there is room
// for them, what one principal costs has a bound. That is no matter in a small table.
static bool holds_too_many(const Tables& t) {
  return t.threads.most_resting() >
         std::max(share_of(t.rules, t.rules.threads_max), share_of_done_min);
}

// Those that are old; and of too many one of the owner that holds most. One with a pending request
// stays.
void forget_threads(Tables& t) {
  for (size_t n = 0; n < due_max; ++n) {
    const ThreadRef closed = t.threads.first(Threads::Standing::closed);
    const ThreadRef idle = t.threads.first(Threads::Standing::idle);
    const bool too_many = t.threads.size() > t.rules.threads_max || holds_too_many(t);
    const ThreadRef gone = kept_until(t, closed) <= t.now ? closed
                           : kept_until(t, idle) <= t.now ? idle
                           : too_many                     ? t.threads.first_of_most()
                                                          : none;
    if (gone == none) {
      return;
    }
    for (const AgentRef agent : t.threads[gone].participants) {
      t.agents.release(agent);
    }
    t.threads.remove(gone);
  }
}

}  // namespace parley::core
