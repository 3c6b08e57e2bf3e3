// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/model/outcome.h"
#include "edge/api/call.h"
#include "lib/json_writer.h"
#include "node/broker.h"

namespace parley::edge {

// How much a receipt says. Over HTTP the recipients are listed. Over a WebSocket a sender may be
// thousands of messages ahead, and a frame may have a thousand sends whose answers must fit into
// the output: there the recipients are counted, and the record is not read again. So the thread is
// left out there, also where the sender named none and the broker chose it. Only a sender whose
// dialect has tasks is told it, because a warning of its tasks needs the record anyway.
enum class Recipients : uint8_t { listed, counted };

// What the sender of a message is told, as members of the object that is open: what was made of the
// message, who gets it, and what its sender should know.
void render_receipt(node::Broker& broker, const Principal& caller, const core::Receipt& receipt,
                    Recipients recipients, lib::JsonWriter& out);
// The same as an object.
std::string receipt_text(node::Broker& broker, const Principal& caller,
                         const core::Receipt& receipt, Recipients recipients);

// Answers with the receipt, in the words of `dialect`, or refuses, when the outcome is there.
node::Broker::Done reply_receipt(const Asker& asker, core::Dialect dialect);

}  // namespace parley::edge
