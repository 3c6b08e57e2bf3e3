// SPDX-License-Identifier: Apache-2.0
// What a receiver does with its mail: reads, takes, acknowledges, gives back, rejects, extends.
#include "core/delivery/receiving.h"

#include "core/conversation/task_acts.h"
#include "core/humans/held.h"
#include "core/model/refusal.h"
#include "core/requests/pipeline_acts.h"

namespace parley::core {

namespace {

using base::Code;

// What the receiver of a message that is on hold is told.
HoldWords hold_words(const Tables& t, DeliveryRef ref) {
  const AgentRef receiver = t.messages.delivery(ref).receiver;
  return words_of(t.holds.find(t.messages.message_of(ref).seq, receiver)->reason);
}

// The actor's delivery of the message that is meant.
std::expected<DeliveryRef, Error> find_delivery(const ConstContext& context, const Target& target) {
  const Tables& t = context.t;
  const MessageRef message = context.actor == none ? none
                             : target.seq.n != 0
                                 ? t.messages.find(target.seq)
                                 : t.messages.find_received(context.actor, target.id);
  const DeliveryRef delivery =
      message == none ? none : t.messages.delivery_to(message, context.actor);
  if (delivery == none || t.messages.delivery(delivery).gate == Gate::removed) {
    return refuse(Code::not_found, "no such message was sent to you");
  }
  return delivery;
}

// For what only the holder of a lease can do.
std::expected<DeliveryRef, Error> find_held(const ConstContext& context, const Target& target) {
  const Tables& t = context.t;
  const auto found = find_delivery(context, target);
  if (!found) {
    return found;
  }
  const Delivery& delivery = t.messages.delivery(*found);
  if (is_final(delivery.state)) {
    return refuse(Code::already_settled, "the message is " +
                                             std::string(state_name(delivery.state)) + " since " +
                                             base::format_time(delivery.changed));
  }
  if (!is_held(delivery.state) && delivery.on_hold) {
    const HoldWords words = hold_words(t, *found);
    return refuse(words.code, std::string(words.to_settle));
  }
  if (!is_held(delivery.state)) {
    return refuse(Code::not_delivered, delivery.attempts == 0
                                           ? "the message waits in your inbox; read it first"
                                           : "your lease on the message is over; read it again");
  }
  return found;
}

// What comes of a message that its receiver has read and holds now.
void note_read(Context& context, DeliveryRef ref, const Read& command) {
  Tables& t = context.t;
  const Message& message = t.messages.message_of(ref);
  if (command.as && policy_of(*command.as).reading_settles && !asks(message.kind)) {
    context.dispatch.settle(ref, State::acked);
    return;
  }
  const Dialect dialect = command.as.value_or(t.agents[context.actor].dialect);
  start_lease(t, ref, default_lease(t.rules, dialect));
  note_task_read(context.dispatch, t.messages.delivery(ref));
}

// All that the stream handed out up to a mark: its list is in the order of its marks.
Outcome acknowledge_upto(Context& context, const Ack& command) {
  Tables& t = context.t;
  const StreamRef ref = t.streams.find(command.stream);
  const Stream* const stream = ref == none ? nullptr : &t.streams[ref];
  if (stream == nullptr || stream->agent != context.actor ||
      stream->number != command.upto.stream || stream->handed_out < command.upto.number) {
    return refuse(Code::not_delivered, "this stream has not handed out what the mark names");
  }
  Receipt receipt;
  while (stream->first != none && t.messages.delivery(stream->first).mark <= command.upto) {
    receipt.message = t.messages.message_of(stream->first).seq;
    context.dispatch.settle(stream->first, State::acked);
    ++receipt.count;
  }
  context.dispatch.pump(context.actor);
  return receipt;
}

}  // namespace

Checked check(const ConstContext& context, const Read& command) {
  return checked(find_delivery(context, command.target));
}

Outcome on(Context& context, const Read& command) {
  Tables& t = context.t;
  const auto found = find_delivery(context, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  const Delivery& delivery = t.messages.delivery(*found);
  const Receipt receipt{.message = t.messages.message_of(*found).seq, .count = 1};
  if (is_final(delivery.state)) {
    return receipt;
  }
  if (is_held(delivery.state)) {
    context.dispatch.mark_read(*found);
    note_read(context, *found, command);
    context.dispatch.pump(context.actor);  // what it settled may have had a place in a stream
    return receipt;
  }
  if (delivery.on_hold && t.messages.message_of(*found).expires > t.now) {
    const HoldWords words = hold_words(t, *found);
    return refuse(words.code, std::string(words.to_read));
  }
  if (!context.dispatch.dead_letter_unfit(*found)) {
    context.dispatch.hand_out(*found, none, State::read);
    note_read(context, *found, command);
  }
  context.dispatch.pump(context.actor);  // a delayed one held its channel up
  return receipt;
}

Outcome on(Context& context, const Take& command) {
  Tables& t = context.t;
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal has an inbox");
  }
  if (command.count_max == 0 || command.count_max > t.rules.window_max) {
    return refuse(Code::bad_request,
                  "take 1 to " + std::to_string(t.rules.window_max) + " messages (window_max)");
  }
  Receipt receipt;
  for (DeliveryRef next = context.dispatch.next_waiting(context.actor);
       next != none && receipt.count < command.count_max;
       next = context.dispatch.next_waiting(context.actor)) {
    context.dispatch.hand_out(next, none, State::offered);
    ++receipt.count;
    release_decided(context.dispatch);  // what it changed comes next
  }
  return receipt;
}

Checked check(const ConstContext& context, const Ack& command) {
  if (command.stream != stream_none) {
    return {};
  }
  return checked(find_delivery(context, command.target));
}

Outcome on(Context& context, const Ack& command) {
  Tables& t = context.t;
  if (command.stream != stream_none) {
    return acknowledge_upto(context, command);
  }
  const auto found = find_delivery(context, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  const Seq message = t.messages.message_of(*found).seq;
  const Delivery& delivery = t.messages.delivery(*found);
  if (delivery.state == State::acked || delivery.state == State::answered) {
    return Receipt{.message = message};  // told twice, done once
  }
  if (is_final(delivery.state)) {
    return refuse(Code::already_settled, "the message is " +
                                             std::string(state_name(delivery.state)) + " since " +
                                             base::format_time(delivery.changed));
  }
  if (delivery.on_hold && delivery.attempts == 0) {
    const HoldWords words = hold_words(t, *found);
    return refuse(words.code, std::string(words.to_settle));
  }
  if (delivery.attempts == 0) {
    return refuse(Code::not_delivered, "the message waits in your inbox; read it first");
  }
  // One whose lease is over may wait again: the work is done, so it is not handed out twice.
  context.dispatch.settle(*found, State::acked);
  context.dispatch.pump(context.actor);
  return Receipt{.message = message, .count = 1};
}

Checked check(const ConstContext& context, const Nack& command) {
  return checked(find_held(context, command.target));
}

Outcome on(Context& context, const Nack& command) {
  Tables& t = context.t;
  const auto found = find_held(context, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (command.delay > t.rules.nack_delay_max) {
    return refuse(Code::bad_request,
                  "a message can be put off by at most " +
                      base::format_duration(t.rules.nack_delay_max) + " (nack_delay_max)",
                  "/retry_after");
  }
  put_off_stage(t, *found, command.delay);
  context.dispatch.give_back(*found, command.delay, command.failed, command.reason);
  context.dispatch.pump(context.actor);
  return Receipt{.message = {}, .count = 1};
}

Checked check(const ConstContext& context, const Reject& command) {
  return checked(find_held(context, command.target));
}

Outcome on(Context& context, const Reject& command) {
  const auto found = find_held(context, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  context.dispatch.dead_letter(*found, Reason::rejected, command.reason);
  context.dispatch.pump(context.actor);
  return Receipt{.message = {}, .count = 1};
}

Checked check(const ConstContext& context, const Extend& command) {
  return checked(find_held(context, command.target));
}

Outcome on(Context& context, const Extend& command) {
  Tables& t = context.t;
  const auto found = find_held(context, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (command.lease > t.rules.lease_max) {
    return refuse(Code::bad_request,
                  "a lease is at most " + base::format_duration(t.rules.lease_max) + " (lease_max)",
                  "/lease");
  }
  start_lease(t, *found,
       command.lease.us > 0 ? command.lease
                            : default_lease(t.rules, t.agents[context.actor].dialect));
  return Receipt{.message = {}, .count = 1};
}

}  // namespace parley::core
