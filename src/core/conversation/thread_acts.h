// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "core/delivery/routing.h"
#include "core/machine/context.h"

namespace parley::core {

// Where a message goes among the threads; or why it may not. `question` is what it answers, or
// none. A name belongs to those who take part: others who use it by chance, or because they guessed
// it, have a conversation apart, of which the engine keeps nothing. So they neither fill the thread
// nor learn that there is one.
std::expected<ThreadPlace, Error> find_thread(const ConstContext& context, const Envelope& e,
                                              MessageRef question);
// Writes the accepted message down in its thread, which begins with it where there was none.
void enter_thread(Tables& t, const ThreadPlace& place, const Envelope& e, const Route& route,
                  MessageRef message_ref);

// A request counts in its thread no more as one that waits for its answer. Does nothing when it did
// not. Call it when it is answered, when nobody watches it any more, and when an unwatched one has
// no open delivery.
void end_thread_request(Dispatch& dispatch, MessageRef ref);

// When the oldest that ages has its last moment; time_max: none does.
Time next_thread_end(const Tables& t);
// Closes those that are old, at most `due_max`; and when that is due: at whole seconds.
void advance_threads(Dispatch& dispatch);
Time threads_due(const Tables& t);
// Forgets what is closed or idle for long, at most `due_max`; and when: at whole minutes.
void forget_threads(Tables& t);
Time old_threads_due(const Tables& t);

Checked check(const ConstContext& context, const CloseThread& command);
Outcome on(Context& context, const CloseThread& command);

}  // namespace parley::core
