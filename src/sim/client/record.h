// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace parley::edge_sim {

using base::Duration;
using base::Time;

// A message that a client sent, and what it was told of it.
struct Sent {
  enum class Fate : uint8_t {
    open,  // Not told yet, or nobody knows: it is sent again as it was.
    accepted,
    refused,
    unknown,  // Nobody knows, and it has no id of its own by which it could be sent again.
  };

  std::string marker;
  std::string id;      // The sender's own.
  std::string kind;    // What the workload calls it: direct, request, topic, and so on.
  std::string to;      // An agent, a topic, or `*`.
  std::string target;  // How it is sent: path and query, or `ws`.
  std::string text;    // The message, as it is sent each time.
  std::string body;    // What it says, without the marker's quotes.
  std::string priority;
  std::string answers;      // The id of the message that it answers.
  std::string task;         // In inbox: the task that it gives.
  Duration ttl{};           // Zero: the rules'.
  bool may_repeat = false;  // Its sender asked for it to be sent again when it is not answered.
  bool waits = false;       // It is sent with `wait`.
  Fate fate = Fate::open;
  bool in_flight = false;
  unsigned tries = 0;
  unsigned life = 0;         // How many had its sender's name before.
  bool was_put_off = false;  // Its sender was told that its receiver could not take it yet.
  Time asked;                // When it was first sent.
  Time told;
  uint64_t asked_at = 0;  // The same, in steps.
  uint64_t told_at = 0;
  uint64_t seq = 0;
  std::string code;  // Of a refusal.
};

// A message that came to a client, and what the client did about it.
struct Mail {
  enum class Act : uint8_t { none, ack, nack, reject, answer };
  enum class State : uint8_t { none, asked, confirmed, refused, unknown };

  std::string id;      // In the client's dialect.
  std::string marker;  // Empty: the broker's own word.
  std::string from;
  std::string to;  // Empty: several.
  std::string type;
  std::string priority;
  std::string task;  // In inbox.
  std::string thread;
  std::string trace;
  uint64_t seq = 0;
  uint64_t mark =
      0;  // The newest that a stream gave it. 0: it was seen before that stream was opened.
  unsigned sightings = 0;  // How often its content came.
  unsigned listings = 0;
  uint64_t connection = 0;  // Of the newest push.
  Time first;
  Time pushed;  // When it was pushed last.
  bool wants_answer = false;
  bool cannot_answer = false;  // An answer was refused.
  bool may_repeat = false;
  bool given_back = false;  // Since the newest push.
  bool ever_acked = false;  // An ack was asked, whatever came of it.
  bool ever_rejected = false;
  Act act = Act::none;
  State state = State::none;
  uint64_t confirmed_at = 0;  // The step.
  uint64_t confirmed_on = 0;  // The connection, where a stream told.
  std::string code;           // Of a refusal.
};

// Mail that came after something newer of its channel.
struct Disorder {
  Mail mail;
  std::string newer;  // Its marker.
  std::string how;
};

// Everything that one client knows. The verdict has nothing else.
struct ClientRecord {
  std::vector<Sent> sent;
  std::map<std::string, Mail> mail;    // By id.
  std::vector<Mail> former;            // Of those who had the name before.
  std::set<std::string> markers_seen;  // In messages that were read.
  std::map<std::string, std::vector<std::pair<uint64_t, bool>>>
      subscribed;  // By topic: the step, and whether it was in from then on.
  std::vector<std::string> ended_tokens;
  // Whether that order was promised, its sender may hear later.
  std::vector<Disorder> disordered;
  unsigned life = 0;  // How many had the name before.
  bool was_removed = false;
};

}  // namespace parley::edge_sim
