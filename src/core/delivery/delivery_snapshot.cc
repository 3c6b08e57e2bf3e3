// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/delivery_snapshot.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/conversation/session_acts.h"
#include "core/debates/debate_acts.h"
#include "core/humans/held.h"
#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"
#include "core/model/entry.h"

namespace parley::core {

namespace {

// What a snapshot keeps of a delivery. The rest follows: where it waits from its state, in which
// stream it is from what the streams hold.
struct DeliveryRow {
  AgentRef receiver = none;
  State state = State::queued;
  Time changed;
  Time due;                // of a lease or a delay
  Gate gate = Gate::open;  // of a delay
  uint16_t attempts = 0;
  uint8_t failures = 0;
  uint8_t revivals = 0;
  bool may_be_known = false;
  ResumeMark mark;  // and below, of one that has not ended
  ResumeMark former_mark;
  bool lost = false;
  std::string last_error;
  std::string redirected;

  bool has_deadline() const { return is_held(state) || state == State::delayed; }

  static void fields(auto& self, auto& field) {
    field("receiver", self.receiver, SlotOf::agent);
    field("state", self.state, state_last);
    field("changed", self.changed);
    if (self.has_deadline()) {
      field("due", self.due);
    }
    if (self.state == State::delayed) {
      field("gate", self.gate, gate_last);
    }
    field("attempts", self.attempts);
    field("failures", self.failures);
    field("revivals", self.revivals);
    field("may_be_known", self.may_be_known);
    if (!is_final(self.state)) {
      field("mark", self.mark);
      field("former_mark", self.former_mark);
      field("lost", self.lost);
    }
    field("last_error", self.last_error);
    field("redirected", self.redirected);
  }
};

std::string text_or_none(const std::string* text) { return text == nullptr ? "" : *text; }

DeliveryRow row_of(const Messages& messages, DeliveryRef ref) {
  const Delivery& delivery = messages.delivery(ref);
  return {.receiver = delivery.receiver,
          .state = delivery.state,
          .changed = delivery.changed,
          .due = delivery.due,
          .gate = delivery.gate,
          .attempts = delivery.attempts,
          .failures = delivery.failures,
          .revivals = delivery.revivals,
          .may_be_known = delivery.may_be_known,
          .mark = delivery.mark,
          .former_mark = messages.marks.former(ref),
          .lost = delivery.lost,
          .last_error = text_or_none(messages.notes.last_error(ref)),
          .redirected = text_or_none(messages.notes.redirected_from(ref))};
}

// Whether there can be such a delivery of the message; then it is there.
bool add_delivery(Tables& t, MessageRef message, DeliveryRow& row) {
  Agent& agent = t.agents[row.receiver];
  if ((!is_final(row.state) && row.gate != Gate::removed && !agent.is_registered())) {
    return false;
  }
  const DeliveryRef ref = t.messages.add_delivery(message, row.receiver, row.changed);
  Delivery& delivery = t.messages.delivery(ref);
  delivery.state = row.state;
  if (row.has_deadline()) {
    t.messages.deadlines.start_due(ref, row.due);
  }
  if (is_limit(row.gate) && is_of_former(t, message)) {
    const AgentRef sender = t.messages.message(message).sender;
    t.messages.gates.part(sender, t.agents[sender].since);
  }
  if (row.gate != Gate::open) {
    t.messages.gates.hold_up(ref, row.gate, row.due);
  }
  delivery.attempts = row.attempts;
  delivery.failures = row.failures;
  delivery.revivals = row.revivals;
  delivery.may_be_known = row.may_be_known;
  delivery.lost = row.lost;
  t.messages.marks.set(ref, row.mark, row.former_mark);
  if (!row.last_error.empty()) {
    t.messages.notes.set_last_error(ref, std::move(row.last_error));
  }
  if (!row.redirected.empty()) {
    t.messages.notes.set_redirected_from(ref, std::move(row.redirected));
  }
  ++agent.uses;
  if (is_final(row.state)) {
    t.messages.open.remove(ref);
    return true;
  }
  ++agent.inbox.unsettled;
  agent.inbox.senders.add(t.messages.message(message).sender);
  if (!is_held(row.state)) {  // paused sessions, which hold some, were restored before
    delivery.on_hold = t.holds.contains(t.messages.message(message).seq, row.receiver);
    agent.inbox.restore(t.messages, agent.discipline(), ref);
  }
  return true;
}

std::vector<MessageRef> messages_by_seq(const Tables& t) {
  std::vector<MessageRef> refs;
  refs.reserve(t.messages.size());
  t.messages.each([&](MessageRef ref, const Message&) { refs.push_back(ref); });
  std::ranges::sort(refs, {}, [&](MessageRef ref) { return t.messages.message(ref).seq; });
  return refs;
}

// Its deliveries, the first receiver's first.
std::vector<DeliveryRef> deliveries_of(const Messages& messages, const Message& message) {
  std::vector<DeliveryRef> deliveries;
  for (DeliveryRef d = message.deliveries; d != none; d = messages.delivery(d).sibling) {
    deliveries.push_back(d);
  }
  std::ranges::reverse(deliveries);
  return deliveries;
}

// Whether there can be such a message; then it is there, without its deliveries.
bool add_message(Tables& t, Message& row) {
  if (row.seq.n == 0 || (row.retained && row.topic == none) ||
      (!row.is_task && t.tasks.find(row.seq) != nullptr) || t.messages.find(row.seq) != none) {
    return false;
  }
  row.is_own = t.agents[row.sender].name == broker_sender;  // a name that no one else can have
  const MessageRef ref = t.messages.add(row);
  t.agents.use(row.sender);
  if (row.reply_to != none) {
    t.agents.use(row.reply_to);
  }
  if (row.topic != none) {
    t.topics.use(row.topic);
  }
  if (row.retained) {
    t.topics.retain(t.messages, row.topic, ref);
  }
  return true;
}

void decode_message(Tables& t, Message& row, SnapshotReader& in) {
  const bool has_deadline = std::exchange(row.timer, none) != none;
  if (!add_message(t, row)) {
    return in.in.fail();
  }
  const MessageRef ref = t.messages.find(row.seq);
  std::set<AgentRef> receivers;  // each once; there may be very many
  in.rows<DeliveryRow>([&](DeliveryRow& delivery) {
    return receivers.insert(delivery.receiver).second && add_delivery(t, ref, delivery);
  });
  if (has_deadline) {
    t.messages.deadlines.start_expiry(ref);
  }
}

// What each stream holds, in the order in which its client saw it: that is not the order of their
// places, and a client acknowledges all up to one.
void encode_held(const Tables& t, SnapshotWriter& out) {
  for (const AgentRef agent : out.agents.slots()) {
    for (const StreamRef ref : t.agents[agent].streams) {
      out.out.varint(t.streams[ref].held);
      for (DeliveryRef d = t.streams[ref].first; d != none; d = t.messages.delivery(d).next) {
        out.out.seq(t.messages.message_of(d).seq);
      }
    }
  }
}

void decode_held(Tables& t, SnapshotReader& in) {
  for (const StreamRef ref : in.streams) {
    Stream& stream = t.streams[ref];
    for (size_t left = in.in.count(); left > 0; --left) {
      const MessageRef message = t.messages.find(in.in.seq());
      const DeliveryRef d = message == none ? none : t.messages.delivery_to(message, stream.agent);
      if (d == none || !is_held(t.messages.delivery(d).state) ||
          t.messages.delivery(d).stream != none) {
        return in.in.fail();
      }
      t.messages.delivery(d).stream = ref;
      if (t.messages.delivery(d).mark.number == 0) {
        stream.last_seen = d;
      }
      t.messages.delivery(d).prev = stream.last;
      (stream.last == none ? stream.first : t.messages.delivery(stream.last).next) = d;
      stream.last = d;
      ++stream.held;
    }
  }
}

void encode_remembered(const Tables& t, Writer& out) {
  out.varint(t.remembered.size());
  for (uint32_t at = t.remembered.first(); at != none; at = t.remembered.next(at)) {
    out.seq(t.messages.message(t.remembered[at].message).seq);
    out.time(t.remembered[at].since);
    out.varint(t.remembered.weight(at));  // some of its receivers may be registered since
  }
}

void decode_remembered(Tables& t, Reader& in) {
  for (size_t left = in.count(); left > 0; --left) {
    const MessageRef message = t.messages.find(in.seq());
    const Time since = in.time();
    const uint64_t weight = in.varint();
    if (message == none || weight == 0 || weight > UINT32_MAX) {
      return in.fail();
    }
    t.remembered.add(t.agents[t.messages.message(message).sender].name, {message, since}, weight);
  }
}

}  // namespace

void encode_streams(const Tables& t, SnapshotWriter& out) {
  out.out.fixed32(t.streams.numbered());
  out.out.varint(t.streams.size());
  for (const AgentRef agent : out.agents.slots()) {
    for (const StreamRef ref : t.agents[agent].streams) {
      Stream::fields(t.streams[ref], out);
    }
  }
}

void decode_streams(Tables& t, SnapshotReader& in) {
  t.streams.set_numbered(in.in.fixed32());
  in.rows<Stream>([&](const Stream& stream) {
    Agent& agent = t.agents[stream.agent];
    if (!agent.is_registered() || t.streams.find(stream.id) != none) {
      return false;
    }
    in.streams.push_back(t.streams.add(stream));
    agent.streams.push_back(in.streams.back());
    return true;
  });
}

void encode_messages(const Tables& t, SnapshotWriter& out) {
  const std::vector<MessageRef> refs = messages_by_seq(t);
  out.out.varint(refs.size());
  for (const MessageRef ref : refs) {
    const Message& message = t.messages.message(ref);
    Message::fields(message, out);
    const std::vector<DeliveryRef> deliveries = deliveries_of(t.messages, message);
    out.out.varint(deliveries.size());
    for (const DeliveryRef delivery : deliveries) {
      const DeliveryRow row = row_of(t.messages, delivery);
      DeliveryRow::fields(row, out);
    }
  }
  encode_held(t, out);
  encode_remembered(t, out.out);
}

void decode_messages(Tables& t, SnapshotReader& in) {
  restore_session_holds(t);  // what a paused session holds is in no inbox
  restore_held(t);           // nor what people have to approve
  restore_challenged(t);     // nor what a reviewer's challenge holds up
  for (size_t left = in.in.count(); left > 0 && in.in.ok(); --left) {
    Message row;
    Message::fields(row, in);
    if (in.in.ok()) {
      decode_message(t, row, in);
    }
  }
  if (in.in.ok()) {
    decode_held(t, in);
    decode_remembered(t, in.in);
  }
}

}  // namespace parley::core
