// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/delivery/dispatch.h"

namespace parley::core {

// What happens to pipelines. The first message is the owner's own. What the next stage is to get is
// owed by the broker (OutboxKind::stage): a node reads what the stage before it answered and sends
// it on. A stage that says that it is busy is waited for, up to a limit.

// Whose next stage the outbox item is.
Seq pipeline_of(const OutboxItem& item);

// The agent says that it has no time now, or put a stage's message off.
bool is_busy(const Tables& t, const Agent& agent);

// Why the pipeline that the command asks for cannot begin.
std::expected<void, Error> check_pipeline(const Tables& t, const Send& command);
// Its first message was accepted; and delivered, unless the first stage is busy.
void begin_pipeline(Dispatch& dispatch, const Send& command, MessageRef message);
// The message that the outbox item was for was accepted.
void begin_stage(Dispatch& dispatch, const OutboxItem& item, MessageRef message);

// The present stage has answered with the message at `answer`; or it will not, or could not be
// asked. These do nothing when there is no such pipeline, or it is over.
void stage_answered(Dispatch& dispatch, Seq pipeline, Seq answer, Status status);
void stage_failed(Dispatch& dispatch, Seq pipeline, std::string why);
// It was paused and is looked at again; or it ended long ago, and is forgotten.
void pipeline_due(Dispatch& dispatch, Pipeline& pipeline);

// The receiver of a stage's message gave it back with a delay: it is busy until then. Does nothing
// for any other message.
void put_off_stage(Tables& t, DeliveryRef ref, Duration delay);
// The agent said how it is: pipelines that wait for it may go on.
void resume_pipelines(Dispatch& dispatch, AgentRef agent);

// No one waits for what this owner has begun.
void end_pipelines_of(Dispatch& dispatch, std::string_view owner);
// The agent is gone before its stage began: there is no message that could fail.
void fail_pipelines_before(Dispatch& dispatch, std::string_view agent);

}  // namespace parley::core
