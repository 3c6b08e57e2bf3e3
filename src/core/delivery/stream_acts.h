// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/machine/context.h"

namespace parley::core {

// Gives what waits of these deliveries to those of the streams whose clients saw it before they
// came back, in the order in which they saw it. It waits neither for room in the window nor for
// what stands before it in the inbox: the client has it, and may acknowledge all up to a mark.
void hand_out_seen(Dispatch& dispatch, std::span<const DeliveryRef> deliveries,
                   std::span<const StreamRef> streams);

// Gives back what the stream holds and removes it. What a client saw of it is still known by its
// mark. If the receiver failed, it is counted against the message that it was working on: the
// oldest.
void close_stream(Dispatch& dispatch, StreamRef ref, bool failed);

Checked check(const ConstContext& context, const OpenStream& command);
Outcome on(Context& context, const OpenStream& command);
Outcome on(Context& context, const CloseStream& command);

}  // namespace parley::core
