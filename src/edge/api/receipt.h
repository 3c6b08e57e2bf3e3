// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/model/outcome.h"
#include "edge/api/call.h"
#include "node/broker.h"

namespace parley::edge {

// A frame of a WebSocket has a thousand sends whose answers must fit into its output: there the
// recipients are counted and not listed, and the thread, which its sender named, is left out.
enum class Recipients : uint8_t { listed, counted };

// What the sender of a message is told, as JSON: what was made of the message, who gets it, and
// what its sender should know.
std::string receipt_text(node::Broker& broker, const Principal& caller,
                         const core::Receipt& receipt, Recipients recipients);

// Answers with the receipt, in the words of `dialect`, or refuses, when the outcome is there.
node::Broker::Done reply_receipt(const Asker& asker, core::Dialect dialect);

}  // namespace parley::edge
