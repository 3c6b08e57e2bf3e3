// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/machine/tables.h"
#include "core/model/effect.h"

namespace parley::core {

// Over 150 lines: every move of a delivery, which keep each other in step.

// Who was asked alone: the receiver of a message to one, or, where its task was given to another
// since, who has that now. none: several were asked.
AgentRef asked_alone(const Tables& t, MessageRef message);

// Moves deliveries from one state to the next: the only place where that happens. Every move keeps
// the tables in step (inboxes, streams, deadlines, counts) and says what it did in the effects.
// Made anew for each entry. A message stays in the tables until `keep_house`, so references are
// good throughout an entry.
class Dispatch {
 public:
  Dispatch(WorkspaceId workspace, Tables& tables, std::vector<Effect>& effects)
      : workspace_(workspace), t_(tables), effects_(effects) {}

  // Books the message with the limits that count it once. Owed by each send, before `deliver`.
  Passage enter(MessageRef message);

  // A message goes to several, one after the other: it is not finished in between, even where those
  // that have it so far are done with it.
  void begin_fan_out(MessageRef message) { fanned_out_ = message; }
  void end_fan_out(MessageRef message);

  // Addresses the message to one more receiver: it waits in its inbox, or is handed out at once,
  // or is buried where the receiver is not registered or its inbox is full. Without a passage it
  // waits for no limit. False for what the broker publishes where there is no room: that is left
  // out. What it owes has room always.
  bool deliver(MessageRef message, AgentRef receiver, const Passage& passage = {});

  // Addresses the message to one who is away, and for whom it must not wait: it is tried again, as
  // its sender's dialect has it, or is a dead letter at once.
  void deliver_if_there(MessageRef message, AgentRef receiver);

  // Whether what a sender of this dialect sends by name, and this receiver cannot take now, is
  // tried again.
  static bool is_tried_again(const Tables& tables, Dialect sender, AgentRef receiver);
  bool is_tried_again(Dialect sender, AgentRef receiver) const {
    return is_tried_again(t_, sender, receiver);
  }

  // The message is delivered: tells its sender when it is near or beyond its limits, and later
  // that it is no more.
  void signal_backpressure(MessageRef message);
  void signal_overload(AgentRef sender);

  // Makes a change that was checked, and tells those whom it concerns. It gets its version and its
  // time here. `by` is empty for the broker itself.
  void change_session(Session& session, SessionChange change);
  // Tells those who take part in a session that was started just now.
  void announce(const Session& session, std::string_view by);
  // The principal goes: from its sessions, of which those that it coordinates fail, and from its
  // locks.
  void leave_sessions(std::string_view name);
  void leave_locks(std::string_view name);
  // Who waited by way of a node whose life is over waits no more.
  void leave_lines(uint64_t origin);
  // The lock is free: the next in line has it.
  void pass_on_lock(std::string_view name);

  // The task stands so from now on; `by` whom, none: no one. Those who listen are told.
  void set_task(Task& task, TaskState state, AgentRef by);
  // Its specialist is at work on the task, or on all that it holds: the leases begin anew.
  void renew(const Task& task, AgentRef specialist) const;
  void renew_tasks(AgentRef specialist);
  // The task was given to another: its former specialist, who had it by the message at `before`,
  // has it no more, and is told.
  void move_task(Task& task, const std::string& former, Seq before, std::string_view by);
  // What `from` has not settled of the message at that place is taken from it, as dead; what it did
  // not get, a dead letter, is discarded.
  void take_back(std::string_view from, Seq message, std::string why);
  // The message goes to one more receiver, in the place of a former one. Does not always pump.
  void deliver_again(MessageRef message, AgentRef receiver, const std::string& former);

  // No one waits for an answer any more: the circuit breaker of the one who owes it counts that.
  void note_unanswered(MessageRef request, Duration timeout);

  // How long the limits hold the message up, as far as is known now: with the slowest receiver.
  Duration wait_of(MessageRef message) const;

  // The limits have changed: all begin anew, and what waits is booked again in the order sent.
  void restart_rate_limits();

  // Hands out what waits, as far as the agent's streams have room, and says if more waits. Owed
  // after each move that lets something wait or makes room.
  void pump(AgentRef agent);

  // Ends a waiting delivery that cannot be handed out any more. False: it can.
  bool dead_letter_unfit(DeliveryRef ref);

  // The most urgent delivery that waits and can be handed out; none when there is none.
  DeliveryRef next_waiting(AgentRef agent);

  // Hands a waiting delivery to its receiver, with a lease: to a stream, or none.
  void hand_out(DeliveryRef ref, StreamRef stream, State state);

  // Starts the lease of a held delivery anew.
  void hold(DeliveryRef ref, Duration lease) const;

  // Ends the hold: it waits again, after `delay`, and is to be pushed again whoever saw it. If it
  // `failed` that counts: one that failed too often is buried. The error is kept anyway. Does not
  // pump: several may go back first.
  void give_back(DeliveryRef ref, Duration delay, bool failed, std::string_view error);

  // Ends an unsettled delivery as acked or answered, or marks an acked one as answered.
  void settle(DeliveryRef ref, State state);

  // Ends an unsettled delivery as a dead letter; its state follows from the reason.
  void dead_letter(DeliveryRef ref, Reason reason, std::string_view error);

  // A dead letter of what the agent sent at `seq` and what is no message; of one with more bytes
  // than are kept only the letter. False, and nothing is kept, when it sent too many of them within
  // a minute.
  bool dead_letter_malformed(AgentRef sender, Seq seq, size_t bytes, std::string_view error);
  static bool keeps_malformed(const Tables& tables, AgentRef sender, Time now);

  // The agent is removed: all that it has not settled ends as dead letters, at once or, where that
  // is too much for one entry, with the next ticks. Its inbox is empty from now on.
  void dead_letter_all(AgentRef agent);

  // Brings a buried delivery back, with a fresh time to live and no attempts. Does not pump.
  void revive(DeliveryRef ref);

  // A buried delivery goes to another in place of its receiver, when it is brought back.
  void redirect(DeliveryRef ref, AgentRef stand_in);

  // A resolved or dropped dead letter needs its message no more.
  void release(const DeadLetter& letter);

  // Passes a dead letter on to a human: an escalation that a person resolves.
  void escalate(DeadLetter& letter, std::string_view by);

  // Gives back what the stream holds and removes it. What a client saw of it is still known by its
  // mark. If the receiver failed, it is counted against the message that it was working on: the
  // oldest.
  void close_stream(StreamRef ref, bool failed);

  // The stream was opened by a client that had seen something: that is its own from now on, whether
  // or not the window has room for it. Does not pump.
  void keep_seen(StreamRef stream);

  // The broker will tell `outbox item.to`, by itself or in a summary; returns which. 0: no one has
  // that name, or there is no room. See owed.cc.
  uint64_t owe(OutboxItem item);

  // Asks the humans to look at it, and says so to those who answer for the workspace.
  uint64_t escalate(Escalation escalation);

  // Remembers a message that nothing needs any more. Done by each move that ends a delivery; owed
  // for a message that has none.
  void finish(MessageRef ref);

  // Keeps a topic's message for late subscribers, within the topic's limit.
  void retain(MessageRef message);

  // Closes an open thread and says so to those who take part; by none: because it is old.
  void close_thread(ThreadRef ref, AgentRef by);
  // A request waits for its answer no more. Does nothing when it did not wait. Owed when it is
  // answered, when nobody watches it any more, and when an unwatched one has no open delivery.
  void end_request(MessageRef ref);

  // Its sender waits no more for the answer: see WaitGraph. Does nothing when it did not.
  void unblock(MessageRef ref);
  // What a node whose life is over kept in memory only is over too. What is handed out may still be
  // acknowledged.
  void end_broadcasts(uint64_t life);
  // The callers of a node whose life is over wait no more.
  void unblock_callers(uint64_t origin);
  // The agent is gone: it waits for no one, and no one for it.
  void unblock_all(AgentRef agent);

  // Does what is due, at most `due_max` of each kind.
  void advance();

  // Drops what is kept or remembered beyond its time or number. At the end of each entry.
  void keep_house();

  // Adds to the effects of the entry.
  template <class E>
  void emit(E effect) {
    effect.workspace = workspace_;
    effects_.push_back(effect);
  }

  // Watched messages of which a delivery ended in this entry, for Watch.
  std::vector<MessageRef> ended;

  // All unsettled deliveries of one receiver, oldest message first. Walks all there are.
  std::vector<DeliveryRef> unsettled_of(AgentRef agent) const;

  // What one entry or tick does at most of what is due; the rest waits for the next tick.
  static constexpr size_t due_max = 512;
  // Who has less time to answer is not counted as failing.
  static constexpr Duration answer_time_min = base::seconds(1);

 private:
  uint64_t sum_up(const OutboxItem& item);
  void leave(DeliveryRef ref);
  void dead_letter_removed(DeliveryRef ref);
  void line_up(DeliveryRef ref);
  void fail_or_try(DeliveryRef ref, Gate gate, Reason reason);
  void try_delivery(DeliveryRef ref);
  void set_status(Session& session, SessionStatus status);
  void tell_change(const Session& session, std::string_view to, std::string_view what,
                   std::string_view by);
  void tell_end(const Session& session, const SessionChange& change);
  void mind_sessions();
  void end_task(const Delivery& delivery, State state);
  void forget_tasks();
  void forget_sessions();
  void mind_locks();
  void add_dead_letter(DeliveryRef ref, Reason reason, std::string_view error);
  uint64_t add_letter(DeadLetter letter);
  void plan_retry(DeadLetter& letter);
  void retry_dead_letters();
  void retry_or_escalate(DeadLetter& letter);
  void try_again(DeadLetter& letter);
  void leave_to_humans(DeadLetter& letter);
  void resolve_letter(DeadLetter& letter, Resolution resolution);
  void raise_alarm();
  void tell_sender(uint64_t letter);
  void end(DeliveryRef ref, State state);
  void forget(MessageRef ref);
  size_t expire(MessageRef ref, size_t count_max);
  void on_due(DeliveryRef ref);
  void close_old_threads();
  void forget_threads();
  Time book(Bucket& bucket, uint64_t per_min, Priority priority);
  Time book_channel(const Message& message);
  bool throttle(DeliveryRef ref, Passage passage);
  void pass(DeliveryRef ref);
  void note_failure(AgentRef receiver);
  void pass_on(DeliveryRef ref);
  Duration mark() const;
  void signal(AgentRef sender, BackpressureLevel level, Duration delay);
  bool tell_backpressure(AgentRef sender, BackpressureLevel level, uint64_t depth, Duration delay);
  void set_relief(AgentRef sender, Time until);
  void relieve(AgentRef sender);
  void relieve_all();
  void end_retention(TopicRef topic);
  StreamRef stream_for(DeliveryRef ref) const;
  void tell_of_mail(AgentRef agent);
  void link(DeliveryRef ref, Stream& stream, const ResumeMark& before);

  WorkspaceId workspace_;
  Tables& t_;
  std::vector<Effect>& effects_;
  const uint64_t first_item_ = t_.outbox.next_id();  // of this entry
  MessageRef fanned_out_ = none;
  Time relief_{};  // of a message in hand: when the limits it used fall below the mark
};

}  // namespace parley::core
