// SPDX-License-Identifier: Apache-2.0
// All rooms: a new one is entered here, and its table in core/machine/tables.h. The includes name
// what the rooms do: for each command `on`, which acts, and `check` where it can be refused at the
// door. A room that is missing is not found by `Workspace::apply`, and the compiler says so. The
// lists below say in which order the rooms come.
#pragma once

#include <string_view>

#include "core/agents/agents_snapshot.h"
#include "core/agents/hub.h"
#include "core/agents/presence.h"
#include "core/agents/registry.h"
#include "core/conversation/lock_acts.h"
#include "core/conversation/session_acts.h"
#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/conversation/threads_snapshot.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/dead_letters/dead_letter_retry.h"
#include "core/dead_letters/dead_letters_snapshot.h"
#include "core/debates/debate_acts.h"
#include "core/delivery/delivery_snapshot.h"
#include "core/delivery/due.h"
#include "core/delivery/forgetting.h"
#include "core/delivery/receiving.h"
#include "core/delivery/stream_acts.h"
#include "core/handoffs/agent_session_acts.h"
#include "core/handoffs/handoff_acts.h"
#include "core/humans/approval_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/humans/held.h"
#include "core/limits/admission.h"
#include "core/limits/backpressure_acts.h"
#include "core/limits/limits_snapshot.h"
#include "core/limits/rate_limit.h"
#include "core/machine/room_lists.h"
#include "core/machine/rule_acts.h"
#include "core/machine/send.h"
#include "core/moderation/flag_acts.h"
#include "core/requests/deadlock.h"
#include "core/requests/due.h"
#include "core/requests/wait_graph_snapshot.h"
#include "core/topics/retention.h"
#include "core/topics/subscription_acts.h"
#include "core/topics/topics_snapshot.h"

namespace parley::core {

// What time brings about, in this order, before a command acts.
using TimeSteps =
    Steps<Step<relieve_all, relief_due>, Step<advance_rebooking, rebooking_due>,
          Step<advance_deliveries, deliveries_due>, Step<advance_threads, threads_due>,
          Step<advance_sessions, sessions_due>, Step<advance_locks, locks_due>,
          Step<advance_dead_letters, dead_letters_due>, Step<advance_requests, requests_due>,
          Step<advance_approvals, approvals_due>, Step<advance_debates, debates_due>,
          Step<advance_handoffs, handoffs_due>, Step<advance_violations, violations_due>,
          Step<presence::advance, presence::due>>;

// The end of each entry: who got what people decided about a message may get that. Who has nothing
// waiting for its limits any more is told so, and what is kept or remembered beyond its time or
// number goes. Messages go last: the others refer to them.
using LastSteps =
    Steps<Step<release_decided, no_time>, Step<relieve_drained, no_time>,
          Step<forget_dead_letters, no_time>, Step<forget_retained, retained_due>,
          Step<forget_threads, old_threads_due>, Step<forget_sessions, old_sessions_due>,
          Step<forget_tasks, old_tasks_due>, Step<forget_messages, old_messages_due>>;

// The parts of a snapshot behind the rules, in the order of their bytes. Another order, and a part
// that is added or removed, makes another format: core/machine/snapshot.h says what to do then.
// Sessions, tasks, approvals and debates come before the messages: those in a paused session, those
// that people have to approve, and those that a reviewer's challenge holds, are in no inbox, and
// some give tasks.
constexpr std::string_view snapshot_magic = "parley snapshot 8\n";
using SnapshotParts =
    Parts<Part<&Tables::agents, encode_agents, decode_agents>,
          Part<&Tables::topics, encode_topics, decode_topics>,
          Part<&Tables::streams, encode_streams, decode_streams>,
          Part<&Tables::threads, encode_threads, decode_threads>,
          Part<&Tables::topics, encode_wildcards, decode_wildcards>, Whole<&Tables::sessions>,
          Whole<&Tables::tasks>, Whole<&Tables::approvals>, Whole<&Tables::debates>,
          Part<&Tables::messages, encode_messages, decode_messages>,
          Part<&Tables::dead_letters, encode_dead_letters, decode_dead_letters>,
          Part<&Tables::buckets, encode_limits, decode_limits>, Whole<&Tables::outbox>,
          Whole<&Tables::escalations>, Whole<&Tables::flags>, Whole<&Tables::pending>,
          Whole<&Tables::locks>, Whole<&Tables::handoffs>,
          Part<&Tables::wait_graph, encode_wait_graph, decode_wait_graph>,
          Whole<&Tables::broadcasts>>;

// A principal is removed: `on(Context&, const Unregister&)` says what comes before and after.
using RoomDepartures = Departures<leave_sessions, leave_locks, leave_approvals, leave_debates,
                                  leave_handoffs, leave_violations>;

}  // namespace parley::core
