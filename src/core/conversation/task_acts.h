// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>

#include "core/delivery/routing.h"
#include "core/machine/context.h"

namespace parley::core {

// Whether the principal gave the task, and whether it has it. A name that was registered anew is
// another principal: what came to the name before that is not its own.
bool gave(const Tables& t, AgentRef agent, const Task& task);
bool has(const Tables& t, AgentRef agent, const Task& task);

// Whether the sender may give work to these receivers, or report to them: inbox's roles.
std::expected<void, Error> check_roles(const ConstContext& context, const Envelope& e,
                                       const Route& route);

// A task that is done with in its thread, or waits there with the same words, is not given again:
// the receipt that says so. None when this message gives a task, or none.
std::expected<std::optional<Receipt>, Error> find_given(const ConstContext& context,
                                                        const Envelope& e, const Route& route,
                                                        uint64_t content);
// The accepted message gives a task, or tells of one. False: it names one that its sender neither
// has, nor gave, nor was asked for.
bool enter_task(Context& context, const Envelope& e, const Route& route, MessageRef message,
                MessageRef question);

// Its specialist is at work on all that it holds: the leases begin anew.
void renew_tasks(Tables& t, AgentRef specialist);

// What happens to a delivery of a message that gives a task happens to the task, if its receiver
// still is the specialist. Each does nothing for any other delivery.
//
// The specialist read it, or reads it again.
void note_task_read(Dispatch& dispatch, const Delivery& delivery);
// It has ended in this state.
void note_task_ended(Dispatch& dispatch, const Delivery& delivery, State state);
// This answer, which another gave, is its receiver's too: it passed the request on.
void note_task_answered(Context& context, const Delivery& delivery, const Envelope& answer);
// It had ended, and waits again.
void note_task_revived(Dispatch& dispatch, const Delivery& delivery);
// Its specialist reported an error, after which it is given the task again.
void note_task_error(Tables& t, Seq message, Seq report);
// The task that this message gives came to nothing, if it is open.
void fail_task(Dispatch& dispatch, Seq message);
// It goes to `other` instead. Before that one is its receiver.
void note_task_redirected(Tables& t, const Delivery& delivery, AgentRef other);

// Whether its type is the word for how a task ended, well or not.
bool names_outcome(const Envelope& e);

// Forgets those that ended long ago, at most `due_max`; and when: at whole minutes.
void forget_tasks(Tables& t);
Time old_tasks_due(const Tables& t);

// Which task is meant must be plain: of several that could go to another none does.
Checked check(const ConstContext& context, const ReassignTask& command);
Outcome on(Context& context, const ReassignTask& command);

}  // namespace parley::core
