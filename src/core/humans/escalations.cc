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
  while (!escalations_.empty() && escalations_.size() >= max) {
    const uint64_t gone = resolved_.empty() ? escalations_.begin()->first : *resolved_.begin();
    dropped_ += resolved_.erase(gone) > 0 ? 0 : 1;
    escalations_.erase(gone);
  }
  escalation.id = next_id_++;
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
  resolved_.insert(id);
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
    if (!escalation.is_open()) {
      resolved_.insert(id);
    }
    return id < next_id_ && escalations_.emplace(id, std::move(escalation)).second;
  });
  return in.ok() && next_id_ > 0;
}

}  // namespace parley::core
