// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/tables.h"
#include "core/model/effect.h"

namespace parley::core {

// What each room does at most of what is due, in one entry or tick; the rest waits for the next.
constexpr size_t due_max = 512;

// When a message expires whose time to live begins now; time_max for one that has none.
inline Time expiry_of(Duration ttl, Time now) { return ttl.us > 0 ? now + ttl : base::time_max; }

// Starts the lease of a delivery anew that its receiver has.
inline void start_lease(Tables& t, DeliveryRef ref, Duration lease) {
  t.messages.deadlines.start_due(ref, t.now + lease);
}

// Moves deliveries from one state to the next: the only place where that happens, but for a delay
// that ends inside of an inbox. Every move keeps the tables in step (inboxes, streams, deadlines,
// counts) and says what it did in the effects.
// Made anew for each entry. A message stays in the tables until it is forgotten at the end of an
// entry, so references are good throughout.
class Dispatch {
 public:
  Dispatch(WorkspaceId workspace, Tables& tables, std::vector<Effect>& effects)
      : t(tables),
        first_outbox_item(tables.outbox.next_id()),
        workspace_(workspace),
        effects_(effects) {}

  Tables& t;
  const uint64_t first_outbox_item;  // that this entry can make

  // A message goes to several, one after the other: it is not finished in between, even where those
  // that have it so far are done with it.
  void begin_fan_out(MessageRef message) { fanned_out_ = message; }
  void end_fan_out(MessageRef message);

  // Addresses the message to one more receiver: it waits in its inbox, or is handed out at once,
  // or is a dead letter where the receiver is not registered or its inbox is full. Without a
  // `passage` no rate limit applies. Returns false only for a publication of the broker to a full
  // inbox, which is left out; the broker's notices always have room.
  bool deliver(MessageRef message, AgentRef receiver, Passage& passage);
  bool deliver(MessageRef message, AgentRef receiver);

  // Addresses the message to one who is away, and for whom it must not wait: it is tried again, as
  // its sender's dialect has it, or is a dead letter at once.
  void deliver_if_there(MessageRef message, AgentRef receiver);
  // What its receiver could not take is tried again. If that fails, it is tried later, or is a dead
  // letter when it was tried often enough.
  void retry(DeliveryRef ref);

  // Hands out what waits, as far as the agent's streams have room, and says if more waits. Call it
  // after each move that lets something wait or makes room.
  void pump(AgentRef agent);

  // The most urgent delivery that waits and can be handed out; none when there is none.
  DeliveryRef next_waiting(AgentRef agent);

  // Hands a waiting delivery to its receiver, with a lease: to a stream, or none.
  void hand_out(DeliveryRef ref, StreamRef stream, State state);
  // The receiver of a delivery that is handed out asked for it by name. Its lease goes on.
  void mark_read(DeliveryRef ref) { set_state(ref, State::read); }

  // Ends the lease: it waits again, after `delay`, and is to be pushed again whoever saw it. If it
  // `failed` that counts: one that failed too often is a dead letter. The error is kept anyway.
  // Does not pump: several may go back first.
  void give_back(DeliveryRef ref, Duration delay, bool failed, std::string_view error);

  // Ends an unsettled delivery as acked or answered, or marks an acked one as answered.
  void settle(DeliveryRef ref, State state);

  // Ends an unsettled delivery as a dead letter; its state follows from the reason.
  void dead_letter(DeliveryRef ref, Reason reason, std::string_view error);
  // Ends a waiting delivery that cannot be handed out any more. False: it can.
  bool dead_letter_unfit(DeliveryRef ref);
  // Its receiver was removed.
  void dead_letter_removed(DeliveryRef ref);
  // The same, later: with the next ticks. Whoever is registered with the name meanwhile has nothing
  // of it.
  void leave_for_removal(DeliveryRef ref);

  // Takes an unsettled delivery away from its receiver. There is no dead letter: another has it.
  void withdraw(DeliveryRef ref, std::string why);

  // Its time to live begins anew: it goes to one more receiver than its sender named.
  void renew_expiry(MessageRef message);
  // Brings a dead letter's delivery back, with a fresh time to live and no attempts. Does not pump.
  void revive(DeliveryRef ref);

  // Remembers a message that nothing needs any more, for duplicates and questions; does nothing
  // while something does. Each move that ends a delivery does it. Call it where something else ends
  // that needed the message: a dead letter, a retained one, a watched one.
  void finish(MessageRef ref);

  // Watched messages of which a delivery ended in this entry: Requests asks for them, and adds
  // those that may have failed before they were watched.
  void note_ended(MessageRef message) { ended_.push_back(message); }
  std::vector<MessageRef> take_ended() { return std::exchange(ended_, {}); }

  // What people decided left the inboxes where it waited: core/humans/held.h asks for it.
  std::vector<Seq> take_read() { return std::exchange(read_, {}); }

  // Adds to the effects of the entry.
  template <class E>
  void emit(E effect) {
    effect.workspace = workspace_;
    effects_.push_back(effect);
  }

 private:
  void set_state(DeliveryRef ref, State state);
  void leave(DeliveryRef ref);
  void line_up(DeliveryRef ref);
  void end(DeliveryRef ref, State state);
  void add_dead_letter(DeliveryRef ref, Reason reason, std::string_view error);
  void fail_or_retry(DeliveryRef ref, Gate gate, Reason reason);
  StreamRef stream_for(DeliveryRef ref) const;
  void link(DeliveryRef ref, Stream& stream, const ResumeMark& before);
  void tell_of_mail(AgentRef agent);

  WorkspaceId workspace_;
  std::vector<Effect>& effects_;
  std::vector<MessageRef> ended_;
  std::vector<Seq> read_;
  MessageRef fanned_out_ = none;
};

// All unsettled deliveries of one receiver, oldest message first. Walks all there are.
std::vector<DeliveryRef> unsettled_of(const Tables& t, AgentRef agent);
// Those of one message, newest first; none where it is forgotten.
std::vector<DeliveryRef> open_of(const Tables& t, MessageRef message);

}  // namespace parley::core
