// SPDX-License-Identifier: Apache-2.0
// How an answer finds its question, and what it ends.
#include "core/requests/answers.h"

#include <algorithm>

#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/model/refusal.h"
#include "core/requests/deadlock.h"

namespace parley::core {

namespace {

using base::Code;

void end_answered(Context& context, MessageRef question, AgentRef by, MessageRef answer,
                  Status status) {
  Tables& t = context.t;
  const DeliveryRef asked = t.messages.delivery_to(question, by);
  const State state = t.messages.delivery(asked).state;
  if (is_final(state) && state != State::acked) {
    return;
  }
  context.dispatch.settle(asked, State::answered);
  t.messages.message(question).answer = context.entry.seq;
  context.requests.answered(question, by, answer, status);
  if (!t.messages.message(question).watched) {  // else Requests does both when it is over
    end_thread_request(context.dispatch, question);
    unblock(t, question);
  }
  context.dispatch.pump(by);
}

// The requests that were passed on to come to this one, up to that whose asker gets the answer; the
// newest first. None where its own asker does, who may have more to say.
std::vector<MessageRef> passed_on(const Tables& t, MessageRef question, const Envelope& answer) {
  std::vector<MessageRef> found;
  size_t count = 0;
  const auto gets = [&](AgentRef agent) {
    return std::ranges::find(answer.receivers, t.agents[agent].name) != answer.receivers.end();
  };
  for (MessageRef at = question;
       t.messages.message(at).cause.n != 0 && !gets(t.messages.message(at).sender);) {
    at = t.messages.find(t.messages.message(at).cause);
    if (at == none) {
      break;
    }
    found.push_back(at);
    count = gets(t.messages.message(at).answers_to()) ? found.size() : count;
  }
  found.resize(count);
  return found;
}

}  // namespace

AgentRef asked_alone(const Tables& t, MessageRef ref) {
  const Message& message = t.messages.message(ref);
  if (message.is_direct()) {
    return t.messages.delivery(message.deliveries).receiver;
  }
  const Task* const task = t.tasks.find(message.seq);
  const AgentRef specialist = task == nullptr ? none : t.agents.find(task->specialist);
  const bool has_it = specialist != none && t.messages.delivery_to(ref, specialist) != none;
  return has_it ? specialist : none;
}

void enter_answer(Context& context, MessageRef question, MessageRef answer, const Envelope& e) {
  Tables& t = context.t;
  const std::vector<MessageRef> before = passed_on(t, question, e);
  const MessageRef first = before.empty() ? question : before.back();
  const DeliveryRef asked = t.messages.delivery_to(question, context.actor);
  Message& added = t.messages.message(answer);
  added.mark = t.messages.delivery(asked).state == State::answered ? Mark::duplicate
               : t.messages.message(first).timed_out               ? Mark::late
                                                                   : Mark::plain;
  end_answered(context, question, context.actor, answer, e.status);
  AgentRef by = t.messages.message(question).sender;
  for (const MessageRef ref : before) {
    end_answered(context, ref, by, answer, e.status);
    note_task_answered(context, t.messages.delivery(t.messages.delivery_to(ref, by)), e);
    by = t.messages.message(ref).sender;
  }
}

// Two senders may have used the same id: of those whose answers go to a receiver of this one first.
std::expected<MessageRef, Error> find_question(const ConstContext& context, const Envelope& e) {
  const Tables& t = context.t;
  if (e.kind != Kind::response || context.actor == none) {  // the broker's own answers nothing
    return none;
  }
  for (const std::string_view name : e.receivers) {
    const AgentRef asker = t.agents.find(name);
    const MessageRef asked =
        asker == none ? none : t.messages.find_received(context.actor, e.in_reply_to, asker);
    if (asked != none) {
      return asked;
    }
  }
  const MessageRef other = t.messages.find_received(context.actor, e.in_reply_to);
  if (other != none && !passed_on(t, other, e).empty()) {
    return other;
  }
  if (other == none) {
    return refuse(Code::not_found, "in_reply_to names no message that was sent to you",
                  "/in_reply_to");
  }
  return refuse(Code::bad_request,
                "the answer goes to \"" + t.agents[t.messages.message(other).answers_to()].name +
                    "\", who wants it; name it as a receiver",
                "/receiver");
}

bool is_awaited(const Tables& t, MessageRef question, AgentRef by) {
  return asks(t.messages.message(question).kind) &&
         t.messages.delivery(t.messages.delivery_to(question, by)).state != State::answered;
}

}  // namespace parley::core
