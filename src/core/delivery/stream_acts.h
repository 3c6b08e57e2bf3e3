// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

// Gives back what the stream holds and removes it. What a client saw of it is still known by its
// mark. If the receiver failed, it is counted against the message that it was working on: the
// oldest.
void close_stream(Dispatch& dispatch, StreamRef ref, bool failed);

Outcome on(Context& context, const OpenStream& command);
Outcome on(Context& context, const CloseStream& command);

}  // namespace parley::core
