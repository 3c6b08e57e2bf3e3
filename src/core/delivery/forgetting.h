// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/messages/message.h"

namespace parley::core {

struct Tables;

// A message that nothing needs any more, in Tables::remembered: who refers to it or repeats it is
// still understood.
struct Remembered {
  MessageRef message;
  Time since;
};

// Drops what is remembered of settled messages beyond its time or number, at most `due_max`; and
// when that is due: at whole minutes, or at once while there are too many.
void forget_messages(Tables& t);
Time old_messages_due(const Tables& t);

}  // namespace parley::core
