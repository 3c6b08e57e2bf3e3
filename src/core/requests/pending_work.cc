// SPDX-License-Identifier: Apache-2.0
#include "core/requests/pending_work.h"

#include <algorithm>

#include "core/model/wire.h"

namespace parley::core {

namespace {

template <class Map>
auto* find_in(Map& map, Seq seq) {
  const auto at = map.find(seq);
  return at == map.end() ? nullptr : &at->second;
}

template <class ByOwner>
size_t count_of(const ByOwner& all, std::string_view owner) {
  const auto at = all.find(owner);
  return at == all.end() ? 0 : at->second.size();
}

template <class ByOwner, class HasEnded>
Seq first_ended(const ByOwner& all, std::string_view owner, const HasEnded& has_ended) {
  constexpr size_t looked_at_max = 64;  // most often the oldest have ended
  const auto at = all.find(owner);
  if (at == all.end()) {
    return {};
  }
  size_t looked_at = 0;
  for (auto seq = at->second.begin(); seq != at->second.end() && looked_at < looked_at_max;
       ++seq, ++looked_at) {
    if (has_ended(*seq)) {
      return *seq;
    }
  }
  return {};
}

template <class ByOwner>
void take_out(ByOwner& all, const std::string& owner, Seq seq) {
  const auto at = all.find(owner);
  at->second.erase(seq);
  if (at->second.empty()) {
    all.erase(at);
  }
}

}  // namespace

PendingRequest* PendingWork::find_request(Seq message) { return find_in(requests_, message); }
const PendingRequest* PendingWork::find_request(Seq message) const {
  return find_in(requests_, message);
}
Gather* PendingWork::find_gather(Seq message) { return find_in(gathers_, message); }
Pipeline* PendingWork::find_pipeline(Seq first) { return find_in(pipelines_, first); }

const Gather* PendingWork::find_gather(std::string_view owner, const MessageId& id) const {
  const auto at = gather_names_.find(Name(owner, id));
  return at == gather_names_.end() ? nullptr : find_in(gathers_, at->second);
}

const Pipeline* PendingWork::find_pipeline(std::string_view owner, const MessageId& id) const {
  const auto at = pipeline_names_.find(Name(owner, id));
  return at == pipeline_names_.end() ? nullptr : find_in(pipelines_, at->second);
}

size_t PendingWork::gathers_of(std::string_view owner) const {
  return count_of(gathers_by_owner_, owner);
}
size_t PendingWork::pipelines_of(std::string_view owner) const {
  return count_of(pipelines_by_owner_, owner);
}
Seq PendingWork::ended_gather_of(std::string_view owner) const {
  return first_ended(gathers_by_owner_, owner, [this](Seq seq) {
    return gathers_.at(seq).state != GatherState::open;
  });
}
Seq PendingWork::ended_pipeline_of(std::string_view owner) const {
  return first_ended(pipelines_by_owner_, owner,
                     [this](Seq seq) { return pipelines_.at(seq).is_over(); });
}

std::vector<PendingWork::Asked> PendingWork::asked(std::string_view agent, std::string_view task,
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

void PendingWork::file(const Gather& gather) {
  for (const Gather::Member& member : gather.members) {
    if (!gather.task.empty()) {
      work_[{member.name, gather.task}].insert(gather.message);
    }
  }
}

void PendingWork::unfile(const Gather& gather) {
  for (const Gather::Member& member : gather.members) {
    unfile(member.name, gather.task, gather.message);
  }
}

void PendingWork::unfile(std::string_view agent, std::string_view task, Seq first) {
  const auto at = work_.find(Work(agent, task));
  if (at != work_.end() && at->second.erase(first) > 0 && at->second.empty()) {
    work_.erase(at);
  }
}

PendingRequest& PendingWork::add(PendingRequest request, Time due) {
  const Seq message = request.message;
  PendingRequest& added = requests_.emplace(message, std::move(request)).first->second;
  requests_by_owner_.add(added.owner);
  added.timer = none;
  set_due(added, due);
  return added;
}

Gather& PendingWork::add(Gather gather, Time due) {
  const Seq message = gather.message;
  gather_names_[{gather.owner, gather.id}] = message;
  gathers_by_owner_[gather.owner].insert(message);
  file(gather);
  Gather& added = gathers_.emplace(message, std::move(gather)).first->second;
  added.timer = none;
  set_due(added, due);
  return added;
}

// Under the task it is found only by its first stage: the later ones are asked without the name.
Pipeline& PendingWork::add(Pipeline pipeline) {
  const Seq first = pipeline.first;
  pipeline_names_[{pipeline.owner, pipeline.id}] = first;
  pipelines_by_owner_[pipeline.owner].insert(first);
  if (!pipeline.task.empty()) {
    work_[{pipeline.stages.front().agent, pipeline.task}].insert(first);
  }
  Pipeline& added = pipelines_.emplace(first, std::move(pipeline)).first->second;
  added.timer = none;
  added.due = base::time_max;
  return added;
}

void PendingWork::remove_request(Seq message) {
  const auto at = requests_.find(message);
  set_due(at->second, base::time_max);
  requests_by_owner_.remove(at->second.owner);
  requests_.erase(at);
}

void PendingWork::remove_gather(Seq message) {
  Gather& gather = gathers_.at(message);
  set_due(gather, base::time_max);
  gather_names_.erase({gather.owner, gather.id});
  take_out(gathers_by_owner_, gather.owner, message);
  unfile(gather);
  gathers_.erase(message);
}

void PendingWork::remove_pipeline(Seq first) {
  Pipeline& pipeline = pipelines_.at(first);
  set_due(pipeline, base::time_max);
  pipeline_names_.erase({pipeline.owner, pipeline.id});
  take_out(pipelines_by_owner_, pipeline.owner, first);
  unfile(pipeline.stages.front().agent, pipeline.task, first);
  pipelines_.erase(first);
}

// The deadline's slot is the kind, by which `next` knows whose it is. It is the minor number too:
// one place may have a deadline of each kind, and those of one moment need an order.
void PendingWork::set(uint32_t& timer, Time& due, Time at, Seq seq, Kind kind) {
  if (timer != none) {
    deadlines_.remove(timer);
    timer = none;
  }
  due = at;
  if (at != base::time_max) {
    timer = deadlines_.add({at, seq, static_cast<uint32_t>(kind), static_cast<uint32_t>(kind)});
  }
}

PendingWork::Due PendingWork::next() const {
  if (deadlines_.empty()) {
    return {base::time_max, {}, Kind::request};
  }
  const Deadlines::Due& first = deadlines_.first();
  return {first.at, first.seq, static_cast<Kind>(first.slot)};
}

void PendingWork::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [first, pipeline] : pipelines_) {
    if (!pipeline.is_over()) {  // what a stage answered is the next one's input
      seqs.push_back(first);
      seqs.push_back(pipeline.stages[pipeline.stage].message);
      seqs.push_back(pipeline.stages[std::max(pipeline.stage, 1u) - 1].response);
    }
  }
}

void PendingWork::encode(Writer& out) const {
  put_rows(requests_, out);
  put_rows(gathers_, out);
  put_rows(pipelines_, out);
}

bool PendingWork::decode(Reader& in) {
  get_rows<PendingRequest>(in, [this](PendingRequest request) {
    if (requests_.contains(request.message)) {
      return false;
    }
    add(request, std::exchange(request.due, {}));
    return true;
  });
  get_rows<Gather>(in, [this](Gather gather) {
    if (gathers_.contains(gather.message)) {
      return false;
    }
    const Time due = std::exchange(gather.due, {});
    add(std::move(gather), due);
    return true;
  });
  get_rows<Pipeline>(in, [this](Pipeline pipeline) {
    const Time due = std::exchange(pipeline.due, {});
    // One that runs is due with the request to its stage, and has no moment of its own; one that is
    // paused owes its stage nothing yet.
    if (pipelines_.contains(pipeline.first) || pipeline.stage >= pipeline.stages.size() ||
        (pipeline.state == PipelineState::running) != (due == base::time_max) ||
        (pipeline.state == PipelineState::paused && pipeline.outbox_item != 0)) {
      return false;
    }
    set_due(add(std::move(pipeline)), due);
    return true;
  });
  return in.ok();
}

}  // namespace parley::core
