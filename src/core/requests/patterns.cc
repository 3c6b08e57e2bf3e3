// SPDX-License-Identifier: Apache-2.0
#include "core/requests/patterns.h"

#include <algorithm>

#include "core/model/wire.h"

namespace parley::core {

namespace {

template <class Map>
auto* find_in(Map& map, Seq seq) {
  const auto at = map.find(seq);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

std::string_view gather_state_name(GatherState state) {
  switch (state) {
    case GatherState::open:
      return "open";
    case GatherState::complete:
      return "complete";
    case GatherState::partial:
      return "partial";
    case GatherState::failed:
      return "failed";
  }
  return "unknown";
}

std::string_view pipeline_state_name(PipelineState state) {
  switch (state) {
    case PipelineState::running:
      return "running";
    case PipelineState::paused:
      return "paused";
    case PipelineState::completed:
      return "completed";
    case PipelineState::failed:
      return "failed";
  }
  return "unknown";
}

size_t Gather::needed() const {
  switch (terms.strategy) {
    case Strategy::all:
      return members.size();
    case Strategy::any:
      return 1;
    case Strategy::majority:
      return members.size() / 2 + 1;
    case Strategy::quorum:
      return terms.quorum;
  }
  return members.size();
}

size_t Gather::good() const {
  return static_cast<size_t>(std::ranges::count_if(members, &Member::counts));
}

size_t Gather::possible() const {
  return static_cast<size_t>(std::ranges::count_if(members, [](const Member& member) {
    return member.counts() || (member.response.n == 0 && !member.failed);
  }));
}

Wait* Patterns::find_wait(Seq message) { return find_in(waits_, message); }
const Wait* Patterns::find_wait(Seq message) const { return find_in(waits_, message); }
Gather* Patterns::find_gather(Seq message) { return find_in(gathers_, message); }
Pipeline* Patterns::find_pipeline(Seq first) { return find_in(pipelines_, first); }

const Gather* Patterns::find_gather(std::string_view owner, const MessageId& id) const {
  const auto at = gather_names_.find(Name(owner, id));
  return at == gather_names_.end() ? nullptr : find_in(gathers_, at->second);
}

const Pipeline* Patterns::find_pipeline(std::string_view owner, const MessageId& id) const {
  const auto at = pipeline_names_.find(Name(owner, id));
  return at == pipeline_names_.end() ? nullptr : find_in(pipelines_, at->second);
}

std::vector<Patterns::Asked> Patterns::asked(std::string_view agent, std::string_view task,
                                             size_t count_max) const {
  std::vector<Asked> found;
  const auto at = work_.find(Work(agent, task));
  if (at == work_.end()) {
    return found;
  }
  for (auto seq = at->second.rbegin(); seq != at->second.rend() && found.size() < count_max;
       ++seq) {
    if (const Gather* const gather = find_in(gathers_, *seq)) {
      found.push_back({gather->message, gather->thread});
    } else {
      const Pipeline& pipeline = pipelines_.at(*seq);
      found.push_back({pipeline.stages.front().message, pipeline.thread});
    }
  }
  return found;
}

void Patterns::file(const Gather& gather) {
  for (const Gather::Member& member : gather.members) {
    if (!gather.task.empty()) {
      work_[{member.name, gather.task}].insert(gather.message);
    }
  }
}

void Patterns::unfile(const Gather& gather) {
  for (const Gather::Member& member : gather.members) {
    unfile(member.name, gather.task, gather.message);
  }
}

void Patterns::unfile(std::string_view agent, std::string_view task, Seq first) {
  const auto at = work_.find(Work(agent, task));
  if (at != work_.end() && at->second.erase(first) > 0 && at->second.empty()) {
    work_.erase(at);
  }
}

Wait& Patterns::add(Wait wait, Time due) {
  Wait& added = waits_.emplace(wait.message, wait).first->second;
  added.timer = none;
  set_due(added, due);
  return added;
}

Gather& Patterns::add(Gather gather, Time due) {
  const Seq message = gather.message;
  gather_names_[{gather.owner, gather.id}] = message;
  file(gather);
  Gather& added = gathers_.emplace(message, std::move(gather)).first->second;
  added.timer = none;
  set_due(added, due);
  return added;
}

Pipeline& Patterns::add(Pipeline pipeline) {
  const Seq first = pipeline.first;
  pipeline_names_[{pipeline.owner, pipeline.id}] = first;
  if (!pipeline.task.empty()) {
    work_[{pipeline.stages.front().agent, pipeline.task}].insert(first);
  }
  Pipeline& added = pipelines_.emplace(first, std::move(pipeline)).first->second;
  added.timer = none;
  added.due = base::time_max;
  return added;
}

void Patterns::remove_wait(Seq message) {
  set_due(waits_.at(message), base::time_max);
  waits_.erase(message);
}

void Patterns::remove_gather(Seq message) {
  Gather& gather = gathers_.at(message);
  set_due(gather, base::time_max);
  gather_names_.erase({gather.owner, gather.id});
  unfile(gather);
  gathers_.erase(message);
}

void Patterns::remove_pipeline(Seq first) {
  Pipeline& pipeline = pipelines_.at(first);
  set_due(pipeline, base::time_max);
  pipeline_names_.erase({pipeline.owner, pipeline.id});
  unfile(pipeline.stages.front().agent, pipeline.task, first);
  pipelines_.erase(first);
}

void Patterns::set(uint32_t& timer, Time& due, Time at, Seq seq, Kind kind) {
  if (timer != none) {
    deadlines_.remove(timer);
    timer = none;
  }
  due = at;
  if (at != base::time_max) {
    timer = deadlines_.add({at, seq, static_cast<uint32_t>(kind), static_cast<uint32_t>(kind)});
  }
}

Patterns::Due Patterns::next() const {
  if (deadlines_.empty()) {
    return {base::time_max, {}, Kind::wait};
  }
  const Deadlines::Due& first = deadlines_.first();
  return {first.at, first.seq, static_cast<Kind>(first.slot)};
}

void Patterns::encode(Writer& out) const {
  out.varint(waits_.size());
  for (const auto& [seq, wait] : waits_) {
    out.seq(seq);
    out.duration(wait.timeout);
    out.enumerator(wait.on_timeout);
    out.varint(wait.retries);
    out.boolean(wait.is_roll_call);
    out.boolean(wait.is_receipt);
    out.boolean(wait.pauses);
    out.seq(wait.pipeline);
    out.time(wait.due);
  }
  encode_gathers(out);
  encode_pipelines(out);
}

void Patterns::encode_gathers(Writer& out) const {
  out.varint(gathers_.size());
  for (const auto& [seq, gather] : gathers_) {
    out.seq(seq);
    out.id(gather.id);
    out.text(gather.owner);
    out.text(gather.task);
    out.text(gather.thread);
    core::encode(gather.terms, out);
    out.enumerator(gather.state);
    out.boolean(gather.extended);
    out.time(gather.since);
    out.time(gather.due);
    out.time(gather.ended);
    out.varint(gather.members.size());
    for (const Gather::Member& member : gather.members) {
      out.text(member.name);
      out.seq(member.response);
      out.enumerator(member.status);
      out.boolean(member.failed);
    }
  }
}

void Patterns::encode_pipelines(Writer& out) const {
  out.varint(pipelines_.size());
  for (const auto& [seq, pipeline] : pipelines_) {
    out.seq(seq);
    out.id(pipeline.id);
    out.text(pipeline.owner);
    out.text(pipeline.task);
    out.text(pipeline.thread);
    out.varint(pipeline.stage);
    out.enumerator(pipeline.state);
    out.duration(pipeline.stage_timeout);
    out.enumerator(pipeline.on_timeout);
    out.text(pipeline.error);
    out.text(pipeline.waits_for);
    out.varint(pipeline.outbox_item);
    out.time(pipeline.since);
    out.time(pipeline.due);
    out.time(pipeline.ended);
    out.varint(pipeline.stages.size());
    for (const Pipeline::Stage& stage : pipeline.stages) {
      out.text(stage.agent);
      out.seq(stage.message);
      out.seq(stage.response);
      out.time(stage.began);
      out.time(stage.ended);
    }
  }
}

bool Patterns::decode(Reader& in) {
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    Wait wait;
    wait.message = in.seq();
    wait.timeout = in.duration();
    wait.on_timeout = in.enumerator(on_timeout_last);
    wait.retries = static_cast<uint32_t>(in.varint());
    wait.is_roll_call = in.boolean();
    wait.is_receipt = in.boolean();
    wait.pauses = in.boolean();
    wait.pipeline = in.seq();
    const Time due = in.time();
    if (!in.ok() || waits_.contains(wait.message)) {
      in.fail();
      return false;
    }
    add(wait, due);
  }
  decode_gathers(in);
  decode_pipelines(in);
  return in.ok();
}

void Patterns::decode_gathers(Reader& in) {
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    Gather gather;
    gather.message = in.seq();
    gather.id = in.id();
    gather.owner = in.text();
    gather.task = in.text();
    gather.thread = in.text();
    gather.terms = decode_gathering(in);
    gather.state = in.enumerator(gather_state_last);
    gather.extended = in.boolean();
    gather.since = in.time();
    const Time due = in.time();
    gather.ended = in.time();
    gather.members.resize(in.count(4));
    for (Gather::Member& member : gather.members) {
      member.name = in.text();
      member.response = in.seq();
      member.status = in.enumerator(status_last);
      member.failed = in.boolean();
    }
    if (!in.ok() || gathers_.contains(gather.message)) {
      in.fail();
      return;
    }
    add(std::move(gather), due);
  }
}

void Patterns::decode_pipelines(Reader& in) {
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    Pipeline pipeline;
    pipeline.first = in.seq();
    pipeline.id = in.id();
    pipeline.owner = in.text();
    pipeline.task = in.text();
    pipeline.thread = in.text();
    pipeline.stage = static_cast<uint32_t>(in.varint());
    pipeline.state = in.enumerator(pipeline_state_last);
    pipeline.stage_timeout = in.duration();
    pipeline.on_timeout = in.enumerator(on_timeout_last);
    pipeline.error = in.text();
    pipeline.waits_for = in.text();
    pipeline.outbox_item = in.varint();
    pipeline.since = in.time();
    const Time due = in.time();
    pipeline.ended = in.time();
    pipeline.stages.resize(in.count(19));
    for (Pipeline::Stage& stage : pipeline.stages) {
      stage.agent = in.text();
      stage.message = in.seq();
      stage.response = in.seq();
      stage.began = in.time();
      stage.ended = in.time();
    }
    if (!in.ok() || pipelines_.contains(pipeline.first) ||
        pipeline.stage >= pipeline.stages.size() ||
        (pipeline.state == PipelineState::running) != (due == base::time_max) ||
        (pipeline.state == PipelineState::paused && pipeline.outbox_item != 0)) {
      in.fail();
      return;
    }
    set_due(add(std::move(pipeline)), due);
  }
}

}  // namespace parley::core
