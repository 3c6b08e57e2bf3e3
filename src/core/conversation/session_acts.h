// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string_view>

#include "core/delivery/routing.h"
#include "core/machine/context.h"

namespace parley::core {

Checked check(const ConstContext& context, const StartSession& command);

// The session that a message is in, nullptr for none; or why it may not be. `*` in a session means
// all who take part: the route is narrowed to them.
std::expected<const Session*, Error> session_of(const ConstContext& context, const Send& command,
                                                Route& route);
// Before the message is delivered, so that what is sent in a paused session waits.
void enter_session(Tables& t, Session& session, const Envelope& e, const Route& route,
                   MessageRef ref);

// A snapshot has the sessions; what those that are paused hold follows from them.
void restore_session_holds(Tables& t);

// The principal goes from its sessions, of which those that it coordinates fail.
void leave_sessions(Dispatch& dispatch, std::string_view name);

// Warns of and ends those whose time is over, at most `due_max`; and when that is due.
void advance_sessions(Dispatch& dispatch);
Time sessions_due(const Tables& t);
// Forgets those that ended long ago, at most `due_max`; and when: at whole minutes.
void forget_sessions(Tables& t);
Time old_sessions_due(const Tables& t);

Outcome on(Context& context, const StartSession& command);
Outcome on(Context& context, const ChangeSession& command);

}  // namespace parley::core
