// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/machine/workspace.h"
#include "dialect/dialect.h"
#include "node/broker.h"
#include "view/reader.h"

namespace parley::edge {

using dialect::codec_of;

// Messages as they stand in the journal or in the history. The machine keeps no bodies, so whoever
// shows one reads its record.

// The envelope of the message at `seq`, with its number in its channel; its texts are good until
// the broker's next step or record.
std::expected<core::Envelope, base::Error> envelope_at(node::Broker& broker,
                                                       core::WorkspaceId workspace, base::Seq seq);
// The envelope of a stored message; its texts are good as long as that is.
std::expected<core::Envelope, base::Error> envelope_of(const view::StoredMessage& stored);

// A message's id in the form of the reader's dialect.
std::string id_text(node::Broker& broker, core::WorkspaceId workspace, const core::Message& message,
                    core::Dialect reader);

// The message at `seq` in the words of `dialect`.
std::expected<std::string, base::Error> message_text(node::Broker& broker,
                                                     core::WorkspaceId workspace, base::Seq seq,
                                                     core::Dialect dialect,
                                                     const dialect::EncodeContext& context);

// The context in which a message is written for a reader who asks for it.
inline dialect::EncodeContext shown_to(std::string_view recipient) {
  return {.recipient = recipient, .trace = dialect::EncodeContext::Trace::own};
}

// What people want instead, by the decision at `seq`: JSON.
std::expected<std::string, base::Error> modification_text(node::Broker& broker,
                                                          core::WorkspaceId workspace,
                                                          base::Seq seq);

// The malformed message at `seq`, as a JSON string and without secrets.
std::expected<std::string, base::Error> malformed_text(node::Broker& broker,
                                                       core::WorkspaceId workspace, base::Seq seq);

}  // namespace parley::edge
