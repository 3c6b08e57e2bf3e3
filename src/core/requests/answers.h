// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "core/machine/context.h"

namespace parley::core {

// Who was asked alone: the receiver of a message to one, or, where its task was given to another
// since, who has that now. none: several were asked.
AgentRef asked_alone(const Tables& t, MessageRef ref);

// What a response answers; none for any other message. Fails where it answers nothing that was sent
// to its sender, or goes to others only than who asked, whom that one named, and who began the
// chain: whoever waits must get it.
std::expected<MessageRef, Error> find_question(const ConstContext& context, const Envelope& e);

// Whether someone still waits for the answer of `by`.
bool is_awaited(const Tables& t, MessageRef question, AgentRef by);

// What comes back to the one who asked: the answer, one that is late, or one more. Where a chain
// ends, it is the answer to all that was passed on in it.
void enter_answer(Context& context, MessageRef question, MessageRef answer, const Envelope& e);

}  // namespace parley::core
