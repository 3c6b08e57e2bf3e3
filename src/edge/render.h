// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/machine/workspace.h"
#include "dialect/dialect.h"
#include "edge/principal.h"
#include "lib/json_writer.h"
#include "net/server.h"
#include "node/broker.h"
#include "view/reader.h"

namespace parley::edge {

// Writes what the machine holds as JSON, for the answers of the API.

// The parts of an agent that are shown beside those that everyone may know.
struct AgentParts {
  bool webhook = false;  // for the agent itself and for admins
  bool subscriptions = false;
};

// The agent as it is `now`, which the tables do not know. `webhook` writes the value of `webhook`.
void render_agent(const core::Tables& tables, core::AgentRef ref, base::Time now,
                  const AgentParts& shown, lib::JsonWriter& out,
                  const std::function<void(const core::Agent&)>& webhook = {});
// Of the subscribers only the viewer is shown; with core::none as viewer all are.
void render_topic(const core::Tables& tables, std::string_view name, core::AgentRef viewer,
                  lib::JsonWriter& out);
// What the agent said that it does, or that it is offline; empty where nothing is known.
std::string_view agent_status(const core::Agent& agent);
void render_dead_letter(const core::Tables& tables, const core::DeadLetter& letter,
                        lib::JsonWriter& out);
void render_delivery(const core::Tables& tables, core::DeliveryRef ref, lib::JsonWriter& out);
// All receivers of a message, each with its state; none of them where the caller may not know them.
void render_deliveries(const core::Tables& tables, const Principal& caller, core::MessageRef ref,
                       lib::JsonWriter& out);
// The number of receivers of a message, in all and by state: members of an object.
void render_counts(const core::Tables& tables, core::MessageRef ref, lib::JsonWriter& out);
void render_states(const std::map<std::string_view, uint64_t>& states, lib::JsonWriter& out);
// Whether the caller may know who the receivers of the message are.
bool sees_receivers(const core::Tables& tables, const Principal& caller,
                    const core::Message& message);

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

// The codec of the dialect, or flow's where it has none yet.
const dialect::Codec& codec_of(core::Dialect dialect);

// A message's id in the form of the reader's dialect.
std::string id_text(node::Broker& broker, core::WorkspaceId workspace, const core::Message& message,
                    core::Dialect reader);

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

// The message at `seq` in the words of `dialect`.
std::expected<std::string, base::Error> message_text(node::Broker& broker,
                                                     core::WorkspaceId workspace, base::Seq seq,
                                                     core::Dialect dialect,
                                                     const dialect::EncodeContext& context);

// The context in which a message is written for a reader who asks for it.
inline dialect::EncodeContext shown_to(std::string_view recipient) {
  return {.recipient = recipient, .trace = dialect::EncodeContext::Trace::own};
}

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

// The malformed message at `seq`, as a JSON string and without secrets.
std::expected<std::string, base::Error> malformed_text(node::Broker& broker,
                                                       core::WorkspaceId workspace, base::Seq seq);

// The envelope of the message at `seq`, with its number in its channel; its texts are good until
// the broker's next step or record.
std::expected<core::Envelope, base::Error> envelope_at(node::Broker& broker,
                                                       core::WorkspaceId workspace, base::Seq seq);
// The envelope of a stored message; its texts are good as long as that is.
std::expected<core::Envelope, base::Error> envelope_of(const view::StoredMessage& stored);

// A warning for the sender of a task that was not sent because it was given before; else empty.
std::string task_warning(const core::Tables& tables, const core::Receipt& receipt);
// A warning that some agents do not get a broadcast in memory, of which no dead letter tells.
std::string unfit_warning(const core::Tables& tables, const core::Receipt& receipt);

// The state of a request, as the member `request`; nothing for other messages.
void render_request(const core::Tables& tables, core::MessageRef ref, lib::JsonWriter& out);

// `success`, `partial`, …; `unset` where the sender did not say.
std::string_view status_name(core::Status status);

// The body of the message that the broker sends for an outbox item.
std::string outbox_item_text(const core::OutboxItem& item);

std::string_view kind_name(core::PrincipalKind kind);
std::string_view priority_name(core::Priority priority);
std::string_view via_name(core::Via via);

// A duration for people: in milliseconds, from ten seconds on in seconds; rounded up.
std::string rough_duration(base::Duration duration);

}  // namespace parley::edge
