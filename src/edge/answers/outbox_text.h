// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/outbox/outbox.h"

namespace parley::edge {

// The body of the message that the broker sends for an outbox item: a JSON object with the event
// and a member for each fact.
std::string outbox_item_text(const core::OutboxItem& item);

}  // namespace parley::edge
