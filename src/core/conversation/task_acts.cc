// SPDX-License-Identifier: Apache-2.0
// Who may give work to whom, and what messages and commands do to tasks.
#include <algorithm>
#include <functional>

#include "core/machine/checks.h"
#include "core/machine/workspace.h"
#include "core/model/refusal.h"
#include "core/model/sizes.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr std::string_view director = "director";
constexpr std::string_view specialist = "specialist";

bool is_inbox_agent(const Agent& agent) {
  return agent.kind == PrincipalKind::agent && agent.dialect == Dialect::inbox;
}

// Who speaks another dialect counts as a director, but for those who direct no one there either.
bool directs_no_one(const Agent& agent) {
  return (agent.dialect == Dialect::collab && agent.role == "observer") ||
         (agent.dialect == Dialect::squad && (agent.role == "council" || agent.role == "subagent"));
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

// Which of these is meant? Names a few.
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
  return Error{Code::conflict,
               (of_one ? std::string("several threads have a task ")
                       : std::string("several directors have given a task ")) +
                   quoted_start(name) + " that is not completed, by " + choices +
                   "; name the one you mean",
               of_one ? "/thread" : "/director"};
}

// The name of the task that a request gives: the sender's, else, to an inbox agent, its id.
std::string task_name(const Envelope& e, const Agent& receiver) {
  if (!e.task.empty()) {
    return std::string(e.task);
  }
  if (receiver.dialect != Dialect::inbox) {
    return {};
  }
  return e.native_id.empty() ? base::format_uuid(e.id) : std::string(e.native_id);
}

}  // namespace

// IN-04. The rules bind inbox agents among themselves; people and the broker are above them.
std::expected<void, Error> Workspace::check_roles(const Asking& turn, const Envelope& e,
                                                  const Route& route) const {
  if (turn.actor == none || t_.agents[turn.actor].kind != PrincipalKind::agent) {
    return {};
  }
  const Agent& sender = t_.agents[turn.actor];
  const bool gives = gives_work(e);
  for (const AgentRef ref : route.agents) {
    const Agent& receiver = t_.agents[ref];
    if (!is_inbox_agent(receiver) || route.everyone) {
      continue;
    }
    if (!is_inbox_agent(sender)) {
      if (turn.answers) {
        continue;
      }
      if (static_cast<ForeignPolicy>(t_.rules.foreign) == ForeignPolicy::refuse) {
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
    const bool reports = is_result(e) && !answers_question(turn, e);
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
  if (gives && is_inbox_agent(sender) && (route.everyone || !route.topic.empty()) &&
      has_other_role(sender, director)) {
    return refuse_role("a task is given by a director to a specialist", sender, director,
                       "/sender");
  }
  if (gives && e.dialect == Dialect::inbox && (route.everyone || !route.topic.empty())) {
    return refuse(Code::role_forbidden,
                  "a task is given to one who does it, not to everyone or a topic; name one "
                  "specialist, or send a status",
                  "/receiver");
  }
  return {};
}

// What it answers was asked of it without a task: the answer may go to anyone, too.
bool Workspace::answers_question(const Asking& turn, const Envelope& e) const {
  const MessageRef asked =
      e.kind != Kind::response ? none : t_.messages.find_received(turn.actor, e.in_reply_to);
  return asked != none && t_.messages.message(asked).kind == Kind::query &&
         !t_.messages.message(asked).is_task;
}

// A giver with many open tasks must leave room for those of others. `task` is the one that is to be
// open, where it is known.
std::expected<void, Error> Workspace::check_share(std::string_view giver, const Task* task) const {
  const size_t open = t_.tasks.open_of(giver);
  const uint64_t share =
      std::max<uint64_t>(1, t_.rules.tasks_max * t_.rules.task_giver_percent / 100);
  if ((task != nullptr && task->is_open()) || open < share) {
    return {};
  }
  return refuse(Code::limit_reached,
                quoted(giver) + " has given " + std::to_string(open) +
                    (open == 1 ? " task that is" : " tasks that are") +
                    " not done, which is one giver's share (task.giver_percent of tasks_max); "
                    "wait until one is done");
}

// IN-09: a task that is done with in its thread, or waits there with the same words, is not given
// again. The receipt that says so; none when this message gives a task, or none.
std::expected<std::optional<Receipt>, Error> Workspace::find_given(const Asking& turn,
                                                                   const Envelope& e,
                                                                   const Route& route,
                                                                   uint64_t content) const {
  // A pipeline's later stage was allowed when it began, and gives no task.
  if (turn.actor == none || !gives_work(e) || !route.is_one()) {
    return std::nullopt;
  }
  const Agent& receiver = t_.agents[route.agents.front()];
  const std::string name = task_name(e, receiver);
  if (name.empty()) {
    return std::nullopt;
  }
  const Task* const task = t_.tasks.find(name, e.sender, e.thread);
  const bool same = task != nullptr && task->specialist == receiver.name;
  const bool repeats = same && task->is_open() && task->content == content;
  if ((task != nullptr && task->state == TaskState::completed) || repeats ||
      (same && task->state == TaskState::acknowledged)) {
    const MessageRef first = t_.messages.find(task->message);
    return Receipt{.message = task->message,
                   .duplicate = true,
                   .skipped = task->content != content,
                   .number = first == none ? 0 : t_.messages.message(first).number,
                   .count = 1};
  }
  if (task == nullptr && t_.tasks.size() >= t_.rules.tasks_max &&
      t_.tasks.first_ended() == nullptr) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t_.rules.tasks_max) +
                                           " tasks that are not done (tasks_max)");
  }
  if (auto good = check_share(e.sender, task); !good) {
    return std::unexpected(good.error());
  }
  return std::nullopt;
}

// The accepted message gives a task, or tells of one.
void Workspace::enter_task(Turn& turn, const Envelope& e, const Route& route, MessageRef message,
                           MessageRef question) {
  if (turn.actor == none) {
    return;
  }
  const Agent& sender = t_.agents[turn.actor];
  if ((!is_inbox_agent(sender) || sender.role.empty()) && route.is_one() &&
      is_inbox_agent(t_.agents[route.agents.front()])) {
    broker_topics::audit(t_, turn.dispatch, "unknown_sender", turn.entry.actor,
                         t_.agents[route.agents.front()].name);
  }
  if (asks(e.kind)) {
    give_task(turn, e, route, message);
    return;
  }
  Task* const task =
      question == none ? task_told_of(turn, e) : t_.tasks.find(t_.messages.message(question).seq);
  if (task == nullptr || task->specialist != t_.agents[turn.actor].name) {
    turn.has_no_task = !e.task.empty() && (task != nullptr || question == none) &&
                       t_.patterns.asked(sender.name, e.task, 1).empty() &&
                       !gave_task(e.task, t_.agents[turn.actor].name);
    return;
  }
  task->heard = t_.now;
  const bool is_report = e.kind != Kind::response && !is_error(e) && e.type != "result";
  // What the director is not told is no outcome: it may ask another for help.
  const bool is_told = question != none || route.everyone ||
                       std::ranges::find(e.receivers, task->director) != e.receivers.end();
  if (is_report || !is_told) {
    if (is_report) {
      task->report = turn.entry.seq;
      ++task->reports;
    }
    if (task->state == TaskState::assigned) {
      turn.dispatch.set_task(*task, TaskState::in_progress, turn.actor);
    }
    turn.dispatch.renew(*task, turn.actor);
    return;
  }
  end_task(turn, *task, e);
  if (question == none) {  // it says so without being an answer: it is done with it all the same
    const MessageRef ref = t_.messages.find(task->message);
    const DeliveryRef given = ref == none ? none : t_.messages.delivery_to(ref, turn.actor);
    if (given != none && !is_final(t_.messages.delivery(given).state)) {
      turn.dispatch.settle(given, State::acked);
      turn.dispatch.pump(turn.actor);
    }
  }
}

// The message is the outcome of the task.
void Workspace::end_task(Turn& turn, Task& task, const Envelope& e) {
  task.heard = t_.now;
  task.errors += is_error(e) ? 1 : 0;
  task.outcome = turn.entry.seq;
  if (task.state != TaskState::completed) {
    turn.dispatch.set_task(task, is_error(e) ? TaskState::failed : state_of(e.status), turn.actor);
  }
}

void Workspace::give_task(Turn& turn, const Envelope& e, const Route& route, MessageRef message) {
  if (!route.is_one() || !gives_work(e)) {
    return;
  }
  const Agent& receiver = t_.agents[route.agents.front()];
  const std::string name = task_name(e, receiver);
  if (name.empty() || name.size() > t_.rules.name_bytes_max) {
    return;
  }
  t_.messages.message(message).is_task = true;
  Task* task = t_.tasks.find(name, e.sender, e.thread);
  if (task != nullptr) {
    const std::string former = task->specialist;
    const Seq before = task->message;
    t_.tasks.give(*task, receiver.name, turn.entry.seq, t_.now);
    task->content = t_.messages.message(message).content;
    if (former != receiver.name) {
      turn.dispatch.move_task(*task, former, before, e.sender);
    } else {
      turn.dispatch.take_back(former, before,
                              "superseded: the task was given again in other words");
    }
  } else {
    while (t_.tasks.size() >= t_.rules.tasks_max && t_.tasks.first_ended() != nullptr) {
      t_.tasks.remove(t_.tasks.first_ended()->began);
    }
    task = &t_.tasks.add({.id = name,
                          .director = std::string(e.sender),
                          .specialist = receiver.name,
                          .thread = std::string(e.thread),
                          .began = turn.entry.seq,
                          .message = turn.entry.seq,
                          .report = {},
                          .outcome = {},
                          .content = t_.messages.message(message).content,
                          .created = t_.now,
                          .changed = t_.now,
                          .heard = t_.now});
  }
  turn.dispatch.set_task(*task, TaskState::assigned, none);
  const State state = t_.messages.delivery(t_.messages.message(message).deliveries).state;
  if (is_final(state)) {  // there was no one to take it
    turn.dispatch.set_task(*task, TaskState::failed, none);
  }
}

// The task of the sender's that the message names.
Task* Workspace::task_told_of(const Asking& turn, const Envelope& e) {
  if (e.task.empty() || t_.tasks.size() == 0) {
    return nullptr;
  }
  const Task* const found =
      t_.tasks.find(TaskReport{e.task, t_.agents[turn.actor].name, e.thread, e.receivers});
  return found == nullptr ? nullptr : &t_.tasks.at(found->began);
}

// Whoever gave a task may write of it, too.
bool Workspace::gave_task(std::string_view task, std::string_view name) const {
  return std::ranges::any_of(t_.tasks.named(task),
                             [name](const Task* each) { return each->director == name; });
}

std::expected<const Task*, Error> task_to_reassign(const Tables& t, const Claimant& claimant,
                                                   const ReassignTask& command) {
  const bool may_all = claimant.is_maintainer;
  const std::string_view own =
      claimant.actor == none ? broker_sender : std::string_view(t.agents[claimant.actor].name);
  std::vector<const Task*> found = t.tasks.named(command.task);
  std::erase_if(found, [&](const Task* task) {
    const bool sees = may_all || task->director == own || task->specialist == own;
    return !sees || (!command.director.empty() && task->director != command.director) ||
           (!command.thread.empty() && task->thread != command.thread);
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

std::expected<Task*, Error> Workspace::task_to_move(const Asking& turn,
                                                    const ReassignTask& command) {
  const auto found = task_to_reassign(
      t_, {turn.actor, may_administer(turn, Right::maintainer).has_value()}, command);
  if (!found) {
    return std::unexpected(found.error());
  }
  return &t_.tasks.at((*found)->began);
}

std::expected<AgentRef, Error> Workspace::check_move(const Task& task, std::string_view to) const {
  const AgentRef ref = t_.agents.find(to);
  if (ref == none || t_.agents[ref].kind != PrincipalKind::agent) {
    return refuse(Code::receiver_not_found, "no agent is named " + quoted_start(to), "/to");
  }
  const Agent& receiver = t_.agents[ref];
  if (is_inbox_agent(receiver) && has_other_role(receiver, specialist)) {
    return refuse_role("a task is given to a specialist", receiver, specialist, "/to");
  }
  if (task.state == TaskState::completed) {
    return refuse(Code::conflict, "the task " + quoted(task.id) + " is completed");
  }
  if (auto good = check_share(task.director, &task); !good) {
    return std::unexpected(good.error());
  }
  const MessageRef message = t_.messages.find(task.message);
  if (message == none) {
    return refuse(Code::conflict,
                  "the engine has forgotten the message of the task (settled_retention); send the "
                  "task again, with the same taskId and threadId");
  }
  const DeliveryRef before = t_.messages.delivery_to(message, ref);
  const bool has_letter = std::ranges::any_of(t_.dead_letters.all(), [&](const auto& item) {
    return item.second.is_open() && item.second.message == task.message &&
           item.second.receiver == to;
  });
  if (before != none && (!is_final(t_.messages.delivery(before).state) || has_letter)) {
    return refuse(Code::conflict,
                  has_letter
                      ? "what " + quoted_start(to) + " did not get is a dead letter; retry that"
                      : quoted_start(to) + " has the task already",
                  "/to");
  }
  if (std::string fault = size_fault(t_.rules, receiver, t_.messages.message(message));
      !fault.empty()) {
    return refuse(Code::payload_too_large, std::move(fault), "/to");
  }
  if (t_.load_of(ref) >= t_.rules.queue_max) {
    return refuse(Code::queue_full, "the inbox of " + quoted(receiver.name) + " is full (" +
                                        std::to_string(t_.rules.queue_max) + ", queue_max)");
  }
  return ref;
}

// The message that gave the task goes to another; the former specialist is told, and what it has of
// it is taken away.
Outcome Workspace::on(Turn& turn, const ReassignTask& command) {
  const auto found = task_to_move(turn, command);
  if (!found) {
    return std::unexpected(found.error());
  }
  Task& task = **found;
  if (const Gather* const gather = t_.patterns.find_gather(task.message);
      gather != nullptr && gather->state == GatherState::open) {
    return refuse(Code::conflict,
                  "the task " + quoted(task.id) +
                      " is asked by a scatter, which names who answers; wait until it is over");
  }
  const auto to = check_move(task, command.to);
  if (!to) {
    return std::unexpected(to.error());
  }
  const MessageRef message = t_.messages.find(task.message);
  const std::string former = task.specialist;
  turn.dispatch.deliver_again(message, *to, former);
  t_.tasks.give(task, command.to, task.message, t_.now);
  if (former != command.to) {  // else it tries once more
    turn.dispatch.move_task(
        task, former, task.message,
        turn.actor == none ? broker_sender : std::string_view(turn.entry.actor));
  }
  turn.dispatch.set_task(task, TaskState::assigned, turn.actor);
  turn.dispatch.pump(*to);
  broker_topics::audit(t_, turn.dispatch, "task_reassigned", turn.entry.actor, task.id);
  return Receipt{.message = task.message, .count = 1};
}

void Dispatch::set_task(Task& task, TaskState state, AgentRef by) {
  t_.tasks.set_state(task, state, t_.now);
  const MessageRef message = t_.messages.find(task.message);
  if (message == none || !t_.messages.message(message).watched) {
    broker_topics::task(t_, *this, task, by);  // of one that is waited for Watch tells
  }
}

void Dispatch::renew(const Task& task, AgentRef specialist) const {
  const MessageRef message = t_.messages.find(task.message);
  const DeliveryRef ref = message == none ? none : t_.messages.delivery_to(message, specialist);
  if (ref != none && is_held(t_.messages.delivery(ref).state)) {
    const Duration lease = default_lease(t_.rules, t_.agents[specialist].dialect);
    hold(ref, std::max(lease, t_.messages.delivery(ref).due - t_.now));
  }
}

void Dispatch::renew_tasks(AgentRef specialist) {
  const std::set<Seq>* const held = t_.tasks.held_by(t_.agents[specialist].name);
  if (held == nullptr) {
    return;
  }
  size_t left = due_max;
  for (const Seq began : *held) {
    if (left-- == 0) {
      return;
    }
    renew(t_.tasks.at(began), specialist);
  }
}

void Dispatch::move_task(Task& task, const std::string& former, Seq before, std::string_view by) {
  task.moves.push_back({t_.now, former, task.specialist, std::string(by)});
  if (task.moves.size() > t_.rules.task_moves_max) {
    task.moves.erase(task.moves.begin());
  }
  take_back(former, before, "superseded: the task was given to " + quoted(task.specialist));
  if (former != by) {
    owe({.kind = OutboxKind::task_reassigned,
         .to = former,
         .about = t_.messages.find(before) == none ? Seq{} : before,
         .facts = {{"task", task.id},
                   {"director", task.director},
                   {"specialist", task.specialist},
                   {"by", std::string(by)}}});
  }
}

void Dispatch::take_back(std::string_view from, Seq message, std::string why) {
  std::vector<uint64_t> letters;
  for (const auto& [id, letter] : t_.dead_letters.all()) {
    if (letter.is_open() && letter.message == message && letter.receiver == from) {
      letters.push_back(id);
    }
  }
  for (const uint64_t id : letters) {  // else it would get what is another's when they are retried
    resolve_letter(*t_.dead_letters.find(id), Resolution::discarded);
  }
  const AgentRef agent = t_.agents.find(from);
  const MessageRef ref = t_.messages.find(message);
  const DeliveryRef given =
      agent == none || ref == none ? none : t_.messages.delivery_to(ref, agent);
  if (given != none && !is_final(t_.messages.delivery(given).state)) {
    leave(given);
    t_.messages.last_errors()[given] = std::move(why);
    end(given, State::dead);
    pump(agent);
  }
}

void Dispatch::deliver_again(MessageRef message, AgentRef receiver, const std::string& former) {
  unblock(message);
  std::erase_if(t_.messages.remembered(),
                [message](const Messages::Remembered& item) { return item.message == message; });
  Message& given = t_.messages.message(message);
  given.refused = false;  // it is on its way to another than the one who was away
  t_.messages.stop_expiry(message);
  given.expires = given.ttl.us > 0 ? t_.now + given.ttl : base::time_max;
  if (const DeliveryRef before = t_.messages.delivery_to(message, receiver); before != none) {
    revive(before);
  } else {
    deliver(message, receiver);
  }
  if (former != t_.agents[receiver].name) {
    t_.messages.redirected()[t_.messages.delivery_to(message, receiver)] = former;
  }
}

// A delivery of a message that gives a task has ended.
void Dispatch::end_task(const Delivery& delivery, State state) {
  Task* const task = t_.tasks.find(t_.messages.message(delivery.message).seq);
  if (task == nullptr || !task->is_open() ||
      task->specialist != t_.agents[delivery.receiver].name) {
    return;
  }
  if (state == State::acked) {
    set_task(*task, TaskState::acknowledged, delivery.receiver);
  } else if (state != State::answered) {
    set_task(*task, TaskState::failed, none);
  }
}

void Dispatch::forget_tasks() {
  for (size_t n = 0; n < due_max && t_.tasks.first_ended() != nullptr; ++n) {
    const Task& first = *t_.tasks.first_ended();
    if (first.changed + t_.rules.task_retention > t_.now && t_.tasks.size() <= t_.rules.tasks_max) {
      return;
    }
    t_.tasks.remove(first.began);
  }
}

}  // namespace parley::core
