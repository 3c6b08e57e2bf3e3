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
    open,  // not told yet, or nobody knows: it is sent again as it was
    accepted,
    refused,
    unknown,  // nobody knows, and it has no id of its own by which it could be sent again
  };

  std::string marker;
  std::string id;      // the sender's own
  std::string kind;    // what the workload calls it: direct, request, topic, …
  std::string to;      // an agent, a topic, or `*`
  std::string target;  // how it is sent: path and query, or `ws`
  std::string text;    // the message, as it is sent each time
  std::string body;    // what it says, without the marker's quotes
  std::string priority;
  std::string answers;      // the id of the message that it answers
  std::string task;         // that it gives, of inbox
  Duration ttl{};           // zero: the rules'
  bool may_repeat = false;  // its sender asked for it to be sent again when it is not answered
  bool waits = false;       // it is sent with `wait`
  Fate fate = Fate::open;
  bool in_flight = false;
  unsigned tries = 0;
  unsigned life = 0;         // of its sender's name: counts those who had it before
  bool was_put_off = false;  // its sender was told that its receiver could not take it yet
  Time asked;                // first
  Time told;
  uint64_t asked_at = 0;  // steps
  uint64_t told_at = 0;
  uint64_t seq = 0;
  std::string code;  // of a refusal
};

// A message that came to a client, and what the client did about it.
struct Mail {
  enum class Act : uint8_t { none, ack, nack, reject, answer };
  enum class State : uint8_t { none, asked, confirmed, refused, unknown };

  std::string id;      // in the client's dialect
  std::string marker;  // empty: the broker's own word
  std::string from;
  std::string to;  // empty: several
  std::string type;
  std::string priority;
  std::string task;  // of inbox
  std::string thread;
  std::string trace;
  uint64_t seq = 0;
  uint64_t mark = 0;       // newest that a stream gave it; 0: seen before that was opened
  unsigned sightings = 0;  // of its content
  unsigned listings = 0;
  uint64_t connection = 0;  // of the newest push
  Time first;
  Time pushed;  // the newest time
  bool wants_answer = false;
  bool cannot_answer = false;  // that was refused
  bool may_repeat = false;
  bool given_back = false;  // since the newest push
  bool ever_acked = false;  // an ack was asked, whatever came of it
  bool ever_rejected = false;
  Act act = Act::none;
  State state = State::none;
  uint64_t confirmed_at = 0;  // the step
  uint64_t confirmed_on = 0;  // the connection, where a stream told
  std::string code;           // of a refusal
};

// Mail that came after something newer of its channel.
struct Disorder {
  Mail mail;
  std::string newer;  // its marker
  std::string how;
};

// Everything that one client knows. The verdict has nothing else.
struct Notebook {
  std::vector<Sent> sent;
  std::map<std::string, Mail> mail;    // by id
  std::vector<Mail> former;            // of those who had the name before
  std::set<std::string> markers_seen;  // in messages that were read
  std::map<std::string, std::vector<std::pair<uint64_t, bool>>> subscribed;  // topic: step, yes
  std::vector<std::string> ended_tokens;
  // Whether that order was promised, its sender may hear later.
  std::vector<Disorder> disordered;
  unsigned life = 0;  // how many had the name before
  bool was_removed = false;
};

}  // namespace parley::edge_sim
