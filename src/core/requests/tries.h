// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "core/machine/context.h"

namespace parley::core {

// How often a task is tried, where its dialect has that (`Policy::retries_tasks`, SP-05, SP-06),
// and how long its receiver has for it.

// The pause after which the task is given again to who answers so. Nothing: the answer passes on.
std::optional<Duration> pause_after(const ConstContext& context, MessageRef question,
                                    const Envelope& answer);

// The answer, whose deliveries nobody got yet, is not passed on. It stays in the history, and the
// task is given again after the pause.
void supersede_answer(Context& context, MessageRef question, MessageRef answer, Duration pause);

// Whether the last try has failed too, in a way that another one might have mended.
bool is_last_failure(const ConstContext& context, MessageRef question, const Envelope& answer);

// After the last try the answer is not passed on, either. Whoever gave the task gets one failure,
// made by the broker, with what the answer says of the error and the number of tries; and people
// get it.
void fail_after_last_try(Context& context, MessageRef question, MessageRef answer,
                         const Envelope& e);

// Whoever gave the task gets its failure, in the name of who had it: the broker says it, once.
void tell_task_failed(Dispatch& dispatch, MessageRef request, AgentRef receiver,
                      std::vector<Fact> facts);

// The request for which its receiver asks for more time; none for any other message. Fails where it
// has no such request, or has got all that it can get (superprompt.extension_max).
std::expected<MessageRef, Error> find_extended(const ConstContext& context, const Envelope& e);
void extend_time(Context& context, MessageRef request, Duration more);

}  // namespace parley::core
