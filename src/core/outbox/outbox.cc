// SPDX-License-Identifier: Apache-2.0
#include "core/outbox/outbox.h"

#include <array>

#include "core/model/wire.h"

namespace parley::core {

namespace {

constexpr std::array<std::string_view, 29> names = {"delivery_failed",
                                                    "message_malformed",
                                                    "escalated",
                                                    "escalation_resolved",
                                                    "request_timed_out",
                                                    "roll_called",
                                                    "gathered",
                                                    "stage",
                                                    "pipeline_ended",
                                                    "backpressure",
                                                    "thread_closed",
                                                    "dead_letter_alert",
                                                    "published",
                                                    "deadlock_warned",
                                                    "session_changed",
                                                    "session_warning",
                                                    "session_ended",
                                                    "task_reassigned",
                                                    "acknowledged",
                                                    "not_acknowledged",
                                                    "summary",
                                                    "approval_asked",
                                                    "approval_reminder",
                                                    "approval_decided",
                                                    "protocol_violation",
                                                    "task_failed",
                                                    "debate_changed",
                                                    "overdue",
                                                    "agent_session_ended"};
static_assert(names.size() == static_cast<size_t>(outbox_kind_last) + 1);

}  // namespace

std::string_view outbox_kind_name(OutboxKind kind) { return names[static_cast<size_t>(kind)]; }

uint64_t Outbox::add(OutboxItem item) {
  const uint64_t id = next_id_++;
  item.id = id;
  insert(std::move(item));
  return id;
}

bool Outbox::insert(OutboxItem item) {
  Receiver& receiver = receivers_[item.to];
  ++receiver.owed;
  if (item.kind == OutboxKind::summary) {
    receiver.summary = item.id;
  }
  const uint64_t id = item.id;
  return outbox_.emplace(id, std::move(item)).second;
}

void Outbox::remove(uint64_t id) {
  const auto at = outbox_.find(id);
  if (at == outbox_.end()) {
    return;
  }
  const auto receiver = receivers_.find(at->second.to);
  receiver->second.summary = receiver->second.summary == id ? 0 : receiver->second.summary;
  if (--receiver->second.owed == 0) {
    receivers_.erase(receiver);
  }
  outbox_.erase(at);
}

size_t Outbox::owed_to(std::string_view to) const {
  const auto at = receivers_.find(to);
  return at == receivers_.end() ? 0 : at->second.owed;
}

OutboxItem* Outbox::summary_to(std::string_view to) {
  const auto at = receivers_.find(to);
  const auto found = outbox_.find(at == receivers_.end() ? 0 : at->second.summary);
  return found == outbox_.end() ? nullptr : &found->second;
}

const OutboxItem* Outbox::find(uint64_t id) const {
  const auto at = outbox_.find(id);
  return at == outbox_.end() ? nullptr : &at->second;
}

void Outbox::forget(std::string_view to) {
  std::erase_if(outbox_, [to](const auto& item) { return item.second.to == to; });
  if (const auto at = receivers_.find(to); at != receivers_.end()) {
    receivers_.erase(at);
  }
}

void Outbox::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [id, item] : outbox_) {
    seqs.push_back(item.about);
  }
}

void Outbox::encode(Writer& out) const {
  out.varint(next_id_);
  out.varint(dropped);
  out.varint(refused);
  put_rows(outbox_, out);
}

bool Outbox::decode(Reader& in) {
  next_id_ = in.varint();
  dropped = in.varint();
  refused = in.varint();
  get_rows<OutboxItem>(in, [this](OutboxItem item) {
    const bool is_second = item.kind == OutboxKind::summary && summary_to(item.to) != nullptr;
    return item.id != 0 && item.id < next_id_ && !is_second && insert(std::move(item));
  });
  return in.ok() && next_id_ > 0;  // 0 says that there is none
}

}  // namespace parley::core
