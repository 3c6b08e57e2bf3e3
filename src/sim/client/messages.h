// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "lib/json.h"
#include "sim/client/record.h"
#include "sim/random.h"

namespace parley::edge_sim {

// What is said in a message, before it is written in a dialect. Words of flow.
struct Draft {
  std::string sender;
  std::string receiver;
  std::string type = "notification";
  std::string priority = "normal";
  std::string in_reply_to{};
  std::string conversation{};  // Empty: none, which flow takes only where it is lenient.
  std::string words{};  // Begins with the marker.
  std::string on_timeout{};
  std::string task{};  // Of inbox: what it is about.
  Duration ttl{};
  Duration response_timeout{};
  bool requires_ack = false;
};

// The message in a dialect, whole, with a new id, which is set in `id`. As `mcp` it is what the
// tool sendMessage takes: the message of inbox without an id.
std::string encode(std::string_view dialect, const Draft& draft, Time now, std::string& id);

// Words of a length by chance, mostly short, behind the marker.
std::string some_words(std::string_view marker, sim::Random& random, uint64_t size_max = 60'000);

// What a client of a dialect reads in a message.
struct MessageFields {
  std::string id;
  std::string from;
  std::string to;  // Empty: several.
  std::string type;
  std::string priority;
  std::string task;  // By which a result or an answer names it.
  std::string thread;
  std::string trace;
  std::string marker;
  bool wants_answer = false;
  bool may_repeat = false;  // The broker sends it again when it is not answered.
};
MessageFields fields_of(std::string_view dialect, lib::Json message);

// As a part of a path or query.
std::string percent_encoded(std::string_view text);

// A member that is a text, or a number; nothing where it is not.
std::string_view string_of(lib::Json object, std::string_view name);
uint64_t number_of(lib::Json object, std::string_view name);

}  // namespace parley::edge_sim
