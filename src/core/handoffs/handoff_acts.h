// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

struct Route;

// The delivery that a message acknowledges (Kind::acknowledgement); none for any other message, and
// where it says nothing of what was sent to its sender. Fails where it names what was not.
std::expected<DeliveryRef, Error> find_acknowledged(const ConstContext& context, const Envelope& e);
// Its receiver is done with it, or at work on it.
void acknowledge(Context& context, DeliveryRef acknowledged);

// Whether the sender may have another to wait for: it has a share.
Checked check_handoffs(const ConstContext& context, const Envelope& e, const Route& route);
// The accepted message is a handoff or a query, or tells of one.
void enter_handoff(Context& context, const Envelope& e, MessageRef message);

// A delivery of it came to this state, and so did the handoff. Does nothing for any other delivery.
void note_handoff(Tables& t, const Delivery& delivery, State state);
// People have decided on what they were asked about this message.
void note_resolved(Tables& t, Seq message);

// Announces what is overdue, and puts before people what is blocked or silent for too long, at most
// `due_max` of each; and when that is due.
void advance_handoffs(Dispatch& dispatch);
Time handoffs_due(const Tables& t);

// The principal is gone, and with it what it gave and what it was to do.
void leave_handoffs(Dispatch& dispatch, std::string_view name);

// How a message stands with one receiver, in the words of squad: `pending`, `read`, `in_progress`,
// `completed`, `escalated`; of what ended otherwise `expired`, `rejected` or `dead`.
std::string_view handoff_status(const Tables& t, const Delivery& delivery);

}  // namespace parley::core
