// SPDX-License-Identifier: Apache-2.0
// How dead letters come about, and what people do with them.
#include "core/dead_letters/dead_letter_acts.h"

#include "base/check.h"
#include "base/text.h"
#include "core/agents/hub.h"
#include "core/conversation/task_acts.h"
#include "core/dead_letters/dead_letter_retry.h"
#include "core/delivery/routing.h"
#include "core/humans/escalation_acts.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

void redirect(Tables& t, DeliveryRef ref, AgentRef stand_in) {
  Delivery& delivery = t.messages.delivery(ref);
  t.messages.notes.set_redirected_from(ref, t.agents[delivery.receiver].name);
  note_task_redirected(t, delivery, stand_in);
  t.agents.use(stand_in);
  t.agents.release(delivery.receiver);
  t.messages.open.set_receiver(ref, stand_in);
}

}  // namespace

Checked check_letter_share(const ConstContext& context, size_t count) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return {};
  }
  const size_t open = t.dead_letters.open_of(t.agents[context.actor].name);
  if (open + count <= share_of(t.rules, t.rules.dead_letters_max)) {
    return {};
  }
  return refuse_share(
      "nobody has the name of " +
          (count == 1 ? std::string("a receiver") : std::to_string(count) + " receivers") +
          ", and you have " + std::to_string(open) + " open dead letters",
      "dead_letters_max", "correct the names, or let a maintainer discard or retry some",
      "/receiver");
}

bool keeps_malformed(const Tables& t, AgentRef sender, Time now) {
  const Agent& agent = t.agents[sender];
  const bool is_new_minute = agent.malformed_since + base::minutes(1) <= now;
  return (is_new_minute ? 0 : agent.malformed) < t.rules.malformed_per_min &&
         t.dead_letters.open_of(agent.name) < share_of(t.rules, t.rules.dead_letters_max);
}

bool dead_letter_malformed(Dispatch& dispatch, AgentRef sender, Seq seq, size_t bytes,
                           std::string_view error) {
  Tables& t = dispatch.t;
  if (!keeps_malformed(t, sender, t.now)) {
    return false;
  }
  Agent& agent = t.agents[sender];
  if (agent.malformed_since + base::minutes(1) <= t.now) {
    agent.malformed_since = t.now;
    agent.malformed = 0;
  }
  ++agent.malformed;
  DeadLetter letter;
  letter.message = seq;
  letter.sender = agent.name;
  letter.reason = Reason::malformed;
  letter.failed_at = t.now;
  letter.has_original = bytes <= t.rules.malformed_bytes_max;
  letter.last_error = base::cut(error, t.rules.reason_bytes_max);
  tell_of_dead_letter(dispatch, store_dead_letter(dispatch, std::move(letter)));
  return true;
}

uint64_t store_dead_letter(Dispatch& dispatch, DeadLetter letter) {
  Tables& t = dispatch.t;
  const uint64_t id = t.dead_letters.add(std::move(letter));
  const DeadLetter& added = *t.dead_letters.find(id);
  dispatch.emit(DeadLettered{.id = id, .message = added.message, .reason = added.reason});
  plan_retry(dispatch, *t.dead_letters.find(id));
  return id;
}

void tell_of_dead_letter(Dispatch& dispatch, uint64_t id) {
  Tables& t = dispatch.t;
  DeadLetter& added = *t.dead_letters.find(id);
  const bool malformed = added.reason == Reason::malformed;
  OutboxItem item{.kind = malformed ? OutboxKind::message_malformed : OutboxKind::delivery_failed,
                  .to = added.sender,
                  .about = added.message};
  item.facts = {{"seq", static_cast<int64_t>(added.message.n)}};
  if (!malformed) {
    // Who subscribes to a topic is not for the publisher.
    const MessageRef ref = t.messages.find(added.message);
    const TopicRef topic = ref == none ? none : t.messages.message(ref).topic;
    item.facts.push_back({"receiver", topic == none ? added.receiver : t.topics[topic].name});
    item.facts.push_back({"attempts", int64_t{added.retry_count}});
  }
  item.facts.push_back({"reason", std::string(reason_name(added.reason))});
  item.facts.push_back({"detail", added.last_error});
  item.facts.push_back({"failed_at", added.failed_at});
  item.facts.push_back({"dead_letter", static_cast<int64_t>(id)});
  added.notice = owe(dispatch, std::move(item));
}

void release_dead_letter(Dispatch& dispatch, const DeadLetter& letter) {
  Tables& t = dispatch.t;
  if (!letter.is_open() || letter.reason == Reason::malformed) {
    return;  // released when it was resolved; a malformed one has no header
  }
  const MessageRef ref = t.messages.find(letter.message);
  CHECK(ref != none);
  --t.messages.message(ref).dead_letters;
  dispatch.finish(ref);
}

Checked check(const ConstContext& context, const Malformed& command) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal sends messages");
  }
  if (command.text.size() > t.rules.malformed_bytes_max) {
    return refuse(Code::payload_too_large,
                  "at most " + std::to_string(t.rules.malformed_bytes_max) +
                      " bytes are kept of a malformed message (malformed_bytes_max)");
  }
  if (!keeps_malformed(t, context.actor, context.now())) {
    return refuse(Code::rate_limited,
                  "more malformed messages than are kept: in a minute (malformed_per_min), or as "
                  "one principal's share (share_percent of dead_letters_max)");
  }
  return {};
}

Outcome on(Context& context, const Malformed& command) {
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  (void)dead_letter_malformed(context.dispatch, context.actor, context.entry.seq,
                              command.text.size(), command.error);
  note_malformed(context, command.error);
  return Receipt{.message = context.entry.seq};
}

Checked check(const ConstContext& context, const ResolveDeadLetter& command) {
  const Tables& t = context.t;
  if (auto allowed = may_administer(context, Right::maintainer); !allowed) {
    return allowed;
  }
  const DeadLetter* const letter = t.dead_letters.find(command.id);
  if (letter == nullptr) {
    return refuse(Code::not_found, "there is no dead letter " + std::to_string(command.id));
  }
  const bool again =
      letter->resolution == Resolution::escalated && command.resolution == Resolution::escalated;
  if (!letter->is_open() || again) {
    return refuse(Code::conflict, "the dead letter was resolved by " + quoted(letter->resolved_by) +
                                      " at " + base::format_time(letter->resolved_at));
  }
  if (command.resolution == Resolution::pending) {
    return refuse(Code::bad_request, "a dead letter is retried, discarded or escalated");
  }
  if (command.resolution == Resolution::escalated && !t.escalations.has_room(t.rules)) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.escalations.open()) +
                      " open escalations, and no room for more (escalations_max); resolve some");
  }
  return {};
}

Outcome on(Context& context, const ResolveDeadLetter& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  DeadLetter* const letter = t.dead_letters.find(command.id);
  if (command.resolution == Resolution::retried) {
    return retry_dead_letter(context, *letter);
  }
  broker_topics::audit(context.dispatch, "dead_letter_resolved", context.entry.actor,
                       std::to_string(command.id));
  if (command.resolution == Resolution::escalated) {
    escalate_dead_letter(context.dispatch, *letter, context.entry.actor);
  } else {
    release_dead_letter(context.dispatch, *letter);
    t.dead_letters.resolve(*letter, command.resolution, context.entry.actor, t.now);
  }
  return Receipt{.message = letter->message};
}

Outcome retry_dead_letter(Context& context, DeadLetter& letter, AgentRef stand_in) {
  Tables& t = context.t;
  if (letter.reason == Reason::malformed) {
    return refuse(Code::conflict, "a malformed message cannot be delivered; send it corrected");
  }
  const AgentRef named = t.agents.find(letter.receiver);
  const AgentRef receiver = stand_in == none ? named : stand_in;
  if (receiver == none || !t.agents[receiver].is_registered()) {
    return refuse(Code::receiver_not_found, quoted(letter.receiver) + " is not registered");
  }
  if (t.load_of(receiver) >= t.rules.queue_max) {
    return refuse(Code::queue_full, "the inbox of " + quoted(letter.receiver) + " is full (" +
                                        std::to_string(t.rules.queue_max) + ", queue_max)");
  }
  const MessageRef message = t.messages.find(letter.message);
  if (!t.has_room(receiver, t.messages.message(message).sender)) {
    return refuse_full(t, receiver, t.messages.message(message).sender);
  }
  const DeliveryRef delivery = t.messages.delivery_to(message, named);
  if (stand_in != none) {
    redirect(t, delivery, stand_in);
  }
  context.dispatch.revive(delivery);
  release_dead_letter(context.dispatch,
                      letter);  // after it waits again, so that it is not taken for finished
  t.dead_letters.resolve(letter, Resolution::retried, context.entry.actor, t.now);
  broker_topics::audit(context.dispatch, "dead_letter_retried", context.entry.actor,
                       std::to_string(letter.id));
  context.dispatch.pump(receiver);
  return Receipt{.message = letter.message, .count = 1};
}

}  // namespace parley::core
