// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/model/step.h"

namespace parley::sim {

// One message on its way to one receiver, as the model has it.
struct Delivery {
  std::string receiver;
  State state = State::queued;
  Time due;  // The end of the lease or of the delay.
  core::StreamId stream;
  core::ResumeMark mark{};    // Its receiver may say by this mark that it saw the message,
  core::ResumeMark former{};  // Or by this one, which it used the last time.
  uint32_t attempts = 0;
  uint32_t revivals = 0;  // How often the broker retried its dead letter.
  Seq made;               // The entry that addressed it: the message's own or a later Subscribe.
  Seq touched;            // The entry that moved it last.
  bool paced = false;     // Rate limits may hold it up: it has not passed them yet.
  bool tried = false;     // Its receiver could not take it, and the broker tries again.
  uint32_t retries = 0;   // How often the broker has tried again.
  bool seen = false;      // It was found in the tables after this entry.
  // What held before the entry at hand.
  State state_before = State::queued;
  Time due_before;
  bool tried_before = false;

  bool is_final() const { return core::is_final(state); }
  bool is_acknowledged() const { return state == State::acked || state == State::answered; }
};

// Whether people decide on a message before it passes on.
enum class Passage : uint8_t {
  open,    // nobody does, or they have allowed it
  held,    // they have not decided yet
  barred,  // they did not allow it: it reaches nobody
};

// A message that the broker accepted.
struct SentMessage {
  Seq seq;
  Time accepted;
  Time expires;
  Time expires_before;  // As it was before the entry: a retry gives a new time to live.
  Seq renewed;          // The entry that gave the present time to live.
  core::Duration ttl;
  size_t bytes = 0;  // The size of its body.
  core::MessageId id;
  core::Id128 key;
  core::Priority priority = core::Priority::normal;
  std::string sender;
  std::string topic;
  Time begun;
  Time since;  // The newest change of any of its deliveries.
  std::string thread;
  std::string session;
  Seq session_began;  // A later session may have the same name.
  std::string asker;  // Gets the answers.
  Seq cause;          // Of a request: the open request that its sender worked on.
  core::Kind kind = core::Kind::notification;
  core::Dialect dialect = core::Dialect::flow;
  bool asks = false;           // It is a request, and its thread waits for the answer.
  bool waits_by_rule = false;  // An answer, a failure or the clock ends that wait.
  bool answered = false;       // Somebody answered it.
  Passage passage = Passage::open;
  Passage passage_before = Passage::open;  // As it was before the entry.
  bool was_held = false;                   // Late subscribers do not get it.
  bool is_superseded = false;              // A failure that reaches nobody: there is another try.
  Seq question;                            // That it answers, if people decide on it.
  int32_t approve_below = 0;               // People decide on answers that are less sure.
  // What people decided about it, by receiver: the message that says so.
  std::map<std::string, Seq> decisions{};
  core::Duration timeout{};  // How long each try of its sender's request has; zero: it waits not.
  core::OnTimeout on_timeout = core::OnTimeout::fail;
  bool timed_out = false;      // No one waits for its answer any more.
  bool memory_only = false;    // A broadcast that ends with `life` and leaves no dead letter.
  uint64_t life = 0;           // The life of the node that accepted it.
  std::vector<Delivery> deliveries;

  bool is_final() const { return std::ranges::all_of(deliveries, &Delivery::is_final); }
  // True when the message failed for every receiver.
  bool has_failed() const {
    return std::ranges::all_of(deliveries,
                               [](const Delivery& each) { return each.state >= State::expired; });
  }
};

// Returns the delivery to `receiver`, or nullptr.
Delivery* find_delivery(SentMessage& message, std::string_view receiver);
const Delivery* find_delivery(const SentMessage& message, std::string_view receiver);

// True when the receiver has not been handed what people decided about the message: that waits,
// too.
bool lacks_decision(const std::map<Seq, SentMessage>& messages, const SentMessage& sent,
                    std::string_view receiver);

// True when a body of this size may be too large for another dialect, which adds to it. A short one
// never is.
bool may_be_too_large(size_t bytes);

// The delivery as failures name it.
std::string named(Seq message, const std::string& receiver);

}  // namespace parley::sim
