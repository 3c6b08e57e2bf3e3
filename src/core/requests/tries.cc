// SPDX-License-Identifier: Apache-2.0
#include "core/requests/tries.h"

#include <algorithm>

#include "core/conversation/task_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/answers.h"
#include "core/requests/pipeline_acts.h"
#include "core/requests/watching.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr std::string_view extension_type = "timeout_extension_request";

// The request, if it is one of those that are tried again and its one receiver answers.
const PendingRequest* tried_by(const Tables& t, MessageRef question, AgentRef by) {
  const Message& asked = t.messages.message(question);
  const PendingRequest* const request = t.pending.find_request(asked.seq);
  const bool is_tried = request != nullptr && request->awaited == Awaited::answer &&
                        request->on_timeout == OnTimeout::retry && request->held.n == 0 &&
                        policy_of(asked.dialect).retries_tasks && asked_alone(t, question) == by;
  return is_tried ? request : nullptr;
}

bool may_be_mended(const Envelope& answer) {
  return answer.status == Status::error && answer.is_recoverable;
}

// Whether the broker may say it of a worker in its own name: of what people decided it is the only
// witness.
bool is_sayable(std::string_view error_type) {
  return !error_type.empty() && !error_type.starts_with("approval_");
}

// Who was to get the answer, which it was not handed to yet, does not.
void withdraw_answer(Dispatch& dispatch, MessageRef answer, const std::string& why) {
  for (const DeliveryRef ref : open_of(dispatch.t, answer)) {
    dispatch.withdraw(ref, why);
  }
}

// The worker is done with the task, and whoever waits for the answer waits no more.
void end_question(Context& context, MessageRef question) {
  Tables& t = context.t;
  const DeliveryRef given = t.messages.delivery_to(question, context.actor);
  if (!is_final(t.messages.delivery(given).state)) {
    context.dispatch.settle(given, State::acked);
    context.dispatch.pump(context.actor);
  }
  Message& asked = t.messages.message(question);
  asked.timed_out = true;
  end_pending(context.dispatch, asked.seq);
  context.dispatch.emit(
      RequestTimedOut{.message = asked.seq, .is_final = true, .is_rejected = true});
  broker_topics::task(context.dispatch, question, "failed");
}

std::string last_words(const Envelope& answer) {
  const std::string_view words =
      answer.error_message.empty() ? answer.subject : answer.error_message;
  return words.empty() ? "it does not say why" : std::string(words);
}

// What the worker has to do, by the message that it names or by the task.
MessageRef named_by(const ConstContext& context, const Envelope& e) {
  const Tables& t = context.t;
  if (!e.in_reply_to.is_none()) {
    return t.messages.find_received(context.actor, e.in_reply_to);
  }
  const Task* const task = t.tasks.find(
      TaskReport{e.task, t.agents[context.actor].name, e.thread, e.receivers});
  return task == nullptr ? none : t.messages.find(task->message);
}

}  // namespace

std::optional<Duration> pause_after(const ConstContext& context, MessageRef question,
                                    const Envelope& answer) {
  const Tables& t = context.t;
  const PendingRequest* const request =
      may_be_mended(answer) ? tried_by(t, question, context.actor) : nullptr;
  const Message& asked = t.messages.message(question);
  return request == nullptr
             ? std::nullopt
             : retry_pause(t.rules, asked.dialect, asked.to_many(), request->retries);
}

void supersede_answer(Context& context, MessageRef question, MessageRef answer, Duration pause) {
  Tables& t = context.t;
  PendingRequest& request = *t.pending.find_request(t.messages.message(question).seq);
  if (!request.pauses) {  // else its time was over before, and the pause goes on
    request.pauses = true;
    t.pending.set_due(request, t.now + pause);
  }
  request.failed = true;
  note_task_error(t, t.messages.message(question).seq, t.messages.message(answer).seq);
  withdraw_answer(
      context.dispatch, answer,
      "superseded: the task is given again, try " + std::to_string(request.retries + 2));
}

bool is_last_failure(const ConstContext& context, MessageRef question, const Envelope& answer) {
  return may_be_mended(answer) && tried_by(context.t, question, context.actor) != nullptr &&
         !pause_after(context, question, answer);
}

void fail_after_last_try(Context& context, MessageRef question, MessageRef answer,
                         const Envelope& e) {
  Tables& t = context.t;
  const PendingRequest request =  // which ends here
      *t.pending.find_request(t.messages.message(question).seq);
  const std::string& worker = t.agents[context.actor].name;
  const std::string words = last_words(e);
  const std::string why = worker + " failed, asked " + std::to_string(request.retries + 1) +
                          (request.retries == 0 ? " time: " : " times: ") + words;
  note_task_error(t, request.message, context.entry.seq);
  withdraw_answer(context.dispatch, answer, "superseded: the broker tells that the task failed");
  end_question(context, question);
  const uint64_t id = escalate_if_room(context.dispatch, {.cause = EscalationCause::task_failed,
                                                          .about = context.entry.seq,
                                                          .agent = request.owner,
                                                          .receiver = worker,
                                                          .why = why});
  if (request.pipeline.n != 0) {  // whose owner is told that it failed, and no more
    stage_failed(context.dispatch, request.pipeline, why);
    return;
  }
  std::vector<Fact> facts = {
      {"error_type", std::string(is_sayable(e.error_type) ? e.error_type : "error")},
      {std::string(retry_count_fact), int64_t{request.retries}},
      {"is_recoverable", true},
      {"suggested_action", std::string("look at why it fails, or give it to another")},
      {"detail", words}};
  if (id != 0) {
    facts.push_back(count_of("escalation", id));
  }
  tell_task_failed(context.dispatch, question, context.actor, std::move(facts));
}

void tell_task_failed(Dispatch& dispatch, MessageRef request, AgentRef receiver,
                      std::vector<Fact> facts) {
  Tables& t = dispatch.t;
  const Message& message = t.messages.message(request);
  facts.insert(facts.begin(), Fact{std::string(in_name_of_fact), t.agents[receiver].name});
  fail_task(dispatch, message.seq);
  owe(dispatch, {.kind = OutboxKind::task_failed,
                 .to = t.agents[message.sender].name,
                 .about = message.seq,
                 .priority = message.priority,
                 .facts = std::move(facts)});
}

std::expected<MessageRef, Error> find_extended(const ConstContext& context, const Envelope& e) {
  const Tables& t = context.t;
  if (e.type != extension_type || e.kind != Kind::notification || context.actor == none) {
    return none;
  }
  if (e.response_timeout.us <= 0) {
    return refuse(Code::bad_request, "an extension says how much more time is wanted",
                  "/response_timeout");
  }
  const MessageRef found = named_by(context, e);
  if (found == none || asked_alone(t, found) != context.actor) {
    return refuse(Code::forbidden, "you have no such task; only who has it asks for more time");
  }
  const PendingRequest* const request = t.pending.find_request(t.messages.message(found).seq);
  if (request == nullptr || request->awaited != Awaited::answer) {
    return refuse(Code::conflict, "nobody waits for the answer any more");
  }
  if (request->held.n != 0) {
    return refuse(Code::conflict, "your answer waits for people, and the time stands still");
  }
  const Duration max = t.rules.superprompt_extension_max;
  if (request->extended.us + e.response_timeout.us > max.us) {
    return refuse(Code::limit_reached,
                  "a task is extended by at most " + base::format_duration(max) +
                      " (superprompt.extension_max), and this one has got " +
                      base::format_duration(request->extended),
                  "/response_timeout");
  }
  return found;
}

void extend_time(Context& context, MessageRef ref, Duration more) {
  Tables& t = context.t;
  PendingRequest& request = *t.pending.find_request(t.messages.message(ref).seq);
  request.extended.us += more.us;
  // Who asks in the pause before the next try is still at work: the pause is off.
  t.pending.set_due(request, (request.pauses ? t.now : request.due) + more);
  request.pauses = false;
  const DeliveryRef delivery = t.messages.delivery_to(ref, context.actor);
  if (delivery != none && is_held(t.messages.delivery(delivery).state)) {
    const Duration lease = default_lease(t.rules, t.agents[context.actor].dialect);
    start_lease(t, delivery,
                std::max({lease, request.due - t.now, t.messages.delivery(delivery).due - t.now}));
  }
}

}  // namespace parley::core
