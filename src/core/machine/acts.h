// SPDX-License-Identifier: Apache-2.0
// What the rooms do: for each command `on`, which acts, and `check` where it can be refused at the
// door; what time does, what is forgotten, and when either is due next. A room that is missing here
// is not found by `Workspace::apply`, and the compiler says so.
#pragma once

#include "core/agents/presence.h"
#include "core/agents/registry.h"
#include "core/conversation/lock_acts.h"
#include "core/conversation/session_acts.h"
#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/dead_letters/dead_letter_retry.h"
#include "core/delivery/due.h"
#include "core/delivery/forgetting.h"
#include "core/delivery/receiving.h"
#include "core/delivery/stream_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/limits/admission.h"
#include "core/limits/backpressure_acts.h"
#include "core/machine/rule_acts.h"
#include "core/machine/send.h"
#include "core/requests/deadlock.h"
#include "core/topics/retention.h"
#include "core/topics/subscription_acts.h"
