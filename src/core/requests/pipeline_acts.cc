// SPDX-License-Identifier: Apache-2.0
#include "core/requests/pipeline_acts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/humans/escalation_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/watching.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

// In its last heartbeat, by the word that all dialects share or by its own.
bool says_busy(const Agent& agent) {
  const std::string_view own = policy_of(agent.dialect).busy_status;
  return agent.status == "busy" || (!own.empty() && agent.status == own);
}

// nullptr when there is none with this first message, or it is over.
Pipeline* unfinished(Tables& t, Seq first) {
  Pipeline* const pipeline = t.pending.find_pipeline(first);
  return pipeline == nullptr || pipeline->is_over() ? nullptr : pipeline;
}

// The stage itself, or the one behind it: what goes to a stage comes out of it, so nothing more is
// put in while the next one says that it is busy. Before the first nothing is on its way.
const Agent* busy_one(const Tables& t, const Pipeline& pipeline) {
  const size_t ahead = pipeline.stage == 0 ? 1 : 2;
  const size_t end = std::min<size_t>(pipeline.stage + ahead, pipeline.stages.size());
  for (size_t at = pipeline.stage; at < end; ++at) {
    const AgentRef ref = t.agents.find(pipeline.stages[at].agent);
    if (ref != none && is_busy(t, t.agents[ref])) {
      return &t.agents[ref];
    }
  }
  return nullptr;
}

void end(Dispatch& dispatch, Pipeline& pipeline, PipelineState state) {
  Tables& t = dispatch.t;
  if (pipeline.waits_to_begin()) {
    stop_watching(dispatch, pipeline.first);
  }
  pipeline.state = state;
  pipeline.waits_for.clear();
  pipeline.ended = t.now;
  t.outbox.remove(pipeline.outbox_item);                           // of a stage that will not begin
  t.pending.set_due(pipeline, t.now + t.rules.settled_retention);  // kept for those who ask
  const Seq result = pipeline.stages[pipeline.stage].response;
  OutboxItem item{.kind = OutboxKind::pipeline_ended,
                  .to = pipeline.owner,
                  .about = result.n != 0 ? result : pipeline.first};
  item.facts = {{"pipeline", base::format_uuid(pipeline.id)},
                {"state", std::string(pipeline_state_name(state))},
                count_of("stages", pipeline.stages.size()),
                count_of("stage", pipeline.stage + 1),
                {"agent", pipeline.stages[pipeline.stage].agent}};
  if (!pipeline.error.empty()) {
    item.facts.push_back({"error", pipeline.error});
  }
  owe(dispatch, std::move(item));
}

void fail(Dispatch& dispatch, Pipeline& pipeline, std::string why) {
  const Pipeline::Stage& stage = pipeline.stages[pipeline.stage];
  pipeline.error = "stage " + std::to_string(pipeline.stage + 1) + ", \"" + stage.agent +
                   "\": " + std::move(why);
  escalate_if_room(dispatch, {.cause = EscalationCause::pipeline_failed,
                              .about = stage.message.n != 0 ? stage.message : pipeline.first,
                              .agent = pipeline.owner,
                              .receiver = stage.agent,
                              .why = pipeline.error});
  end(dispatch, pipeline, PipelineState::failed);
}

// Owes the present stage its message; or waits while an agent is busy. How long is counted from
// when the work came here, so that one who says it again and again cannot hold it up for ever.
void hand_over(Dispatch& dispatch, Pipeline& pipeline) {
  Tables& t = dispatch.t;
  const Agent* const busy = busy_one(t, pipeline);
  const Pipeline::Stage* const before =
      pipeline.stage == 0 ? nullptr : &pipeline.stages[pipeline.stage - 1];
  const Time patience =
      (before == nullptr ? pipeline.since : before->ended) + t.rules.pipeline_pause_max;
  if (busy != nullptr && t.now < patience) {
    pipeline.state = PipelineState::paused;
    pipeline.waits_for = busy->name;
    // Who says that it is busy says when it is not: `resume_pipelines`. Who put a message off has
    // named the moment.
    const Time again = says_busy(*busy) ? patience : std::min(busy->busy_until, patience);
    t.pending.set_due(pipeline, again);
    return;
  }
  if (busy != nullptr) {
    fail(
        dispatch, pipeline,
        "\"" + busy->name + "\" was busy for " + base::format_duration(t.rules.pipeline_pause_max));
    return;
  }
  pipeline.state = PipelineState::running;
  pipeline.waits_for.clear();
  t.pending.set_due(pipeline, base::time_max);
  OutboxItem item{.kind = OutboxKind::stage,
                  .to = pipeline.stages[pipeline.stage].agent,
                  .about = before == nullptr ? pipeline.first : before->response};
  item.facts = {count_of("pipeline", pipeline.first.n),
                {"owner", pipeline.owner},
                {"timeout", pipeline.stage_timeout}};
  const AgentRef next = t.agents.find(item.to);
  const bool is_there = next != none && t.agents[next].is_registered();
  pipeline.outbox_item = owe(dispatch, std::move(item));
  if (pipeline.outbox_item == 0) {
    fail(dispatch, pipeline,
         is_there ? "the broker owes too many messages already (errands_max)"
                  : "no agent has this name any more");
  }
}

// Those of which this is so. What is done to one of them may change the table.
template <class Is>
std::vector<Seq> pipelines_that(const Tables& t, Is&& is) {
  std::vector<Seq> found;
  for (const auto& [first, pipeline] : t.pending.pipelines()) {
    if (!pipeline.is_over() && is(pipeline)) {
      found.push_back(first);
    }
  }
  return found;
}

}  // namespace

Seq pipeline_of(const OutboxItem& item) {
  const auto* const first =
      item.facts.empty() ? nullptr : std::get_if<int64_t>(&item.facts.front().value);
  return first == nullptr ? Seq{} : Seq{static_cast<uint64_t>(*first)};
}

bool is_busy(const Tables& t, const Agent& agent) {
  return agent.busy_until > t.now || says_busy(agent);
}

static bool has_its_share(const Tables& t, std::string_view owner) {
  return t.pending.pipelines_of(owner) >= share_of(t.rules, t.rules.pipelines_max);
}

std::expected<void, Error> check_pipeline(const Tables& t, const Send& command) {
  if (command.later_stages.size() >= t.rules.stages_max) {
    return refuse(
        Code::bad_request,
        "a pipeline has at most " + std::to_string(t.rules.stages_max) + " stages (stages_max)",
        "/stages");
  }
  const std::string_view sender = command.envelope.sender;
  const bool has_ended = t.pending.ended_pipeline_of(sender).n != 0;
  if (!has_ended && has_its_share(t, sender)) {
    return refuse_share(
        "you have " + std::to_string(t.pending.pipelines_of(sender)) + " pipelines that run",
        "pipelines_max", "wait until some have ended");
  }
  if (!has_ended && t.pending.pipelines().size() >= t.rules.pipelines_max) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.rules.pipelines_max) +
                      " pipelines already (pipelines_max)",
                  "");
  }
  return {};
}

// Where its owner has its share of them, or there is no room, the first of its own that ended goes.
void begin_pipeline(Dispatch& dispatch, const Send& command, MessageRef ref) {
  Tables& t = dispatch.t;
  const Message& message = t.messages.message(ref);
  Pipeline pipeline;
  pipeline.first = message.seq;
  pipeline.id = message.id;
  pipeline.owner = t.agents[message.sender].name;
  const bool is_full = t.pending.pipelines().size() >= t.rules.pipelines_max;
  if (const Seq ended = t.pending.ended_pipeline_of(pipeline.owner);
      ended.n != 0 && (is_full || has_its_share(t, pipeline.owner))) {
    t.pending.remove_pipeline(ended);
  }
  pipeline.task = command.envelope.task;
  pipeline.thread = pipeline.task.empty() ? std::string_view{} : command.envelope.thread;
  pipeline.stage_timeout = timeout_of(t.rules, command.envelope);
  if (pipeline.stage_timeout.us == 0) {  // a pipeline never waits for ever
    pipeline.stage_timeout = t.rules.flow_request_timeout;
  }
  pipeline.on_timeout = command.envelope.on_timeout;
  pipeline.since = t.now;
  pipeline.stages.push_back({.agent = std::string(command.envelope.receivers.front())});
  for (const std::string_view stage : command.later_stages) {
    pipeline.stages.push_back({.agent = std::string(stage)});
  }
  Pipeline& added = t.pending.add(std::move(pipeline));
  if (message.delivery_count == 0) {  // its first stage is busy
    hand_over(dispatch, added);
    return;
  }
  added.stages.front().message = message.seq;
  added.stages.front().began = t.now;
  await_answer(dispatch, ref, added.stage_timeout, added.on_timeout, message.seq);
  dispatch.note_ended(ref);  // it may have failed at once
}

void begin_stage(Dispatch& dispatch, const OutboxItem& item, MessageRef ref) {
  Tables& t = dispatch.t;
  Pipeline* const pipeline = unfinished(t, pipeline_of(item));
  CHECK(pipeline != nullptr);  // one that ends takes its outbox item with it
  if (pipeline->waits_to_begin()) {
    stop_watching(dispatch, pipeline->first);
  }
  Pipeline::Stage& stage = pipeline->stages[pipeline->stage];
  stage.message = t.messages.message(ref).seq;
  stage.began = t.now;
  pipeline->outbox_item = 0;
  await_answer(dispatch, ref, pipeline->stage_timeout, pipeline->on_timeout, pipeline->first);
  dispatch.note_ended(ref);
}

void stage_answered(Dispatch& dispatch, Seq first, Seq answer, Status status) {
  Pipeline* const found = unfinished(dispatch.t, first);
  if (found == nullptr) {
    return;
  }
  Pipeline& pipeline = *found;
  Pipeline::Stage& stage = pipeline.stages[pipeline.stage];
  stage.response = answer;
  stage.ended = dispatch.t.now;
  if (status == Status::error || status == Status::declined) {
    fail(dispatch, pipeline,
         std::string("it answered ") + (status == Status::error ? "error" : "declined"));
    return;
  }
  broker_topics::phase(dispatch, pipeline);
  if (pipeline.stage + 1 == pipeline.stages.size()) {
    end(dispatch, pipeline, PipelineState::completed);
  } else {
    ++pipeline.stage;
    hand_over(dispatch, pipeline);
  }
}

void stage_failed(Dispatch& dispatch, Seq first, std::string why) {
  if (Pipeline* const pipeline = unfinished(dispatch.t, first)) {
    fail(dispatch, *pipeline, std::move(why));
  }
}

void pipeline_due(Dispatch& dispatch, Pipeline& pipeline) {
  if (pipeline.is_over()) {
    dispatch.t.pending.remove_pipeline(pipeline.first);
  } else {
    hand_over(dispatch, pipeline);
  }
}

void put_off_stage(Tables& t, DeliveryRef ref, Duration delay) {
  const PendingRequest* const request = t.pending.find_request(t.messages.message_of(ref).seq);
  if (delay.us > 0 && request != nullptr && request->pipeline.n != 0) {
    Agent& agent = t.agents[t.messages.delivery(ref).receiver];
    agent.busy_until = std::max(agent.busy_until, t.now + delay);
  }
}

void resume_pipelines(Dispatch& dispatch, AgentRef agent) {
  Tables& t = dispatch.t;
  t.agents[agent].busy_until = {};
  const std::string& name = t.agents[agent].name;
  const std::vector<Seq> waiting = pipelines_that(t, [&name](const Pipeline& pipeline) {
    return pipeline.state == PipelineState::paused && pipeline.waits_for == name;
  });
  for (const Seq first : waiting) {
    hand_over(dispatch, *t.pending.find_pipeline(first));
  }
}

void end_pipelines_of(Dispatch& dispatch, std::string_view owner) {
  Tables& t = dispatch.t;
  const std::vector<Seq> owned =
      pipelines_that(t, [owner](const Pipeline& pipeline) { return pipeline.owner == owner; });
  for (const Seq first : owned) {
    end(dispatch, *t.pending.find_pipeline(first), PipelineState::failed);
  }
}

void fail_pipelines_before(Dispatch& dispatch, std::string_view agent) {
  Tables& t = dispatch.t;
  const std::vector<Seq> stuck = pipelines_that(t, [agent](const Pipeline& pipeline) {
    const Pipeline::Stage& stage = pipeline.stages[pipeline.stage];
    return stage.message.n == 0 && stage.agent == agent;
  });
  for (const Seq first : stuck) {
    fail(dispatch, *t.pending.find_pipeline(first), "the agent was removed");
  }
}

}  // namespace parley::core
