// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>

#include "core/delivery/routing.h"
#include "core/machine/context.h"

namespace parley::core {

// Whether the sender may give work to these receivers, or report to them: inbox's roles.
std::expected<void, Error> check_roles(const ConstContext& context, const Envelope& e,
                                       const Route& route);

// A task that is done with in its thread, or waits there with the same words, is not given again:
// the receipt that says so. None when this message gives a task, or none.
std::expected<std::optional<Receipt>, Error> find_given(const ConstContext& context,
                                                        const Envelope& e, const Route& route,
                                                        uint64_t content);
// The accepted message gives a task, or tells of one.
void enter_task(Context& context, const Envelope& e, const Route& route, MessageRef message,
                MessageRef question);
// The message is the outcome of the task.
void end_task(Context& context, Task& task, const Envelope& e);

// The task stands so from now on; `by` whom, none: no one. Those who listen are told.
void set_task(Dispatch& dispatch, Task& task, TaskState state, AgentRef by);
// Its specialist is at work on all that it holds: the leases begin anew.
void renew_tasks(Tables& t, AgentRef specialist);
// A delivery of a message that gives a task has ended.
void note_task_ended(Dispatch& dispatch, const Delivery& delivery, State state);
// Forgets those that ended long ago, at most `due_max`; and when: at whole minutes.
void forget_tasks(Tables& t);
Time old_tasks_due(const Tables& t);

// Which task is meant must be plain: of several that could go to another none does.
Checked check(const ConstContext& context, const ReassignTask& command);
Outcome on(Context& context, const ReassignTask& command);

}  // namespace parley::core
