// SPDX-License-Identifier: Apache-2.0
// Requests that wait for an answer, and the way of all that is pending to what it is.
#include "core/requests/requests.h"

#include <algorithm>

#include "base/check.h"
#include "core/agents/presence.h"
#include "core/humans/escalation_acts.h"
#include "core/limits/breaker_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/acknowledgements.h"
#include "core/requests/answers.h"
#include "core/requests/due.h"
#include "core/requests/gather_acts.h"
#include "core/requests/pipeline_acts.h"
#include "core/requests/tries.h"
#include "core/requests/watching.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

// Each member or stage must be there when it starts; a topic or everyone cannot be one.
std::expected<void, Error> check_names(const Tables& t, const Send& command) {
  std::vector<std::string_view> names = command.later_stages;
  if (command.gathering || !names.empty()) {
    names.insert(names.end(), command.envelope.receivers.begin(), command.envelope.receivers.end());
  }
  for (const std::string_view name : names) {
    const AgentRef ref = t.agents.find(name);
    if (ref == none || !t.agents[ref].is_registered()) {
      return refuse(Code::receiver_not_found,
                    "no agent is named \"" + std::string(name.substr(0, 256)) + "\"",
                    command.gathering ? "/receivers" : "/stages");
    }
  }
  return {};
}

// Whom the request was sent to, in a word for its sender.
std::string receivers_of(const Tables& t, MessageRef ref) {
  const Message& message = t.messages.message(ref);
  if (message.topic != none) {
    return t.topics[message.topic].name;
  }
  const AgentRef asked = asked_alone(t, ref);
  return asked != none ? t.agents[asked].name
                       : std::to_string(message.delivery_count) + " receivers";
}

}  // namespace

bool Requests::wants(const Tables& t, const Send& command, bool to_many) {
  const Envelope& e = command.envelope;
  if (command.gathering || !command.later_stages.empty()) {
    return true;
  }
  if (const OutboxItem* item =
          command.outbox_item == 0 ? nullptr : t.outbox.find(command.outbox_item)) {
    return item->kind == OutboxKind::stage;
  }
  // The answer to what asks is its acknowledgement.
  return asks(e.kind) ? timeout_of(t.rules, e, to_many).us > 0 : e.requires_ack;
}

std::expected<void, Error> Requests::check(const Tables& t, const Send& command) {
  // A pipeline that has begun goes on, whatever the rules say since.
  if (command.envelope.response_timeout > t.rules.timeout_max && command.outbox_item == 0) {
    return refuse(Code::bad_request,
                  "a response_timeout is at most " + base::format_duration(t.rules.timeout_max) +
                      " (timeout_max)",
                  "/response_timeout");
  }
  if (command.outbox_item == 0 && wants(t, command, false)) {
    if (auto good = check_room(t, command.envelope.sender); !good) {
      return good;
    }
  }
  if (command.gathering) {
    if (auto good = check_gather(t, command); !good) {
      return good;
    }
  }
  if (!command.later_stages.empty()) {
    if (auto good = check_pipeline(t, command); !good) {
      return good;
    }
  }
  return check_names(t, command);
}

std::expected<void, Error> Requests::check_room(const Tables& t, std::string_view owner) {
  if (t.pending.requests().size() >= t.rules.requests_max) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.rules.requests_max) +
                      " unanswered requests already (requests_max)",
                  "");
  }
  const uint64_t asked = t.pending.requests_of(owner);
  if (asked < share_of(t.rules, t.rules.requests_max)) {
    return {};
  }
  return refuse_share("you wait for " + std::to_string(asked) + " answers", "requests_max",
                      "wait until some have come, or their time is over");
}

void Requests::begin(const Send& command, MessageRef message, const OutboxItem* item) {
  const Envelope& e = command.envelope;
  const bool to_many = t_.messages.message(message).to_many();
  if (command.gathering) {
    begin_gather(dispatch_, command, message);
  } else if (!command.later_stages.empty()) {
    begin_pipeline(dispatch_, command, message);
  } else if (item != nullptr) {
    begin_stage(dispatch_, *item, message);
  } else if (asks(e.kind)) {
    await_answer(dispatch_, message, timeout_of(t_.rules, e, to_many), e.on_timeout, {});
  } else if (e.kind == Kind::broadcast || to_many) {
    begin_roll_call(dispatch_, message);
  } else {
    begin_acknowledgements(dispatch_, e, message);
  }
}

void Requests::answered(MessageRef question, AgentRef by, MessageRef answer, Status status) {
  const Seq seq = t_.messages.message(question).seq;
  const Seq response = t_.messages.message(answer).seq;
  if (t_.messages.message(question).watched) {
    broker_topics::task(dispatch_, question, broker_topics::task_status(status), by);
  }
  if (Gather* const gather = t_.pending.find_gather(seq);
      gather != nullptr && gather->state == GatherState::open) {
    gather_answered(dispatch_, *gather, by, response, status);
    return;
  }
  const PendingRequest* const request = t_.pending.find_request(seq);
  if (request != nullptr && request->awaited == Awaited::answer) {
    const Seq pipeline = request->pipeline;
    end_pending(dispatch_, seq);
    stage_answered(dispatch_, pipeline, response, status);
  }
}

void Requests::settle() {
  // What follows from one may end others. Not where a delivery ends: the move that ended it would
  // not be over, and a fan-out not complete.
  for (auto ended = dispatch_.take_ended(); !ended.empty(); ended = dispatch_.take_ended()) {
    for (const MessageRef message : ended) {
      if (t_.messages.message(message).watched) {
        delivery_ended(message);
      }
    }
  }
}

// One delivery of a watched message has ended, or several have.
void Requests::delivery_ended(MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  if (Gather* const gather = t_.pending.find_gather(message.seq)) {
    gather_delivery_ended(dispatch_, *gather, ref);
    return;
  }
  const PendingRequest* const request = t_.pending.find_request(message.seq);
  if (request == nullptr) {
    return;
  }
  switch (request->awaited) {
    case Awaited::roll_call:
      if (message.open == 0) {
        report_roll_call(dispatch_, ref);
      }
      return;
    case Awaited::acknowledgements:
      if (message.open == 0) {
        report_acknowledgements(dispatch_, ref, true);
      }
      return;
    case Awaited::answer:
      if (t_.messages.has_failed(ref)) {
        const Seq pipeline = request->pipeline;
        end_pending(dispatch_, message.seq);  // its sender hears of the dead letter
        broker_topics::task(dispatch_, ref, "failed");
        stage_failed(dispatch_, pipeline, "the message could not be delivered");
      }
      return;
  }
}

void Requests::advance() {
  for (size_t n = 0; n < due_max && t_.pending.next().at <= t_.now; ++n) {
    const PendingWork::Due due = t_.pending.next();
    switch (due.kind) {
      case PendingWork::Kind::request:
        request_due(*t_.pending.find_request(due.seq));
        break;
      case PendingWork::Kind::gather:
        gather_due(dispatch_, *t_.pending.find_gather(due.seq));
        break;
      case PendingWork::Kind::pipeline:
        pipeline_due(dispatch_, *t_.pending.find_pipeline(due.seq));
        break;
    }
  }
}

void Requests::request_due(PendingRequest& request) {
  const MessageRef message = t_.messages.find(request.message);
  CHECK(message != none);
  if (request.awaited == Awaited::roll_call) {
    report_roll_call(dispatch_, message);
    return;
  }
  if (request.awaited == Awaited::acknowledgements) {
    report_acknowledgements(dispatch_, message, false);
    return;
  }
  const Message& asked = t_.messages.message(message);
  const auto pause = request.on_timeout == OnTimeout::retry
                         ? retry_pause(t_.rules, asked.dialect, asked.to_many(), request.retries)
                         : std::nullopt;
  if (pause && pause->us > 0 && !request.pauses) {
    request.pauses = true;
    t_.pending.set_due(request, t_.now + *pause);
    return;
  }
  if (!request.failed) {
    presence::unanswered(dispatch_, message, request.timeout);
  }
  if (pause) {
    request.pauses = false;
    request.failed = false;
    ++request.retries;
    t_.pending.set_due(request, t_.now + request.timeout);
    dispatch_.emit(RequestTimedOut{.message = request.message, .is_final = false});
    broker_topics::task(dispatch_, message, "retried");
    send_again(message);
    return;
  }
  time_out(request, message);
}

// The same message with the same id and key, to whoever has it and does not answer. One that waits
// in an inbox needs no second time.
void Requests::send_again(MessageRef ref) {
  std::vector<DeliveryRef> deliveries;
  for (DeliveryRef d = t_.messages.message(ref).deliveries; d != none;
       d = t_.messages.delivery(d).sibling) {
    deliveries.push_back(d);
  }
  // Where the sender names a moment, a new try does not move it.
  const Message& message = t_.messages.message(ref);
  const Time end =
      policy_of(message.dialect).retries_keep_expiry ? message.expires : base::time_max;
  const AgentRef asked = asked_alone(t_, ref);
  for (auto at = deliveries.rbegin(); at != deliveries.rend(); ++at) {
    const State state = t_.messages.delivery(*at).state;
    const AgentRef receiver = t_.messages.delivery(*at).receiver;
    const Agent& agent = t_.agents[receiver];
    if (asked != none && receiver != asked) {
      continue;  // the task went from it to another
    }
    if (state == State::acked && agent.is_registered() && end > t_.now &&
        t_.has_room(receiver, message.sender)) {
      dispatch_.revive(*at);
      if (end != base::time_max) {
        t_.messages.deadlines.set_expiry(ref, end);
      }
    } else if (is_held(state)) {
      dispatch_.give_back(*at, Duration{}, false, "");
    } else {
      continue;
    }
    dispatch_.pump(receiver);
  }
}

void Requests::time_out(const PendingRequest& pending, MessageRef ref) {
  const PendingRequest request = pending;  // which ends here
  Message& message = t_.messages.message(ref);
  message.timed_out = true;
  const std::string sender = t_.agents[message.sender].name;
  const std::string receivers = receivers_of(t_, ref);
  note_unanswered(t_, ref, request.timeout);
  if (const AgentRef asked = asked_alone(t_, ref); asked != none) {
    t_.agents[asked].work.timed_out(t_.now);
  }
  end_pending(dispatch_, request.message);
  dispatch_.emit(RequestTimedOut{.message = request.message, .is_final = true});
  broker_topics::task(dispatch_, ref, "timed_out");
  const std::string why =
      receivers + " did not answer within " + base::format_duration(request.timeout) +
      (request.retries == 0 ? std::string()
                            : ", asked " + std::to_string(request.retries + 1) + " times");
  if (request.pipeline.n != 0) {  // whose owner is told that it failed, and no more
    stage_failed(dispatch_, request.pipeline, why);
    return;
  }
  if (const AgentRef asked = asked_alone(t_, ref);
      policy_of(message.dialect).retries_tasks && asked != none) {
    task_timed_out(request, ref, asked, why);
    return;
  }
  OutboxItem item{.kind = OutboxKind::request_timed_out, .to = sender, .about = request.message};
  item.facts = {{"code", std::string("TIMEOUT")},
                {"receiver", receivers},
                {"timeout", request.timeout},
                {std::string(retries_fact), int64_t{request.retries}},
                {"detail", why}};
  if (request.on_timeout == OnTimeout::escalate) {
    const uint64_t id = escalate_if_room(dispatch_, {.cause = EscalationCause::request_timed_out,
                                                     .about = request.message,
                                                     .agent = sender,
                                                     .receiver = receivers,
                                                     .why = why});
    if (id != 0) {
      item.facts.push_back(count_of("escalation", id));
    }
  }
  owe(dispatch_, std::move(item));
}

// SP-05, SP-06: one failure, in the words that its giver knows, and people get it.
void Requests::task_timed_out(const PendingRequest& request, MessageRef ref, AgentRef asked,
                              const std::string& why) {
  std::vector<Fact> facts = {
      {"code", std::string("TIMEOUT")},
      {"error_type", std::string("timeout")},
      {std::string(retry_count_fact), int64_t{request.retries}},
      {"is_recoverable", true},
      {"suggested_action", std::string("look at why it does not answer, or give it to another")},
      {"timeout", request.timeout},
      {"detail", why}};
  const uint64_t id = escalate_if_room(dispatch_, {.cause = EscalationCause::request_timed_out,
                                                   .about = request.message,
                                                   .agent = request.owner,
                                                   .receiver = t_.agents[asked].name,
                                                   .why = why});
  if (id != 0) {
    facts.push_back(count_of("escalation", id));
  }
  tell_task_failed(dispatch_, ref, asked, std::move(facts));
}

// What the agent owns ends before what waits for it fails, so that a pipeline of its own of which
// it is the next stage is not escalated.
void Requests::left(std::string_view name) {
  end_pipelines_of(dispatch_, name);
  end_gathers_of(dispatch_, name);
  fail_pipelines_before(dispatch_, name);
}

void advance_requests(Dispatch& dispatch) {
  Requests requests(dispatch.t, dispatch);
  requests.settle();
  requests.advance();
  requests.settle();
}

Time requests_due(const Tables& t) { return t.pending.next().at; }

}  // namespace parley::core
