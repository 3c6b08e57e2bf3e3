// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/machine/workspace.h"
#include "edge/principal.h"
#include "edge/records.h"
#include "lib/json_writer.h"
#include "net/server.h"

namespace parley::edge {

// Writes what the machine holds as JSON, for the answers of the API.

// The parts of an agent that are shown beside those that everyone may know.
struct AgentParts {
  bool webhook = false;  // for the agent itself and for admins
  bool subscriptions = false;
};

// The agent as it is `now`, which the tables do not know. `rest` writes the members that they do
// not know either, its webhook among them.
void render_agent(const core::Tables& tables, core::AgentRef ref, base::Time now,
                  const AgentParts& shown, lib::JsonWriter& out,
                  const std::function<void(const core::Agent&)>& rest = {});
// Of the subscribers only the viewer is shown; with core::none as viewer all are.
void render_topic(const core::Tables& tables, std::string_view name, core::AgentRef viewer,
                  lib::JsonWriter& out);
// What the agent said that it does, or that it is offline; empty where nothing is known.
std::string_view agent_status(const core::Agent& agent);
void render_dead_letter(const core::Tables& tables, const core::DeadLetter& letter,
                        lib::JsonWriter& out);
// `shows_status`: also as squad says how it stands.
void render_delivery(const core::Tables& tables, core::DeliveryRef ref, lib::JsonWriter& out,
                     bool shows_status = false);
// All receivers of a message, each with its state; none of them where the caller may not know them.
void render_deliveries(const core::Tables& tables, const Principal& caller, core::MessageRef ref,
                       lib::JsonWriter& out);
// The number of receivers of a message, in all and by state: members of an object.
void render_counts(const core::Tables& tables, core::MessageRef ref, lib::JsonWriter& out);
void render_states(const std::map<std::string_view, uint64_t>& states, lib::JsonWriter& out);
// The beginning of the body; of a JSON string without the quotes.
std::string preview_of(const core::Envelope& envelope);

// Sender, type and preview of a message for a reader of the dialect `reader`: members of an object
// that the caller has begun.
void render_summary(const core::Envelope& envelope, const core::Message& message,
                    core::Dialect reader, lib::JsonWriter& out);

// An entry of the inbox: an object with the summary, and its first receiver where it was
// redirected.
void render_notification(const core::Envelope& envelope, const core::Message& message,
                         core::Dialect reader, std::string_view redirected_from,
                         lib::JsonWriter& out);

// The agent in whose place the receiver got the message; empty: it was sent to the receiver.
std::string_view redirected_from(const core::Tables& tables, core::MessageRef message,
                                 core::AgentRef receiver);
std::string_view redirected_from(const core::Tables& tables, core::DeliveryRef delivery);

// Where a message comes from, as the broker knows it.
void render_provenance(const core::Envelope& envelope, const core::Message& message,
                       std::string_view redirected_from, lib::JsonWriter& out);

// The same as headers of the response with the message. Also adds traceparent and tracestate, so
// that the reader's work becomes a part of the trace.
void add_provenance(const core::Envelope& envelope, const core::Message& message,
                    std::string_view redirected_from, net::Response& response);

// Adds a header with the final state of the delivery where it did not end well, for example when a
// task was given to another agent.
void add_delivery(const core::Tables& tables, core::MessageRef message, core::AgentRef receiver,
                  net::Response& response);

// The message that was pushed last, encoded without its place in the stream: so a publish to many
// receivers is encoded once for all who speak the same dialect. The text depends on the members
// before it and on nothing else, because a message does not change once it is accepted.
struct Rendered {
  base::Seq message;
  core::Dialect dialect{};
  std::string reader;           // named in the text; empty: no one, so that it serves all
  std::string redirected_from;  // in whose place the reader got it
  std::string text;             // its memory serves again

  bool serves(base::Seq wanted, core::Dialect wanted_dialect, std::string_view who,
              std::string_view away) const {
    return message == wanted && dialect == wanted_dialect && redirected_from == away &&
           (reader.empty() || reader == who);
  }
};

// The state of a request, as the member `request`; nothing for other messages.
void render_request(const core::Tables& tables, core::MessageRef ref, lib::JsonWriter& out);

}  // namespace parley::edge
