// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/pipelines.h"

#include <algorithm>

#include "core/requests/pipeline_acts.h"
#include "sim/text.h"

namespace parley::sim {

void PipelineChecks::begin(const Step& step, const core::Send& command, core::Duration timeout) {
  Pipeline pipeline;
  pipeline.timeout = timeout;
  pipeline.id = command.envelope.id;
  pipeline.header = StageHeader::of(command.envelope);
  pipeline.stages.emplace_back(command.envelope.receivers.front());
  pipeline.stages.insert(pipeline.stages.end(), command.later_stages.begin(),
                         command.later_stages.end());
  pipeline.message = step.entry.seq;
  const auto first = model_.principals.find(pipeline.stages.front());
  const core::Tables& t = step.after.tables();
  const core::AgentRef ref = t.agents.find(pipeline.stages.front());
  // Only the tables know that it put another message off.
  const bool busy =
      first != model_.principals.end() &&
      (first->second.status == "busy" ||
       (first->second.status == "working" && first->second.dialect == core::Dialect::collab) ||
       (ref != core::none && t.agents[ref].busy_until > model_.now));
  const bool is_held = is_held_back(step, command);
  if (is_held ? !busy : busy && !model_.is_away(pipeline.stages.front())) {
    model_.fail(
        Check::wait, step,
        text("{} is busy and asked, or is waited for and not busy", pipeline.stages.front()));
  }
  if (is_held) {
    pipeline.asked = 0;
    pipeline.answer = Answer::good;  // So the pipeline goes on.
    model_.coverage.count("pipeline", "held back");
  }
  model_.pipelines[step.entry.seq] = std::move(pipeline);
  model_.coverage.count("pattern", "pipeline");
}

void PipelineChecks::on_stage_owed(const core::OutboxItem& item, const NamedEffect& effect) {
  model_.pipelines[core::pipeline_of(item)].outbox_item = effect.outbox_item;
  model_.coverage.count("pattern", "stage");
}

// The request goes to the stage after the one that answered, with the header of the first request.
void PipelineChecks::check_stage(const Step& step, const core::Send& command) {
  for (auto& [first, pipeline] : model_.pipelines) {
    if (pipeline.outbox_item != command.outbox_item || pipeline.asked >= pipeline.stages.size()) {
      continue;
    }
    ++pipeline.asked;
    pipeline.outbox_item = 0;
    pipeline.answer = Answer::none;
    pipeline.message = step.entry.seq;
    pipeline.sent_at = step.entry.seq;
    if (command.envelope.receivers.front() != pipeline.stages[pipeline.asked - 1]) {
      model_.fail(Check::wait, step,
                  text("stage {} of pipeline {} is {}", pipeline.asked, first.n,
                       command.envelope.receivers.front()));
    }
    StageHeader header = StageHeader::of(command.envelope);
    if (pipeline.header.trace_id.is_none()) {  // Then each stage begins a trace.
      header.trace_id = {};
    }
    if (pipeline.header.thread.empty()) {
      header.thread.clear();  // Then the pipeline has a thread of its own.
    }
    if (header != pipeline.header) {
      model_.fail(
          Check::wait, step,
          text("stage {} of pipeline {} is not asked as the first was", pipeline.asked, first.n));
    }
    return;
  }
}

void PipelineChecks::on_ended(const Step& step, const core::OutboxItem& item) {
  const std::string id = fact_of<std::string>(item, "pipeline");
  const auto at = std::ranges::find_if(model_.pipelines, [&](const auto& each) {
    return each.second.header.sender == item.to && base::format_uuid(each.second.id) == id;
  });
  if (at == model_.pipelines.end()) {
    model_.fail(Check::wait, step, "a pipeline ends that did not begin, or twice");
    return;
  }
  const Pipeline& pipeline = at->second;
  const bool is_through =
      pipeline.asked == pipeline.stages.size() && pipeline.answer == Answer::good;
  if (is_through != (fact_of<std::string>(item, "state") == "completed")) {
    model_.fail(Check::wait, step,
                text("pipeline {} is told to have ended as it did not", at->first.n));
  }
  model_.coverage.count("pipeline", is_through ? "completed" : "failed");
  model_.pipelines.erase(at);
}

void PipelineChecks::remove_owner(std::string_view name) {
  std::erase_if(model_.pipelines,
                [&](const auto& item) { return item.second.header.sender == name; });
}

void PipelineChecks::check(const Step& step) {
  const auto& known = step.after.tables().pending.pipelines();
  for (const auto& [first, pipeline] : model_.pipelines) {
    const bool is_last = pipeline.asked == pipeline.stages.size();
    const bool works =
        pipeline.answer == Answer::none && model_.requests.contains(pipeline.message);
    const bool goes_on = pipeline.answer == Answer::good && !is_last;
    if (!works && !goes_on) {
      model_.fail(Check::wait, step, text("pipeline {} should be over", first.n));
    }
    const auto at = known.find(first);
    const bool paused = at != known.end() && at->second.state == core::PipelineState::paused;
    const bool is_owed =
        pipeline.outbox_item != 0 && model_.outbox.items.contains(pipeline.outbox_item);
    if (goes_on && !is_owed && !paused) {
      model_.fail(Check::wait, step, text("pipeline {} stands still", first.n));
    }
  }
}

bool is_held_back(const Step& step, const core::Send& command) {
  const auto& known = step.after.tables().pending.pipelines();
  const auto at = known.find(step.entry.seq);
  return !command.later_stages.empty() && at != known.end() &&
         at->second.stages.front().message.n == 0;
}

}  // namespace parley::sim
