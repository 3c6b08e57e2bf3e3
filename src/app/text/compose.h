// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "app/client/client.h"
#include "base/ids.h"
#include "base/time.h"

namespace parley::app {

// What the command line says about a message. Empty texts are left to the broker.
struct Draft {
  std::string to;
  std::string type = "notification";
  std::string priority = "normal";
  std::string ttl;
  std::string thread;
  std::string in_reply_to;
  std::string status;            // of a response
  std::string response_timeout;  // of a request or query
  std::string as = "text";       // text or json
  std::string body;              // the text, `-` for standard input, or @FILE
  std::string action;            // of a collab message; empty: it is one of flow
  bool requires_ack = false;     // its sender is told when it is acknowledged

  std::string_view dialect() const { return action.empty() ? "flow" : "collab"; }
};

// Fills in what follows from the message that is answered, in the words of flow: to whom, and in
// which thread.
void follow(lib::Json original, Draft& draft);

// The text itself, what standard input has for `-`, or the contents of a file for @FILE; at most
// body_bytes_max.
std::expected<std::string, Failure> read_source(const std::string& source);

// The body that the draft names, read from where it says. Fails when it cannot be read, is larger
// than body_bytes_max or, for json, is no JSON object.
std::expected<std::string, Failure> read_body(const Draft& draft);

// A message of the draft's dialect. The sender is left out: it is whoever the token says.
std::string compose(const Draft& draft, std::string_view body, const base::Id128& id,
                    base::Time now);

}  // namespace parley::app
