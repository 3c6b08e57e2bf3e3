// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

// Messages that pass on only when people say so (SP-07, in any dialect): one whose sender says that
// it needs approval, and an answer to a request that says so of its answers, or wants more
// confidence than the answer has. Such a message is held (core/holds) while its approval is pending
// (core/humans/approvals.h), and the timer of the request stands still.

// What answers to this message need people for, as `Message::approve_below` has it.
int32_t approve_below(const Envelope& e);

// Why people must approve the message before it passes on; empty: they need not. `question` is what
// it answers, or none.
std::string why_held(const ConstContext& context, const Envelope& e, MessageRef question);

// Whether it may be: an agent that waits for people has a share, and one answer of it waits at a
// time. `why` is empty for a message that needs nobody.
Checked check_held(const ConstContext& context, const Send& command, MessageRef question,
                   std::string_view why);

// Whether people have not decided yet whether the message passes on.
bool waits_for_approval(const Tables& t, Seq message);

// Whether people changed it, and this receiver has not got what they decided.
bool waits_for_decision(const Tables& t, Seq message, AgentRef receiver);

// Whether people did not let it pass, or nobody did in time.
bool is_barred(const Tables& t, Seq message);

// From now on all deliveries of the message are held. Before there are any.
void hold_for_approval(Tables& t, Seq message);
// It is not needed after all.
void drop_hold(Tables& t, Seq message);

// The message is accepted and held: people are asked.
void begin_held(Context& context, const Envelope& e, MessageRef message, MessageRef question,
                std::string why);

// What becomes of the message of an approval that has just ended; nothing where it has none.
// Approved, it goes on as if it had just arrived. Modified, it goes on when what was decided is in
// the inboxes of its receivers, and each of them gets it when it was handed that. Else it is
// withdrawn, and whoever waits for the answer is told why there is none.
void end_held(Dispatch& dispatch, const Approval& approval, std::string_view modification);
// The item has left the outbox: its receiver is told by this message, or cannot be (none). What
// waited for that goes on.
void note_told(Dispatch& dispatch, const OutboxItem& item, MessageRef notice);
// Who was handed what people decided in this entry gets the message, too.
void release_decided(Dispatch& dispatch);
// The principal is gone: nobody waits until it is told.
void tell_no_more(Dispatch& dispatch, std::string_view name);

// A snapshot has the approvals, and not the holds that follow from them.
void restore_held(Tables& t);

}  // namespace parley::core
