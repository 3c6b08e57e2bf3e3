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
    case EscalationCause::task_failed:
      return "task_failed";
    case EscalationCause::review_wanted:
      return "review_wanted";
    case EscalationCause::debate:
      return "debate";
    case EscalationCause::critical:
      return "critical";
    case EscalationCause::low_confidence:
      return "low_confidence";
    case EscalationCause::requested:
      return "requested";
    case EscalationCause::blocked:
      return "blocked";
    case EscalationCause::expired:
      return "expired";
  }
  return "unknown";
}

uint64_t Escalations::add(Escalation escalation, uint64_t max) {
  if (escalation.question.n != 0) {
    reviews_.emplace(escalation.agent, escalation.question);
  }
  const Seq about = escalation.about;
  const uint64_t id = cases_.add(std::move(escalation), max);
  open_about_.emplace(about, id);
  return id;
}

void Escalations::resolve(uint64_t id, std::string_view resolution, std::string_view by, Time at) {
  CHECK(!by.empty());
  open_about_.erase({find(id)->about, id});
  reviews_.erase({find(id)->agent, find(id)->question});
  cases_.change(id, [&](Escalation& escalation) {
    escalation.resolution = resolution;
    escalation.resolved_by = by;
    escalation.resolved_at = at;
  });
}

void Escalations::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [id, escalation] : all()) {
    if (escalation.is_open()) {
      seqs.push_back(escalation.about);
    }
  }
}

void Escalations::encode(Writer& out) const {
  out.varint(dropped_);
  cases_.encode(out);
}

bool Escalations::decode(Reader& in) {
  dropped_ = in.varint();
  return cases_.decode(in, [this](const Escalation& escalation) {
    if (!escalation.is_open()) {
      return true;
    }
    open_about_.emplace(escalation.about, escalation.id);
    return escalation.question.n == 0 ||
           reviews_.emplace(escalation.agent, escalation.question).second;
  });
}

}  // namespace parley::core
