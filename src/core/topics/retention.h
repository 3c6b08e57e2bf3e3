// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// Keeps a topic's message for late subscribers, within the topic's limit.
void retain(Dispatch& dispatch, MessageRef ref);

// Drops what is older than topic_retention, at most `due_max`; and when: at whole minutes.
void forget_retained(Dispatch& dispatch);
Time retained_due(const Tables& t);

}  // namespace parley::core
