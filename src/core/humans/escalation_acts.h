// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

// Asks the humans to look at it, and says so to those who answer for the workspace. There must be
// room for it (`Escalations::has_room`).
uint64_t escalate(Dispatch& dispatch, Escalation escalation);
// The same of what was accepted before its agent had so many open ones. 0, and it is only counted,
// where there is no room for another of the agent's.
uint64_t escalate_if_room(Dispatch& dispatch, Escalation escalation);

// The same of an answer whose sender says that people should look at it (`Envelope::review`); does
// nothing for any other message, nor while people are to look at another one to the same question.
// It is the sender's, who has a share, and those who maintain the workspace are told.
void escalate_for_review(Dispatch& dispatch, const Envelope& e, MessageRef message,
                         MessageRef question, std::string_view why);

// The same of a message that people are to look at though nothing failed (SQ-07): its sender asks
// for it, or the policy of its dialect does, because it is critical or an answer is not sure
// enough. `people` are those among its receivers, to whom it goes anyway.
void escalate_by_policy(Dispatch& dispatch, const Envelope& e, Seq message,
                        std::vector<std::string> people);

// The same of a delivery whose message was not read while it lived (SQ-13); its sender is told.
// True also where it is to many, and nobody misses it. False: there is no room for another
// escalation.
bool escalate_expired(Dispatch& dispatch, DeliveryRef ref);

// Whether the sender may send what is escalated when it fails: a critical message, a request with
// on_timeout escalate, a pipeline. Who has its share of open escalations may not.
Checked check_escalation_share(const ConstContext& context, const Send& command);

Checked check(const ConstContext& context, const ResolveEscalation& command);
Outcome on(Context& context, const ResolveEscalation& command);

}  // namespace parley::core
