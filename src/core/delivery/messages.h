// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/limits/token_bucket.h"
#include "core/model/delivery_state.h"
#include "core/model/envelope.h"
#include "core/model/refs.h"
#include "core/model/resume_mark.h"
#include "core/state/deadlines.h"
#include "core/state/index.h"
#include "core/state/seq_pages.h"
#include "core/state/slots.h"

namespace parley::core {

// What is to be said of an answer. Written into snapshots: never renumber.
enum class Mark : uint8_t {
  plain = 0,
  late = 1,       // the one who asked had given up
  duplicate = 2,  // it was answered before
};
constexpr Mark mark_last = Mark::duplicate;
// Over 150 lines: the two records and the one table that holds them.

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
  bool is_own = false;     // the broker itself sent it
  bool watched = false;    // someone waits for what becomes of it
  bool timed_out = false;  // no one waits for its answer any more
  Mark mark = Mark::plain;
  bool everyone = false;  // sent to `*`
  bool refused = false;   // its sender was told that its one receiver was away
  bool blocks = false;    // someone may wait for its answer: see WaitGraph
  bool is_task = false;   // it gives a task, or did: see Tasks
  bool named = false;     // its sender gave it an id of another form, of which `id` is made
  uint16_t links = 0;     // of the chain of causes behind it

  AgentRef answers_to() const { return reply_to == none ? sender : reply_to; }
  // To one receiver by name.
  bool is_direct() const { return topic == none && !everyone && delivery_count == 1; }
  bool to_many() const { return everyone || topic != none; }
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
    field("cause", self.cause);
    field("links", self.links);
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

// All messages and deliveries of a workspace with their look-ups and their deadlines, and the
// settled ones that are remembered for a while. Knows nothing of inboxes and receivers.
class Messages {
 public:
  struct Remembered {
    MessageRef message;
    Time since;
  };

  explicit Messages(uint64_t hash_seed) : seed_(hash_seed) {}

  MessageRef add(const Message& message);
  DeliveryRef add_delivery(MessageRef message, AgentRef receiver, Time now);
  // Another gets it.
  void set_receiver(DeliveryRef ref, AgentRef receiver);
  // The delivery has ended; one that had is open again.
  void note_end(DeliveryRef ref);
  void note_revival(DeliveryRef ref);
  // How many messages of this sender have deliveries that are not final.
  uint64_t open_of(AgentRef sender) const;
  // Forgets the message and its deliveries.
  void remove(MessageRef ref);

  Message& message(MessageRef ref) { return messages_[ref]; }
  const Message& message(MessageRef ref) const { return messages_[ref]; }
  Delivery& delivery(DeliveryRef ref) { return deliveries_[ref]; }
  const Delivery& delivery(DeliveryRef ref) const { return deliveries_[ref]; }
  const Message& message_of(DeliveryRef ref) const { return messages_[deliveries_[ref].message]; }

  MessageRef find(Seq seq) const;
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
    messages_.each([&](MessageRef ref, const Message& message) {
      if (message.seq.n != 0) {
        visit(ref, message);
      }
    });
  }
  template <class Visit>
  void each_delivery(Visit&& visit) const {
    deliveries_.each([&](DeliveryRef ref, const Delivery& delivery) {
      if (delivery.message != none) {
        visit(ref, delivery);
      }
    });
  }

  // Those to the receiver that are not final, the newest first.
  template <class Visit>
  void each_open(AgentRef receiver, Visit&& visit) const {
    for (DeliveryRef ref = receiver < open_to_.size() ? open_to_[receiver].newest : none;
         ref != none; ref = deliveries_[ref].older) {
      visit(ref, deliveries_[ref]);
    }
  }
  // How many deliveries are open.
  const std::array<uint64_t, priority_count>& open_by_priority() const { return open_by_priority_; }
  // When the message came that has been open for longest with its receiver; time_max: none is.
  Time oldest_open() const;
  // Those that a rate limit holds up.
  template <class Visit>
  void each_throttled(Visit&& visit) const {
    for (const auto& [message, count] : throttled_) {
      for (DeliveryRef ref = messages_[message].deliveries; ref != none;
           ref = deliveries_[ref].sibling) {
        if (deliveries_[ref].gate != Gate::open) {
          visit(ref);
        }
      }
    }
  }

  // One deadline each: a message's is its expiry, a delivery's the end of its lease or delay.
  void start_expiry(MessageRef ref);
  void stop_expiry(MessageRef ref);
  void set_expiry(MessageRef ref, Time at);  // of one whose deadline runs
  void start_due(DeliveryRef ref, Time at);
  void stop_due(DeliveryRef ref);

  // Holds the delivery until then, for the reason that `gate` gives: a rate limit, or what keeps it
  // outside of the inbox. `unthrottle` ends that.
  void throttle(DeliveryRef ref, Gate gate, Time until);
  void unthrottle(DeliveryRef ref);
  bool is_throttled(MessageRef ref) const { return throttled_.contains(ref); }
  // The places by which its receiver may say that it saw the delivery: `Delivery::mark`, and the
  // one by which it said so last. It may have lost its connection again before it heard of the
  // newer one.
  ResumeMark former_mark(DeliveryRef ref) const;
  void set_marks(DeliveryRef ref, ResumeMark mark, ResumeMark former = {});
  // Which of the two `after` covers; none: its receiver has not seen it by then.
  ResumeMark mark_before(DeliveryRef ref, const ResumeMark& after) const;
  void put_marks(DeliveryRef ref, Writer& out) const;
  void get_marks(DeliveryRef ref, Reader& in);

  // Deliveries to this receiver that wait outside of its inbox: for the next try, or because a
  // former one of its name was removed.
  uint64_t outside_of(AgentRef receiver) const;
  // Messages of this sender that wait for a limit with one receiver at least.
  uint64_t throttled_of(AgentRef sender) const;
  uint64_t throttled() const { return throttled_.size(); }
  // When the first and the last of its deliveries get through the limit that they wait for; now
  // when none waits.
  std::pair<Time, Time> passing_of(AgentRef sender, Time now) const;
  // Senders of whom nothing waits any more, since it was asked last.
  std::vector<AgentRef> take_drained() { return std::exchange(drained_, {}); }

  const Deadlines& deadlines() const { return deadlines_; }
  std::deque<Remembered>& remembered() { return remembered_; }
  const std::deque<Remembered>& remembered() const { return remembered_; }
  std::map<DeliveryRef, std::string>& last_errors() { return last_errors_; }
  const std::map<DeliveryRef, std::string>& last_errors() const { return last_errors_; }
  // Whose place the receiver took, of those deliveries that were redirected.
  std::map<DeliveryRef, std::string>& redirected() { return redirected_; }
  const std::map<DeliveryRef, std::string>& redirected() const { return redirected_; }

  size_t size() const { return messages_.size(); }
  size_t delivery_count() const { return deliveries_.size(); }

 private:
  void link_open(DeliveryRef ref);
  void unlink_open(DeliveryRef ref);
  uint64_t hash(const Id128& id) const;
  uint64_t hash_name(const Id128& id) const;

  uint64_t seed_;
  Slots<Message> messages_;
  Slots<Delivery> deliveries_;
  SeqPages by_seq_;
  Index by_id_;
  Index by_key_;
  Index by_name_;
  Deadlines deadlines_;
  std::deque<Remembered> remembered_;  // settled, oldest first
  std::map<DeliveryRef, std::string> last_errors_;
  std::map<DeliveryRef, std::string> redirected_;
  std::map<DeliveryRef, ResumeMark> former_marks_;
  std::map<MessageRef, uint32_t> throttled_;  // how many of its deliveries are
  std::map<AgentRef, uint64_t> outside_;      // by receiver
  struct Line {
    uint64_t messages = 0;
    std::set<std::pair<Time, DeliveryRef>> due{};  // of each delivery
  };
  std::map<AgentRef, Line> throttled_by_sender_;
  std::vector<AgentRef> drained_;
  std::vector<uint64_t> open_by_sender_;  // messages
  struct Ends {
    DeliveryRef newest = none;
    DeliveryRef oldest = none;
  };
  std::vector<Ends> open_to_;  // by receiver: of those that are open
  std::array<uint64_t, priority_count> open_by_priority_{};
};

}  // namespace parley::core
