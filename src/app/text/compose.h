// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/client.h"
#include "base/ids.h"
#include "base/time.h"

namespace parley::app {

// The messages that agents of superprompt send.
inline constexpr std::array<std::string_view, 6> superprompt_types = {
    "task_delegation",       "task_completion",    "timeout_extension_request",
    "hitl_approval_request", "coc_violation_flag", "agent_health_check"};

// The messages that only agents of squad send. A query or a response is one of squad where it says
// what only squad has.
inline constexpr std::array<std::string_view, 4> squad_types = {"handoff", "challenge",
                                                                "escalation", "ack"};

// What only a message of squad has: members of its body, but for the subject.
struct SquadDraft {
  std::string subject;
  std::string context;
  std::string deadline;
  std::vector<std::string> constraints;
  std::vector<std::string> artifacts;
  std::string claim;  // of a challenge, whose text is the grounds
  std::vector<std::string> evidence;
  std::string wanted;
  std::string severity;
  std::string result;
  std::string external;  // what it does outside

  bool operator==(const SquadDraft&) const = default;
};

// What the command line says about a message. Empty texts are left to the broker.
struct Draft {
  std::string to;
  std::string type = "notification";
  std::string priority = "normal";
  std::string ttl;
  std::string thread;
  std::string in_reply_to;
  std::string status;            // of a response
  std::string confidence;        // of a completion of superprompt
  std::string response_timeout;  // of a request or query
  std::string as = "text";       // text or json
  std::string body;              // the text, `-` for standard input, or @FILE
  std::string action;            // of a collab message; empty: it is one of flow
  bool requires_ack = false;     // its sender is told when it is acknowledged
  SquadDraft squad{};

  bool is_superprompt() const {
    return std::ranges::find(superprompt_types, type) != superprompt_types.end();
  }
  bool is_squad() const {
    return std::ranges::find(squad_types, type) != squad_types.end() || squad != SquadDraft{};
  }
  std::string_view dialect() const {
    return is_squad()         ? "squad"
           : is_superprompt() ? "superprompt"
           : action.empty()   ? "flow"
                              : "collab";
  }
};

// Fills in what follows from the message that is answered, in the words of flow: to whom, and in
// which thread.
void follow(lib::Json original, Draft& draft);

// The text itself, what standard input has for `-`, or the contents of a file for @FILE; at most
// body_bytes_max.
std::expected<std::string, Failure> read_source(const std::string& source);

// The body that the draft names, read from where it says. Fails when it cannot be read, is larger
// than body_bytes_max or, for json, is no JSON object; also when it is text and the draft's type
// needs more than that.
std::expected<std::string, Failure> read_body(const Draft& draft);

// A message of the draft's dialect. The sender is left out: it is whoever the token says.
std::string compose(const Draft& draft, std::string_view body, const base::Id128& id,
                    base::Time now);
// The same of a draft of squad. The broker fills in the id and the time.
std::string compose_squad(const Draft& draft, std::string_view body);

}  // namespace parley::app
