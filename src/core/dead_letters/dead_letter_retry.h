// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/delivery/dispatch.h"

namespace parley::core {

// A new letter gets the moment at which it is looked at next.
void plan_retry(Dispatch& dispatch, DeadLetter& letter);

// Looks at those whose moment has come: at most `due_max`.
void advance_dead_letters(Dispatch& dispatch);

// Passes a dead letter on to a human: an escalation that a person resolves.
void escalate_dead_letter(Dispatch& dispatch, DeadLetter& letter, std::string_view by);

// The broker itself resolves it.
void resolve_dead_letter(Dispatch& dispatch, DeadLetter& letter, Resolution resolution);

// Drops the oldest beyond dead_letters_max: at most `due_max`.
void forget_dead_letters(Dispatch& dispatch);

// When one is looked at or dropped next.
Time dead_letters_due(const Tables& t);

}  // namespace parley::core
