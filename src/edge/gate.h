// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/tables.h"
#include "edge/principal.h"
#include "view/reader.h"

// The one gate for eyes: every reader of the API (routes, streams, tools, resources) asks here
// whether a principal may see something, and none decides by itself (XD-03). What a message says is
// for its sender, for those who got it, and for maintainers and admins, who see all.
//
// A name that is registered anew is another agent: nothing from before its registration is its own.
// `tests/e2e/eyes.test.mjs` walks all routes with the token of one who may see nothing.
namespace parley::edge {

// Whether the caller sent the message, or has it by a delivery of its own, or may see all.
bool may_see(const core::Tables& tables, const Principal& caller, core::MessageRef message);
// Whether the caller got it, and so may settle it.
bool has_received(const core::Tables& tables, const Principal& caller, core::MessageRef message);
// Whether the caller sent it, or may see all: it knows how it stands with each receiver.
bool may_see_deliveries(const core::Tables& tables, const Principal& caller,
                        core::MessageRef message);

// The last of these for a message that the engine may have forgotten, by its record.
bool may_see_deliveries(const Principal& caller, const view::StoredMessage& stored,
                        const core::Envelope& envelope);
// Whether the caller may see what was said of a task at `said`, whose message the engine may have
// forgotten: then it is for the named sender and receivers, if they were there when the task began.
bool may_see_words(const core::Tables& tables, const Principal& caller, const core::Task& task,
                   base::Seq said, const core::Envelope& envelope);

// The same for the history: the reader finds only what this viewer may see.
view::Reader::Viewer viewer_of(const Principal& caller);
// What the caller itself sent or got, also where it may see all.
view::Reader::Viewer self_of(const Principal& caller);

// Whether the caller may know of it as a whole: its sums, its owner, who takes part. What is said
// in it is asked message by message.
bool may_see(const Principal& caller, const core::Thread& thread);
bool may_see(const Principal& caller, const core::Session& session);
// Whether the caller gave the task, has it, or had it.
bool takes_part(const core::Tables& tables, const Principal& caller, const core::Task& task);
bool may_see(const core::Tables& tables, const Principal& caller, const core::Task& task);
// It went from one to another when the caller was there, or the caller may see all.
bool may_see(const Principal& caller, const core::TaskMove& move);
// Who looks after the workspace sees all, an agent those that it waits for, a person those in which
// an agent named it.
bool may_see(const core::Tables& tables, const Principal& caller,
             const core::Escalation& escalation);
// Who takes part in it or is asked to decide, and maintainers.
bool may_see(const core::Tables& tables, const Principal& caller, const core::Debate& debate);
// Whether the caller may say how it ends: then it sees all that was said, too.
bool decides_on(const core::Tables& tables, const Principal& caller, const core::Debate& debate);
// Who gave it, who is to do it, and maintainers.
bool may_see(const core::Tables& tables, const Principal& caller, const core::Handoff& handoff);
// Who asked, who may decide, and maintainers.
bool may_see(const core::Tables& tables, const Principal& caller, const core::Approval& approval);
// Only moderators see what a flag says; its sender sees that the moderators have it.
bool may_see(const Principal& caller, const core::Flag& flag);
bool may_see_state(const Principal& caller, const core::Flag& flag);
bool may_see(const Principal& caller, const core::Gather& gather);
bool may_see(const Principal& caller, const core::Pipeline& pipeline);

// Whether the caller looks after the broker as a whole. Figures of all workspaces are for these
// only: others would learn from them how busy workspaces are that they know nothing of.
bool oversees_broker(const Principal& caller);

// Whether the caller may know who subscribes to which topics. Only maintainers and stewards may:
// the publisher of a message sees counts.
bool sees_subscribers(const core::Tables& tables, const Principal& caller);
// Whether the caller may know who the receivers of the message are: of one to a topic they are its
// subscribers.
bool sees_receivers(const core::Tables& tables, const Principal& caller,
                    const core::Message& message);

}  // namespace parley::edge
