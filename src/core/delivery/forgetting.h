// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/messages/message.h"

namespace parley::core {

struct Tables;

// A message that nothing needs any more, in Tables::remembered: who refers to it or repeats it is
// still understood.
struct Remembered {
  MessageRef message = none;
  Time since;
};

// The message counts as settled from now on, by what it takes up.
void remember(Tables& t, MessageRef ref);
// It is needed again. Does nothing when it was not settled; else it walks through what is
// remembered of its sender.
void recall(Tables& t, MessageRef ref);

// Drops what is remembered of settled messages beyond its time or number, at most `due_max`; and
// when that is due: at whole minutes, or at once while there are too many. Of too many the oldest
// of the sender that holds most goes.
void forget_messages(Tables& t);
Time old_messages_due(const Tables& t);

}  // namespace parley::core
