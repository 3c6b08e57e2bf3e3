// SPDX-License-Identifier: Apache-2.0
// Who may give work to whom, and what messages and commands do to tasks.
#include "core/conversation/task_acts.h"

#include <algorithm>
#include <functional>

#include "core/agents/hub.h"
#include "core/conversation/thread_acts.h"
#include "core/dead_letters/dead_letter_retry.h"
#include "core/delivery/forgetting.h"
#include "core/humans/held.h"
#include "core/limits/size_limit.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/deadlock.h"
#include "core/requests/requests.h"
#include "core/requests/watching.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr std::string_view director = "director";

constexpr std::string_view specialist = "specialist";

bool has_task_role(const Agent& agent) {
  return agent.kind == PrincipalKind::agent && policy_of(agent.dialect).has_task_roles;
}

// Who speaks another dialect counts as a director, but for those who direct no one there either.
bool directs_no_one(const Agent& agent) {
  return !directs(agent.dialect, agent.role);
}

// Hands work over. A query that names no task only asks: anyone may, and no task comes of it.
bool gives_work(const Envelope& e) {
  return asks(e.kind) && (e.kind != Kind::query || !e.task.empty());
}

// What its sender reports as done.
bool is_result(const Envelope& e) {
  return e.type == "result" || (e.kind == Kind::response && e.status != Status::error);
}

bool is_error(const Envelope& e) { return e.type == "error" || e.status == Status::error; }

// An agent without a role is none that the rules know: it is warned of, and let through.
bool has_other_role(const Agent& agent, std::string_view wanted) {
  return !agent.role.empty() && agent.role != wanted;
}

std::string with_article(std::string_view noun) {
  const bool vowel = std::string_view("aeiou").find(noun.front()) != std::string_view::npos;
  return std::string(vowel ? "an " : "a ").append(noun);
}

std::unexpected<Error> refuse_role(std::string_view what, const Agent& agent,
                                   std::string_view wanted, std::string field) {
  return refuse(Code::role_forbidden,
                std::string(what) + "; " + quoted(agent.name) + " is " + with_article(agent.role) +
                    ", and " + with_article(wanted) + " is wanted",
                std::move(field));
}

TaskState state_of(Status status) {
  switch (status) {
    case Status::unset:
    case Status::success:
      return TaskState::completed;
    case Status::partial:
      return TaskState::partial;
    case Status::declined:
      return TaskState::blocked;
    case Status::error:
      return TaskState::failed;
  }
  return TaskState::completed;
}

// Which of these is meant? Names a few, and says how to name any.
Error several(std::string_view name, const std::vector<const Task*>& tasks) {
  constexpr size_t named_max = 8;
  const bool of_one = std::ranges::all_of(
      tasks, [&](const Task* task) { return task->director == tasks.front()->director; });
  std::string choices;
  for (size_t n = 0; n < tasks.size() && n < named_max; ++n) {
    choices += (n == 0 ? "" : ", ") + quoted(tasks[n]->director) + " in thread " +
               quoted(tasks[n]->thread);
  }
  choices += tasks.size() > named_max ? ", and more" : "";
  return Error{
      Code::conflict,
      (of_one ? std::string("several threads have a task ")
              : std::string("several directors have given a task ")) +
          quoted_start(name) + " that is not completed, by " + choices +
          "; name the one you mean by its " +
          (of_one ? "`thread`" : "`director`, and by its `thread` too where that gave several") +
          ", as GET /v1/tasks lists them",
      of_one ? "/thread" : "/director"};
}

// The name of the task that a request gives: the sender's, else, to one who gets tasks by its role,
// its id.
std::string task_name(const Envelope& e, const Agent& receiver) {
  if (!e.task.empty()) {
    return std::string(e.task);
  }
  if (!policy_of(receiver.dialect).has_task_roles) {
    return {};
  }
  return e.native_id.empty() ? base::format_uuid(e.id) : std::string(e.native_id);
}

// What it answers was asked of it without a task: the answer may go to anyone, too.
bool answers_question(const ConstContext& context, const Envelope& e) {
  const Tables& t = context.t;
  const MessageRef asked =
      e.kind != Kind::response ? none : t.messages.find_received(context.actor, e.in_reply_to);
  return asked != none && t.messages.message(asked).kind == Kind::query &&
         !t.messages.message(asked).is_task;
}

// The task stands so from now on; `by` whom, none: no one. Those who listen are told; of a request
// that is watched Requests tells them.
void set_task(Dispatch& dispatch, Task& task, TaskState state, AgentRef by) {
  Tables& t = dispatch.t;
  t.tasks.set_state(task, state, t.now);
  const MessageRef message = t.messages.find(task.message);
  if (message == none || !t.messages.message(message).watched) {
    broker_topics::task(dispatch, task, by);
  }
}

// A giver with many open tasks must leave room for those of others. `task` is the one that is to be
// open, where it is known.
std::expected<void, Error> check_share(const Tables& t, std::string_view giver, const Task* task) {
  const size_t open = t.tasks.open_of(giver);
  const uint64_t share =
      std::max<uint64_t>(1, t.rules.tasks_max * t.rules.task_giver_percent / 100);
  if ((task != nullptr && task->is_open()) || open < share) {
    return {};
  }
  return refuse(Code::limit_reached,
                quoted(giver) + " has given " + std::to_string(open) +
                    (open == 1 ? " task that is" : " tasks that are") +
                    " not done, which is one giver's share (task.giver_percent of tasks_max); "
                    "wait until one is done");
}

// The task that the delivery gives to its receiver; nullptr when it gives none, or another has the
// task by now.
Task* task_of(Tables& t, const Delivery& delivery) {
  const Message& message = t.messages.message(delivery.message);
  Task* const task = message.is_task ? t.tasks.find(message.seq) : nullptr;
  const bool has_it = task != nullptr && task->specialist == t.agents[delivery.receiver].name;
  return has_it ? task : nullptr;
}

// What the former specialist has of the task is withdrawn; it leaves no dead letter, since another
// has it.
void take_back(Dispatch& dispatch, std::string_view from, Seq message, std::string why) {
  Tables& t = dispatch.t;
  // Else it would get what is another's when that is retried.
  if (DeadLetter* const letter = t.dead_letters.find_open(message, from); letter != nullptr) {
    resolve_dead_letter(dispatch, *letter, Resolution::discarded);
  }
  const AgentRef agent = t.agents.find(from);
  const MessageRef ref = t.messages.find(message);
  const DeliveryRef given =
      agent == none || ref == none ? none : t.messages.delivery_to(ref, agent);
  if (given != none && !is_final(t.messages.delivery(given).state)) {
    dispatch.withdraw(given, std::move(why));
    dispatch.pump(agent);
  }
}

void move_task(Dispatch& dispatch, Task& task, const std::string& former, Seq before,
               std::string_view by) {
  Tables& t = dispatch.t;
  t.tasks.add_move(task, {t.now, former, task.specialist, std::string(by)},
                   t.rules.task_moves_max);
  take_back(dispatch, former, before,
            "superseded: the task was given to " + quoted(task.specialist));
  if (former != by) {
    owe(dispatch, {.kind = OutboxKind::task_reassigned,
                   .to = former,
                   .about = t.messages.find(before) == none ? Seq{} : before,
                   .facts = {{"task", task.id},
                             {"director", task.director},
                             {"specialist", task.specialist},
                             {"by", std::string(by)}}});
  }
}

// There was no one to take it, or no room: what was tried again just before came first.
void fail_if_not_taken(Dispatch& dispatch, Task& task, DeliveryRef given) {
  if (is_final(dispatch.t.messages.delivery(given).state)) {
    set_task(dispatch, task, TaskState::failed, none);
  }
}

void give_task(Context& context, const Envelope& e, const Route& route, MessageRef message) {
  Tables& t = context.t;
  if (!route.is_one() || !gives_work(e)) {
    return;
  }
  const Agent& receiver = t.agents[route.agents.front()];
  const std::string name = task_name(e, receiver);
  if (name.empty() || name.size() > t.rules.name_bytes_max) {
    return;
  }
  t.messages.message(message).is_task = true;
  Task* task = t.tasks.find(name, e.sender, e.thread);
  if (task != nullptr) {
    const std::string former = task->specialist;
    const Seq before = task->message;
    t.tasks.give(*task, receiver.name, context.entry.seq, t.now);
    task->content = t.messages.message(message).content;
    if (former != receiver.name) {
      move_task(context.dispatch, *task, former, before, e.sender);
    } else {
      take_back(context.dispatch, former, before,
                "superseded: the task was given again in other words");
    }
  } else {
    while (t.tasks.size() >= t.rules.tasks_max && t.tasks.first_ended() != nullptr) {
      t.tasks.remove(t.tasks.first_ended_of_most()->began);
    }
    task = &t.tasks.add({.id = name,
                         .director = std::string(e.sender),
                         .specialist = receiver.name,
                         .thread = std::string(e.thread),
                         .began = context.entry.seq,
                         .message = context.entry.seq,
                         .report = {},
                         .outcome = {},
                         .content = t.messages.message(message).content,
                         .created = t.now,
                         .changed = t.now,
                         .heard = t.now});
  }
  const PendingRequest* const request = t.pending.find_request(context.entry.seq);
  const bool is_awaited = request != nullptr && request->pipeline.n == 0;
  task->timeout = is_awaited ? request->timeout : Duration{};
  task->on_timeout = is_awaited ? request->on_timeout : OnTimeout::fail;
  set_task(context.dispatch, *task, TaskState::assigned, none);
  fail_if_not_taken(context.dispatch, *task, t.messages.message(message).deliveries);
}

// The task of the sender's that the message names.
Task* task_told_of(Context& context, const Envelope& e) {
  Tables& t = context.t;
  if (e.task.empty() || t.tasks.size() == 0) {
    return nullptr;
  }
  const Task* const found =
      t.tasks.find(TaskReport{e.task, t.agents[context.actor].name, e.thread, e.receivers});
  return found == nullptr ? nullptr : &t.tasks.at(found->began);
}

std::expected<const Task*, Error> task_to_reassign(const ConstContext& context,
                                                   const ReassignTask& command) {
  const Tables& t = context.t;
  const bool may_all = is_maintainer(context);
  const std::string_view own =
      context.actor == none ? broker_sender : std::string_view(t.agents[context.actor].name);
  const TaskName name{command.task, command.director, command.thread};
  std::vector<const Task*> found = may_all ? t.tasks.named(name) : t.tasks.meant(name, own);
  std::erase_if(found, [&](const Task* task) {
    return !may_all && (context.actor == none ||
                        (!gave(t, context.actor, *task) && !has(t, context.actor, *task)));
  });
  if (found.empty()) {
    return refuse(Code::not_found, "you have no task " + quoted_start(command.task));
  }
  const auto keep = [&found](const auto& wanted) {
    if (std::ranges::any_of(found, wanted)) {
      std::erase_if(found, std::not_fn(wanted));
    }
  };
  keep([own](const Task* task) { return task->director == own; });
  keep([](const Task* task) { return task->state != TaskState::completed; });
  if (found.size() > 1 && found.front()->state != TaskState::completed) {
    return std::unexpected(several(command.task, found));
  }
  const Task& task = *found.back();
  if (!may_all && task.director != own) {
    return refuse(Code::forbidden, "only " + quoted(task.director) +
                                       ", who gave the task, may reassign it, or a maintainer");
  }
  return &task;
}

std::expected<Task*, Error> task_to_move(Context& context, const ReassignTask& command) {
  Tables& t = context.t;
  const auto found = task_to_reassign(context, command);
  if (!found) {
    return std::unexpected(found.error());
  }
  return &t.tasks.at((*found)->began);
}

std::expected<AgentRef, Error> check_move(const Tables& t, const Task& task, std::string_view to) {
  const AgentRef ref = t.agents.find(to);
  if (ref == none || t.agents[ref].kind != PrincipalKind::agent) {
    return refuse(Code::receiver_not_found, "no agent is named " + quoted_start(to), "/to");
  }
  const Agent& receiver = t.agents[ref];
  if (has_task_role(receiver) && has_other_role(receiver, specialist)) {
    return refuse_role("a task is given to a specialist", receiver, specialist, "/to");
  }
  if (!may_write_to(t, t.agents.find(task.director), ref)) {
    return refuse(Code::not_via_orchestrator,
                  quoted(task.director) + " and " + quoted_start(to) +
                      " are workers, who write to an orchestrator and not to each other",
                  "/to");
  }
  if (task.state == TaskState::completed) {
    return refuse(Code::conflict, "the task " + quoted(task.id) + " is completed");
  }
  if (auto good = check_share(t, task.director, &task); !good) {
    return std::unexpected(good.error());
  }
  const MessageRef message = t.messages.find(task.message);
  if (message == none) {
    return refuse(Code::conflict,
                  "the engine has forgotten the message of the task (settled_retention); send the "
                  "task again, with the same taskId and threadId");
  }
  if (is_barred(t, task.message)) {
    return refuse(Code::conflict, "people did not let the message of the task " + quoted(task.id) +
                                      " pass; ask them again with another message");
  }
  const DeliveryRef before = t.messages.delivery_to(message, ref);
  const bool has_letter = t.dead_letters.find_open(task.message, to) != nullptr;
  if (before != none && (!is_final(t.messages.delivery(before).state) || has_letter)) {
    return refuse(Code::conflict,
                  has_letter
                      ? "what " + quoted_start(to) + " did not get is a dead letter; retry that"
                      : quoted_start(to) + " has the task already",
                  "/to");
  }
  if (std::string fault = size_fault(t.rules, receiver, t.messages.message(message));
      !fault.empty()) {
    return refuse(Code::payload_too_large, std::move(fault), "/to");
  }
  if (const AgentRef sender = t.messages.message(message).sender; !t.has_room(ref, sender)) {
    return refuse_full(t, ref, sender);
  }
  return ref;
}

void renew(Tables& t, const Task& task, AgentRef held_by) {
  const MessageRef message = t.messages.find(task.message);
  const DeliveryRef ref = message == none ? none : t.messages.delivery_to(message, held_by);
  if (ref != none && is_held(t.messages.delivery(ref).state)) {
    const Duration lease = default_lease(t.rules, t.agents[held_by].dialect);
    start_lease(t, ref, std::max(lease, t.messages.delivery(ref).due - t.now));
  }
}

// The message is the outcome of the task. A second one is kept, but what is completed stays so.
void end_task(Context& context, Task& task, const Envelope& e) {
  Tables& t = context.t;
  task.heard = t.now;
  task.errors += is_error(e) ? 1 : 0;
  task.outcome = context.entry.seq;
  if (task.state != TaskState::completed) {
    set_task(context.dispatch, task, is_error(e) ? TaskState::failed : state_of(e.status),
             context.actor);
  }
}

void deliver_again(Dispatch& dispatch, MessageRef message, AgentRef receiver,
                   const std::string& former) {
  Tables& t = dispatch.t;
  unblock(t, message);
  t.messages.message(message).refused = false;  // it goes to another than the one who was away
  if (const DeliveryRef before = t.messages.delivery_to(message, receiver); before != none) {
    dispatch.revive(before);
  } else {
    dispatch.renew_expiry(message);
    dispatch.deliver(message, receiver);
  }
  if (former != t.agents[receiver].name) {
    t.messages.notes.set_redirected_from(t.messages.delivery_to(message, receiver), former);
  }
}

// Whether its giver waited for it, and does so no more: it has failed, or was answered.
bool waits_no_more(const Tables& t, const Task& task) {
  return task.timeout.us > 0 && t.pending.find_request(task.message) == nullptr;
}

// Who gets the task has as long for it as anyone who is given one. What people have not decided
// about the one who had it before stops no timer of another.
void start_wait(Dispatch& dispatch, const Task& task, MessageRef ref, std::string_view to) {
  Tables& t = dispatch.t;
  if (waits_no_more(t, task)) {
    Message& message = t.messages.message(ref);
    message.watched = true;
    message.timed_out = false;
    message.answer = {};
    await_answer(dispatch, ref, task.timeout, task.on_timeout, {});
    return;
  }
  PendingRequest* const request = t.pending.find_request(task.message);
  const bool is_answered = request != nullptr && request->held.n != 0 &&
                           request->held != task.message && task.specialist != to;
  if (is_answered) {
    request->held = {};
    request->left = {};
    request->pauses = false;
    request->failed = false;
    t.pending.set_due(*request, t.now + request->timeout);
  }
}

// Whether the principal sent what gives the task now, since its registration.
bool has_sent_since(const Tables& t, const Task& task, Time registered) {
  const MessageRef message = t.messages.find(task.message);
  return message != none && t.messages.message(message).time >= registered;
}

// Whether the principal got it since its registration. A dead letter that was retried is from
// before that.
bool has_received_since(const Tables& t, AgentRef agent, const Task& task, Time registered) {
  const MessageRef message = t.messages.find(task.message);
  const DeliveryRef ref = message == none ? none : t.messages.delivery_to(message, agent);
  return ref != none && (t.messages.message(message).time >= registered ||
                         (t.messages.delivery(ref).changed >= registered &&
                          t.messages.delivery(ref).state < State::expired));
}

}  // namespace

bool gave(const Tables& t, AgentRef agent, const Task& task) {
  const Agent& giver = t.agents[agent];
  return task.director == giver.name && (task.created >= giver.registered ||
                                         has_sent_since(t, task, giver.registered));
}

bool has(const Tables& t, AgentRef agent, const Task& task) {
  const Agent& specialist = t.agents[agent];
  const Time given = task.moves.empty() ? task.created : task.moves.back().at;
  return task.specialist == specialist.name &&
         (given >= specialist.registered ||
          has_received_since(t, agent, task, specialist.registered));
}

// The rules bind inbox agents among themselves; people and the broker are above them.
std::expected<void, Error> check_roles(const ConstContext& context, const Envelope& e,
                                       const Route& route) {
  const Tables& t = context.t;
  if (context.actor == none || t.agents[context.actor].kind != PrincipalKind::agent) {
    return {};
  }
  const Agent& sender = t.agents[context.actor];
  const bool gives = gives_work(e);
  for (const AgentRef ref : route.agents) {
    const Agent& receiver = t.agents[ref];
    if (!has_task_role(receiver) || route.everyone) {
      continue;
    }
    if (!has_task_role(sender)) {
      if (context.answers) {
        continue;
      }
      if (static_cast<ForeignPolicy>(t.rules.foreign) == ForeignPolicy::refuse) {
        return refuse(Code::role_forbidden,
                      quoted(receiver.name) +
                          " speaks inbox, and agents of other dialects may only answer it "
                          "(foreign = refuse); a director may write to it",
                      "/receiver");
      }
      if (gives && directs_no_one(sender)) {
        return refuse(
            Code::role_forbidden,
            with_article(sender.role) + " gives no tasks; let one who directs others do it",
            "/receiver");
      }
      continue;
    }
    if (gives && has_other_role(receiver, specialist)) {
      return refuse_role("a task is given by a director to a specialist", receiver, specialist,
                         "/receiver");
    }
    const bool reports = is_result(e) && !answers_question(context, e);
    if (reports && has_other_role(receiver, director)) {
      return refuse_role("a result goes from a specialist to a director", receiver, director,
                         "/receiver");
    }
    if (gives && has_other_role(sender, director)) {
      return refuse_role("a task is given by a director to a specialist", sender, director,
                         "/sender");
    }
    if (reports && has_other_role(sender, specialist)) {
      return refuse_role("a result goes from a specialist to a director", sender, specialist,
                         "/sender");
    }
  }
  if (gives && has_task_role(sender) && (route.everyone || !route.topic.empty()) &&
      has_other_role(sender, director)) {
    return refuse_role("a task is given by a director to a specialist", sender, director,
                       "/sender");
  }
  if (gives && policy_of(e.dialect).has_task_roles && (route.everyone || !route.topic.empty())) {
    return refuse(Code::role_forbidden,
                  "a task is given to one who does it, not to everyone or a topic; name one "
                  "specialist, or send a status",
                  "/receiver");
  }
  return {};
}

std::expected<std::optional<Receipt>, Error> find_given(const ConstContext& context,
                                                        const Envelope& e, const Route& route,
                                                        uint64_t content) {
  const Tables& t = context.t;
  // A pipeline's later stage was allowed when it began, and gives no task.
  if (context.actor == none || !gives_work(e) || !route.is_one()) {
    return std::nullopt;
  }
  const Agent& receiver = t.agents[route.agents.front()];
  const std::string name = task_name(e, receiver);
  if (name.empty()) {
    return std::nullopt;
  }
  const Task* const task = t.tasks.find(name, e.sender, e.thread);
  // What a former principal of the name gave is not this one's, and does not hide it.
  const bool is_own = task != nullptr && gave(t, context.actor, *task);
  const bool same = is_own && task->specialist == receiver.name;
  const bool repeats = same && task->is_open() && task->content == content;
  if ((is_own && task->state == TaskState::completed) || repeats ||
      (same && task->state == TaskState::acknowledged)) {
    const MessageRef first = t.messages.find(task->message);
    return Receipt{.message = task->message,
                   .duplicate = true,
                   .skipped = task->content != content,
                   .number = first == none ? 0 : t.messages.message(first).number,
                   .count = 1};
  }
  if (task == nullptr && t.tasks.size() >= t.rules.tasks_max && t.tasks.first_ended() == nullptr) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t.rules.tasks_max) +
                                           " tasks that are not done (tasks_max)");
  }
  if (auto good = check_share(t, e.sender, task); !good) {
    return std::unexpected(good.error());
  }
  return std::nullopt;
}

bool enter_task(Context& context, const Envelope& e, const Route& route, MessageRef message,
                MessageRef question) {
  Tables& t = context.t;
  if (context.actor == none) {
    return true;
  }
  const Agent& sender = t.agents[context.actor];
  if ((!has_task_role(sender) || sender.role.empty()) && route.is_one() &&
      has_task_role(t.agents[route.agents.front()])) {
    broker_topics::audit(context.dispatch, "unknown_sender", context.entry.actor,
                         t.agents[route.agents.front()].name);
  }
  if (asks(e.kind)) {
    give_task(context, e, route, message);
    return true;
  }
  Task* const task =
      question == none ? task_told_of(context, e) : t.tasks.find(t.messages.message(question).seq);
  if (task == nullptr || task->specialist != t.agents[context.actor].name) {
    return e.task.empty() || (task == nullptr && question != none) ||
           !t.pending.asked(sender.name, e.task, 1).empty() ||
           t.tasks.is_given_by(e.task, sender.name);  // whoever gave it may write of it, too
  }
  task->heard = t.now;
  const bool is_report = e.kind != Kind::response && e.status != Status::error && !names_outcome(e);
  // What the director is not told is no outcome: it may ask another for help.
  const bool is_told = question != none || route.everyone ||
                       std::ranges::find(e.receivers, task->director) != e.receivers.end();
  if (is_report || !is_told) {
    if (is_report) {
      task->report = context.entry.seq;
      ++task->reports;
    }
    if (task->state == TaskState::assigned) {
      set_task(context.dispatch, *task, TaskState::in_progress, context.actor);
    }
    renew(t, *task, context.actor);
    return true;
  }
  end_task(context, *task, e);
  if (question == none) {  // a result that is no answer to the request ends the delivery, too
    const MessageRef ref = t.messages.find(task->message);
    const DeliveryRef given = ref == none ? none : t.messages.delivery_to(ref, context.actor);
    if (given != none && !is_final(t.messages.delivery(given).state)) {
      context.dispatch.settle(given, State::acked);
      context.dispatch.pump(context.actor);
    }
  }
  return true;
}

Checked check(const ConstContext& context, const ReassignTask& command) {
  return checked(task_to_reassign(context, command));
}

// The message that gave the task goes to another; the former specialist is told, and what it has of
// it is taken away.
Outcome on(Context& context, const ReassignTask& command) {
  Tables& t = context.t;
  const auto found = task_to_move(context, command);
  if (!found) {
    return std::unexpected(found.error());
  }
  Task& task = **found;
  if (const Gather* const gather = t.pending.find_gather(task.message);
      gather != nullptr && gather->state == GatherState::open) {
    return refuse(Code::conflict,
                  "the task " + quoted(task.id) +
                      " is asked by a scatter, which names who answers; wait until it is over");
  }
  const auto to = check_move(t, task, command.to);
  if (!to) {
    return std::unexpected(to.error());
  }
  if (waits_no_more(t, task)) {
    if (auto good = Requests::check_room(t, task.director); !good) {
      return std::unexpected(good.error());
    }
  }
  const MessageRef message = t.messages.find(task.message);
  const std::string former = task.specialist;
  recall(t, message);  // it may have been settled
  start_wait(context.dispatch, task, message, command.to);
  deliver_again(context.dispatch, message, *to, former);
  t.tasks.give(task, command.to, task.message, t.now);
  if (former != command.to) {  // else it tries once more
    move_task(context.dispatch, task, former, task.message,
              context.actor == none ? broker_sender : std::string_view(context.entry.actor));
  }
  set_task(context.dispatch, task, TaskState::assigned, context.actor);
  fail_if_not_taken(context.dispatch, task, t.messages.delivery_to(message, *to));
  context.dispatch.pump(*to);
  broker_topics::audit(context.dispatch, "task_reassigned", context.entry.actor, task.id);
  return Receipt{.message = task.message, .count = 1};
}

bool names_outcome(const Envelope& e) { return e.type == "result" || e.type == "error"; }

void renew_tasks(Tables& t, AgentRef specialist) {
  const std::set<Seq>* const held = t.tasks.held_by(t.agents[specialist].name);
  if (held == nullptr) {
    return;
  }
  size_t left = due_max;
  for (const Seq began : *held) {
    if (left-- == 0) {
      return;
    }
    renew(t, t.tasks.at(began), specialist);
  }
}

void note_task_read(Dispatch& dispatch, const Delivery& delivery) {
  Task* const task = task_of(dispatch.t, delivery);
  if (task == nullptr) {
    return;
  }
  task->heard = dispatch.t.now;
  if (task->state == TaskState::assigned) {
    set_task(dispatch, *task, TaskState::in_progress, delivery.receiver);
  }
}

void note_task_ended(Dispatch& dispatch, const Delivery& delivery, State state) {
  Task* const task = task_of(dispatch.t, delivery);
  if (task == nullptr || !task->is_open()) {
    return;
  }
  if (state == State::acked) {
    set_task(dispatch, *task, TaskState::acknowledged, delivery.receiver);
  } else if (state != State::answered) {  // what an answer makes of it `end_task` says
    set_task(dispatch, *task, TaskState::failed, none);
  }
}

void note_task_answered(Context& context, const Delivery& delivery, const Envelope& answer) {
  if (Task* const task = task_of(context.t, delivery)) {
    end_task(context, *task, answer);
  }
}

void note_task_error(Tables& t, Seq message, Seq report) {
  if (Task* const task = t.tasks.find(message)) {
    task->heard = t.now;
    task->report = report;
    ++task->errors;
  }
}

void fail_task(Dispatch& dispatch, Seq message) {
  Task* const task = dispatch.t.tasks.find(message);
  if (task != nullptr && (task->is_open() || task->state == TaskState::acknowledged)) {
    set_task(dispatch, *task, TaskState::failed, none);
  }
}

void note_task_revived(Dispatch& dispatch, const Delivery& delivery) {
  if (Task* const task = task_of(dispatch.t, delivery)) {
    set_task(dispatch, *task, TaskState::assigned, none);
  }
}

void note_task_redirected(Tables& t, const Delivery& delivery, AgentRef other) {
  if (Task* const task = task_of(t, delivery)) {
    t.tasks.give(*task, t.agents[other].name, task->message, t.now);
  }
}

static Time next_task_gone(const Tables& t) {
  const Task* const first = t.tasks.first_ended();
  return first == nullptr ? base::time_max : first->changed + t.rules.task_retention;
}

Time old_tasks_due(const Tables& t) {
  return base::next_multiple(next_task_gone(t), base::minutes(1));
}

void forget_tasks(Tables& t) {
  for (size_t n = 0; n < due_max && t.tasks.first_ended() != nullptr; ++n) {
    const bool is_old = next_task_gone(t) <= t.now;
    if (!is_old && t.tasks.size() <= t.rules.tasks_max) {
      return;
    }
    t.tasks.remove((is_old ? t.tasks.first_ended() : t.tasks.first_ended_of_most())->began);
  }
}

}  // namespace parley::core
