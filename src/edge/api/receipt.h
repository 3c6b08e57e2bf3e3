// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/model/effect.h"
#include "edge/principal.h"
#include "node/broker.h"

namespace parley::edge {

// What the sender of a message is told, as JSON: what was made of the message, who gets it, and
// what its sender should know.
std::string receipt_text(node::Broker& broker, const Principal& caller,
                         const core::Receipt& receipt);

}  // namespace parley::edge
