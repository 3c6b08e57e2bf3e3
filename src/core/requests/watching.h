// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/delivery/dispatch.h"

namespace parley::core {

// What requests, scatters and pipelines share. A message is watched (`Message::watched`) while
// someone waits for what becomes of it: the engine keeps it, settled or not, and Dispatch says when
// one of its deliveries ends.

// How long the sender waits for an answer: as it says, else as its dialect has it. Zero: it does
// not wait.
Duration timeout_of(const Rules& rules, const Envelope& e, bool to_many = false);

// The message, which is watched, is pending until it is answered or fails, or its time is over.
// `pipeline` is the one whose stage it is; none: 0.
void await_answer(Dispatch& dispatch, MessageRef message, Duration timeout, OnTimeout on_timeout,
                  Seq pipeline);

// No one waits for the message any more. With the last of its deliveries it is only remembered.
void stop_watching(Dispatch& dispatch, Seq message);
// The same of one that is pending.
void end_pending(Dispatch& dispatch, Seq message);

// Facts of a report. The number says how many there are; the list is cut to what its reader can
// take.
Fact count_of(std::string name, size_t count);
void add_names(const Tables& t, OutboxItem& item, const std::string& name,
               std::vector<std::string> names);

}  // namespace parley::core
