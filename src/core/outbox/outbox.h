// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/model/envelope.h"

namespace parley::core {

// What the broker has to say by itself. Written into snapshots: never renumber.
enum class OutboxKind : uint8_t {
  delivery_failed = 0,       // to the sender: what it sent did not reach a receiver
  message_malformed = 1,     // to the sender
  escalated = 2,             // to the orchestrator: a human is asked to look
  escalation_resolved = 3,   // to the one whose message it was about
  request_timed_out = 4,     // to the one who asked
  roll_called = 5,           // to the one who called: who was there
  gathered = 6,              // to the coordinator: what came of a scatter
  stage = 7,                 // a pipeline's next message: the body is that of `about`
  pipeline_ended = 8,        // to its owner
  backpressure = 9,          // to a sender that is near or beyond its limits
  thread_closed = 10,        // to its participants
  dead_letter_alert = 11,    // to the orchestrator: too many in a short time
  published = 12,            // to a topic of the broker's own
  deadlock_warned = 13,      // to the one whose request closed a circle
  session_changed = 14,      // to a participant: it was added or removed, or the session paused
  session_warning = 15,      // to its participants: it ends soon
  session_ended = 16,        // to its participants: what came of it
  task_reassigned = 17,      // to the former specialist
  acknowledged = 18,         // to the sender, who wanted to know
  not_acknowledged = 19,     // to the sender: not in time
  summary = 20,              // how much more there was to say than is said one by one
  approval_asked = 21,       // to those who may decide: an agent asks whether it may do something
  approval_reminder = 22,    // to the same: nobody has decided yet
  approval_decided = 23,     // to who asked: what was decided, or that nobody did in time
  protocol_violation = 24,   // to those who maintain the workspace: an agent broke its rules
  task_failed = 25,          // to who gave a task: its failure, in the name of who had it
  debate_changed = 26,       // to its sides: people are to decide, or it ended by no message
  overdue = 27,              // to giver and receiver: nobody has reacted to it in time
  agent_session_ended = 28,  // to who spawned the agent, and to whom it left something undone
};
constexpr OutboxKind outbox_kind_last = OutboxKind::agent_session_ended;

// The fact of a request_timed_out that says how often the request was sent again: view/traces.cc
// reads it in the message.
constexpr std::string_view retries_fact = "retries";

// The fact of a task_failed that says in whose name it is said, and of which try.
constexpr std::string_view in_name_of_fact = "in_name_of";
constexpr std::string_view retry_count_fact = "retry_count";

// `delivery_failed`, …: the word for it in the message.
std::string_view outbox_kind_name(OutboxKind kind);

// One thing that the message says.
struct Fact {
  // Written into snapshots by their place: append only, never reorder.
  using Value = std::variant<std::string, int64_t, Duration, Time, std::vector<std::string>, bool>;

  std::string name;
  Value value;
  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("value", self.value, Form::fixed);  // the place of an alternative is its tag
  }
  bool operator==(const Fact&) const = default;
};

// A message that the broker owes someone. The machine says what and why; a node writes and sends it
// with the outbox item's number, and only then is it off the list. So none is lost with a crash,
// and none is told twice however many nodes try.
struct OutboxItem {
  uint64_t id = 0;
  OutboxKind kind = OutboxKind::delivery_failed;
  std::string to;  // a principal or a topic
  Seq about;       // the message that it is about, whose conversation it joins; 0: none
  Time since{};
  Priority priority = Priority::normal;
  std::vector<Fact> facts{};

  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("kind", self.kind, outbox_kind_last);
    field("to", self.to);
    field("about", self.about);
    field("since", self.since);
    field("priority", self.priority, priority_last);
    field("facts", self.facts);
  }
  bool operator==(const OutboxItem&) const = default;
};

// What is owed, oldest first.
class Outbox {
 public:
  // Gives it its id, and returns that.
  uint64_t add(OutboxItem item);
  const OutboxItem* find(uint64_t id) const;
  void remove(uint64_t id);
  // There is no one left to tell.
  void forget(std::string_view to);

  size_t owed_to(std::string_view to) const;
  // The summary that waits for it; nullptr when there is none.
  OutboxItem* summary_to(std::string_view to);
  uint64_t next_id() const { return next_id_; }

  const std::map<uint64_t, OutboxItem>& all() const { return outbox_; }
  size_t size() const { return outbox_.size(); }
  uint64_t dropped = 0;  // there were too many
  uint64_t refused = 0;  // they could not be sent

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);  // false when the bytes are no outbox items

 private:
  // What one who is told has in `outbox_`.
  struct Receiver {
    size_t owed = 0;
    uint64_t summary = 0;
  };
  bool insert(OutboxItem item);

  uint64_t next_id_ = 1;
  std::map<uint64_t, OutboxItem> outbox_;
  std::map<std::string, Receiver, std::less<>> receivers_;
};

}  // namespace parley::core
