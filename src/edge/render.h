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

// JSON of what the machine holds, for the answers of the API.

// What is shown of an agent beside what everyone may know.
struct AgentParts {
  bool webhook = false;  // for the agent itself and for admins
  bool subscriptions = false;
};

// As it is `now`: the tables know the time of the newest entry only. `webhook` writes the value of
// that member.
void render_agent(const core::Tables& tables, core::AgentRef ref, base::Time now,
                  const AgentParts& shown, lib::JsonWriter& out,
                  const std::function<void(const core::Agent&)>& webhook = {});
// Of its subscribers only the viewer, if that is one; none as viewer sees all.
void render_topic(const core::Tables& tables, std::string_view name, core::AgentRef viewer,
                  lib::JsonWriter& out);
// What it does, as it said, or that it is offline; empty where nothing is known.
std::string_view agent_status(const core::Agent& agent);
void render_dead_letter(const core::Tables& tables, const core::DeadLetter& letter,
                        lib::JsonWriter& out);
void render_delivery(const core::Tables& tables, core::DeliveryRef ref, lib::JsonWriter& out);
// All receivers of a message, each with its state; none of them where the caller may not know them.
void render_deliveries(const core::Tables& tables, const Principal& caller, core::MessageRef ref,
                       lib::JsonWriter& out);
// How many receivers a message has, and how many of them in which state: members of an object.
void render_counts(const core::Tables& tables, core::MessageRef ref, lib::JsonWriter& out);
void render_states(const std::map<std::string_view, uint64_t>& states, lib::JsonWriter& out);
// Whether the caller may know who the receivers of the message are.
bool sees_receivers(const core::Tables& tables, const Principal& caller,
                    const core::Message& message);

// The beginning of what it says: text without its quotes.
std::string preview_of(const core::Envelope& envelope);

// Who, what, and how it begins, for one who speaks `reader`: members of an object that the caller
// has begun.
void render_summary(const core::Envelope& envelope, const core::Message& message,
                    core::Dialect reader, lib::JsonWriter& out);

// An entry of the inbox: an object with the summary, and for whom it was where that is another.
void render_notification(const core::Envelope& envelope, const core::Message& message,
                         core::Dialect reader, std::string_view redirected_from,
                         lib::JsonWriter& out);

// The codec of the dialect, or flow's where it has none yet.
const dialect::Codec& codec_of(core::Dialect dialect);

// A message's id in the form of the reader's dialect.
std::string id_text(node::Broker& broker, core::WorkspaceId workspace, const core::Message& message,
                    core::Dialect reader);

// In whose place the receiver got the message; empty: it was meant for it.
std::string_view redirected_from(const core::Tables& tables, core::MessageRef message,
                                 core::AgentRef receiver);
std::string_view redirected_from(const core::Tables& tables, core::DeliveryRef delivery);

// Where a message comes from, as the broker knows it.
void render_provenance(const core::Envelope& envelope, const core::Message& message,
                       std::string_view redirected_from, lib::JsonWriter& out);

// The same as headers of the answer that has the message; with it traceparent and tracestate, by
// which the message is the cause of what its reader does.
void add_provenance(const core::Envelope& envelope, const core::Message& message,
                    std::string_view redirected_from, net::Response& response);

// A header that says how it ended for the receiver, where it did not end well: a task that was
// given to another, say.
void add_delivery(const core::Tables& tables, core::MessageRef message, core::AgentRef receiver,
                  net::Response& response);

// The message at `seq` in the words of `dialect`.
std::expected<std::string, base::Error> message_text(node::Broker& broker,
                                                     core::WorkspaceId workspace, base::Seq seq,
                                                     core::Dialect dialect,
                                                     const dialect::EncodeContext& context);

// How a message is written for one who asks for it.
inline dialect::EncodeContext shown_to(std::string_view recipient) {
  return {.recipient = recipient, .trace = dialect::EncodeContext::Trace::own};
}

// The message that was pushed last, but for its place: a publish to many is encoded once for all
// who speak the same dialect. The text follows from the members before it and from nothing else: a
// message does not change once it is accepted.
struct Rendered {
  base::Seq message;
  core::Dialect dialect{};
  std::string reader;           // whom it names; empty: no one, so that it serves all
  std::string redirected_from;  // in whose place the reader got it
  std::string text;             // its memory serves again

  bool serves(base::Seq wanted, core::Dialect wanted_dialect, std::string_view who,
              std::string_view away) const {
    return message == wanted && dialect == wanted_dialect && redirected_from == away &&
           (reader.empty() || reader == who);
  }
};

// What was sent at `seq` and is no message, as a JSON string and without secrets.
std::expected<std::string, base::Error> malformed_text(node::Broker& broker,
                                                       core::WorkspaceId workspace, base::Seq seq);

// The envelope of the message at `seq`, with its number in its channel; its texts are good until
// the broker's next step or record.
std::expected<core::Envelope, base::Error> envelope_at(node::Broker& broker,
                                                       core::WorkspaceId workspace, base::Seq seq);
// The envelope of a stored message; its texts are good as long as that is.
std::expected<core::Envelope, base::Error> envelope_of(const view::StoredMessage& stored);

// What the sender of a task should know that was not sent, since it was given before; else empty.
std::string task_warning(const core::Tables& tables, const core::Receipt& receipt);
// That some do not get a broadcast in memory, which no dead letter says; else empty.
std::string unfit_warning(const core::Tables& tables, const core::Receipt& receipt);

// How a request stands, as the member `request`; nothing for other messages.
void render_request(const core::Tables& tables, core::MessageRef ref, lib::JsonWriter& out);

// `success`, `partial`, …; `unset` where the sender did not say.
std::string_view status_name(core::Status status);

// The body of the message by which the broker does an outbox item.
std::string outbox_item_text(const core::OutboxItem& item);

std::string_view kind_name(core::PrincipalKind kind);
std::string_view priority_name(core::Priority priority);
std::string_view via_name(core::Via via);

// For people: in milliseconds, from ten seconds on in seconds; never less than it is.
std::string rough_duration(base::Duration duration);

}  // namespace parley::edge
