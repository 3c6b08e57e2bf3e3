// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/limits/token_bucket.h"
#include "core/model/delivery_state.h"
#include "core/model/envelope.h"
#include "core/model/refs.h"
#include "core/model/resume_mark.h"
#include "core/state/slots.h"

namespace parley::core {

// What is to be said of an answer. Written into snapshots: never renumber.
enum class Mark : uint8_t {
  plain = 0,
  late = 1,       // the one who asked had given up
  duplicate = 2,  // it was answered before
  modified = 3,   // people let it pass with a change, which the broker tells its receivers
};
constexpr Mark mark_last = Mark::modified;
constexpr std::string_view word_of(Mark mark) {
  return mark == Mark::late        ? "late"
         : mark == Mark::duplicate ? "duplicate"
         : mark == Mark::modified  ? "modified"
                                   : "plain";
}

// Over 150 lines: a message and its deliveries are one record each, and belong together.

// What the machine keeps of a message: a header. The rest stays in the journal, at `seq`.
struct Message {
  Seq seq;
  Time time;     // when it was accepted
  Time expires;  // time_max: never
  Duration ttl;  // zero: never expires
  MessageId id;
  Id128 key;             // idempotency key, or none
  Seq answer;            // the newest message that answered it, or none
  Seq cause;             // of a request: the one that its sender worked on, not answered then
  uint64_t number = 0;   // in its channel
  uint64_t content = 0;  // hash that tells a repeated message from another with its id
  AgentRef sender = none;
  AgentRef reply_to = none;  // where its sender wants the answers; none: to itself
  TopicRef topic = none;
  ThreadRef thread = none;        // of a request, while it waits for its answer there
  DeliveryRef deliveries = none;  // linked by Delivery::sibling, newest first
  uint32_t delivery_count = 0;
  uint32_t open = 0;  // deliveries that are not final
  uint32_t timer = none;
  uint32_t whole_bytes = 0;  // see MessageSizes
  uint32_t content_bytes = 0;
  uint32_t dead_letters = 0;  // unresolved ones that need it
  Priority priority = Priority::normal;
  Kind kind = Kind::notification;
  Dialect dialect = Dialect::flow;
  Durability durability = Durability::disk;
  bool retained = false;   // kept by its topic for late subscribers
  bool watched = false;    // someone waits for what becomes of it
  bool timed_out = false;  // no one waits for its answer any more
  Mark mark = Mark::plain;
  bool everyone = false;  // sent to `*`
  bool refused = false;   // its sender was told that its one receiver was away
  bool barred = false;    // people did not let it pass, or nobody did in time
  bool is_task = false;   // it gives a task, or did: see Tasks
  bool named = false;     // its sender gave it an id of another form, of which `id` is made
  bool is_own : 1 = false;  // the broker itself sent it
  bool blocks : 1 = false;  // someone may wait for its answer: see WaitGraph
  uint16_t links = 0;       // of the chain of causes behind it
  // Of what asks: answers with less confidence than this, in parts per million, wait for people.
  int32_t approve_below = 0;

  AgentRef answers_to() const { return reply_to == none ? sender : reply_to; }
  // To one receiver by name.
  bool is_direct() const { return topic == none && !everyone && delivery_count == 1; }
  bool to_many() const { return everyone || topic != none; }
  // Something is still to be done with it. What is not needed is remembered for a while.
  bool is_needed() const { return open > 0 || retained || dead_letters > 0 || watched; }
  // Fire and forget: to everyone, and no one waits for what becomes of it. See Broadcasts.
  bool is_memory_only() const {
    return everyone && durability == Durability::memory && !asks(kind) && !watched;
  }

  static void fields(auto& self, auto& field) {
    field("seq", self.seq);
    field("time", self.time);
    field("expires", self.expires);
    field("ttl", self.ttl);
    field("timer", self.timer, SlotOf::deadline);
    field("id", self.id);
    field("key", self.key);
    field("answer", self.answer);
    field("number", self.number);
    field("content", self.content, Form::fixed);
    field("sender", self.sender, SlotOf::agent);
    field("reply_to", self.reply_to, SlotOf::agent_or_none);
    field("topic", self.topic, SlotOf::topic_or_none);
    field("thread", self.thread, SlotOf::thread_or_none);
    field("whole_bytes", self.whole_bytes);
    field("content_bytes", self.content_bytes);
    field("priority", self.priority, priority_last);
    field("kind", self.kind, kind_last);
    field("dialect", self.dialect, dialect_last);
    field("durability", self.durability, durability_last);
    field("retained", self.retained);
    field("watched", self.watched);
    field("timed_out", self.timed_out);
    field("mark", self.mark, mark_last);
    field("everyone", self.everyone);
    field("refused", self.refused);
    field("named", self.named);
    field("is_task", self.is_task);
    field("barred", self.barred);
    field("cause", self.cause);
    field("links", self.links);
    field("approve_below", self.approve_below);
  }
};

// One message on its way to one receiver.
struct Delivery {
  Time changed;  // when `state` began
  Time due;      // end of the lease or of the delay
  MessageRef message = none;
  AgentRef receiver = none;
  DeliveryRef sibling = none;
  DeliveryRef prev = none;  // in the channel while it waits, in the stream's list while held there
  DeliveryRef next = none;
  StreamRef stream = none;  // that it was pushed to, while held
  uint32_t minor = 0;       // 1 for the message's first receiver, and so on
  uint32_t timer = none;
  // Of the stream that it is held by; or was, until its connection was lost. None after any other
  // way back, by which it is to be pushed again.
  ResumeMark mark;
  uint16_t attempts = 0;  // times handed out
  uint8_t failures = 0;   // those that were lost or refused
  State state = State::queued;
  uint8_t revivals = 0;      // times that the broker tried again by itself
  Gate gate = Gate::open;    // what it waits for, while it is delayed by that
  bool on_hold : 1 = false;  // it waits outside of the inbox: see Holds
  bool lost : 1 = false;     // one of its failures is that the connection with `mark` was lost
  // Its receiver may have seen it before its present stream pushed it, so its seq does not name one
  // push.
  bool may_be_known : 1 = false;
  bool open : 1 = false;  // it is not final; then these link those of its receiver
  DeliveryRef older = none;
  DeliveryRef newer = none;
};

// There are as many of them as of live messages: ARCHITECTURE.md says what each costs.
static_assert(sizeof(Message) == 160 && sizeof(Delivery) == 72);

// All records of a workspace. Messages owns them, and its parts keep their fields in them.
struct MessageRecords {
  Slots<Message> messages;
  Slots<Delivery> deliveries;

  Message& message_of(DeliveryRef ref) { return messages[deliveries[ref].message]; }
  const Message& message_of(DeliveryRef ref) const { return messages[deliveries[ref].message]; }
};

}  // namespace parley::core
