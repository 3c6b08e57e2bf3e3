// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/messages/delivery_notes.h"
#include "core/messages/gates.h"
#include "core/messages/message.h"
#include "core/messages/message_deadlines.h"
#include "core/messages/open_deliveries.h"
#include "core/messages/resume_marks.h"
#include "core/state/index.h"
#include "core/state/seq_pages.h"

namespace parley::core {

// All messages and deliveries of a workspace with their look-ups and their deadlines. Each of its
// parts keeps one concern in step by itself. Knows nothing of inboxes: it
// lists what is open to a receiver, and does not know in which order that is handed out.
class Messages {
 public:
  explicit Messages(uint64_t hash_seed) : seed_(hash_seed) {}
  Messages(const Messages&) = delete;  // the parts refer to the records
  Messages& operator=(const Messages&) = delete;

  MessageRef add(const Message& message);
  // It is open.
  DeliveryRef add_delivery(MessageRef message, AgentRef receiver, Time now);
  // Forgets the message and its deliveries, and all that the parts have of them.
  void remove(MessageRef ref);

  Message& message(MessageRef ref) { return records_.messages[ref]; }
  const Message& message(MessageRef ref) const { return records_.messages[ref]; }
  Delivery& delivery(DeliveryRef ref) { return records_.deliveries[ref]; }
  const Delivery& delivery(DeliveryRef ref) const { return records_.deliveries[ref]; }
  const Message& message_of(DeliveryRef ref) const { return records_.message_of(ref); }

  MessageRef find(Seq seq) const { return by_seq_.find(seq); }
  MessageRef find_sent(AgentRef sender, const MessageId& id) const;
  MessageRef find_key(AgentRef sender, const Id128& key) const;
  // The newest message with this id that was addressed to `receiver`; of those whose answers go to
  // `asker`, unless that is none.
  MessageRef find_received(AgentRef receiver, const MessageId& id, AgentRef asker = none) const;
  // Those that were addressed to `receiver`, are named by a text, and have this lower half of their
  // id, which is of that text alone: one for each sender at most.
  std::vector<MessageRef> find_named(AgentRef receiver, uint64_t id_low) const;
  DeliveryRef delivery_to(MessageRef message, AgentRef receiver) const;
  // Whether it had receivers and none of them got it.
  bool has_failed(MessageRef message) const;

  // All of them, in no order that means anything.
  template <class Visit>
  void each(Visit&& visit) const {
    records_.messages.each([&](MessageRef ref, const Message& message) {
      if (message.seq.n != 0) {
        visit(ref, message);
      }
    });
  }
  template <class Visit>
  void each_delivery(Visit&& visit) const {
    records_.deliveries.each([&](DeliveryRef ref, const Delivery& delivery) {
      if (delivery.message != none) {
        visit(ref, delivery);
      }
    });
  }
  size_t size() const { return records_.messages.size(); }

 private:
  uint64_t hash(const Id128& id) const;
  uint64_t hash_name(const Id128& id) const;

  uint64_t seed_;
  MessageRecords records_;
  SeqPages by_seq_;
  Index by_id_;
  Index by_key_;
  Index by_name_;

 public:
  // The parts. They stand here because the records must be made before them.
  OpenDeliveries open{records_};
  MessageDeadlines deadlines{records_};
  Gates gates{records_, deadlines};
  ResumeMarks marks{records_};
  DeliveryNotes notes;
};

}  // namespace parley::core
