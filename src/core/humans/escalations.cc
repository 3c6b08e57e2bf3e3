// SPDX-License-Identifier: Apache-2.0
#include "core/humans/escalations.h"

#include "base/check.h"
#include "core/model/wire.h"

namespace parley::core {

std::string_view cause_name(EscalationCause cause) {
  switch (cause) {
    case EscalationCause::request_timed_out:
      return "request_timed_out";
    case EscalationCause::pipeline_failed:
      return "pipeline_failed";
    case EscalationCause::dead_letter:
      return "dead_letter";
  }
  return "unknown";
}

uint64_t Escalations::add(Escalation escalation, uint64_t max) {
  while (escalations_.size() >= max && resolved_.size() > 0) {
    const auto gone = escalations_.find(*resolved_.first_of_most());
    resolved_.remove(gone->second.agent, gone->first);
    escalations_.erase(gone);
  }
  escalation.id = next_id_++;
  open_.add(escalation.agent);
  return escalations_.emplace_hint(escalations_.end(), escalation.id, std::move(escalation))->first;
}

const Escalation* Escalations::find(uint64_t id) const {
  const auto at = escalations_.find(id);
  return at == escalations_.end() ? nullptr : &at->second;
}

void Escalations::resolve(uint64_t id, std::string_view resolution, std::string_view by, Time at) {
  CHECK(!by.empty());
  Escalation& escalation = escalations_.at(id);
  escalation.resolution = resolution;
  escalation.resolved_by = by;
  escalation.resolved_at = at;
  open_.remove(escalation.agent);
  resolved_.add(escalation.agent, id);
}

void Escalations::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [id, escalation] : escalations_) {
    if (escalation.is_open()) {
      seqs.push_back(escalation.about);
    }
  }
}

void Escalations::encode(Writer& out) const {
  out.varint(next_id_);
  out.varint(dropped_);
  put_rows(escalations_, out);
}

bool Escalations::decode(Reader& in) {
  next_id_ = in.varint();
  dropped_ = in.varint();
  get_rows<Escalation>(in, [this](Escalation escalation) {
    const uint64_t id = escalation.id;
    if (id >= next_id_ || escalations_.contains(id)) {
      return false;
    }
    if (escalation.is_open()) {
      open_.add(escalation.agent);
    } else {
      resolved_.add(escalation.agent, id);
    }
    return escalations_.emplace(id, std::move(escalation)).second;
  });
  return in.ok() && next_id_ > 0;
}

}  // namespace parley::core
