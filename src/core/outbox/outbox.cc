// SPDX-License-Identifier: Apache-2.0
#include "core/outbox/outbox.h"

#include <array>

#include "core/model/wire.h"

namespace parley::core {

namespace {

constexpr std::array<std::string_view, 21> names = {"delivery_failed",
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
                                                    "summary"};
static_assert(names.size() == static_cast<size_t>(outbox_kind_last) + 1);

enum class Tag : uint8_t { text, number, duration, time, texts };
constexpr Tag tag_last = Tag::texts;

void encode_value(const Fact::Value& value, Writer& out) {
  out.enumerator(static_cast<Tag>(value.index()));
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.text(*text);
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    out.fixed64(static_cast<uint64_t>(*number));
  } else if (const auto* duration = std::get_if<Duration>(&value)) {
    out.duration(*duration);
  } else if (const auto* time = std::get_if<Time>(&value)) {
    out.time(*time);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    out.varint(texts->size());
    for (const std::string& each : *texts) {
      out.text(each);
    }
  }
}

Fact::Value decode_value(Reader& in) {
  switch (in.enumerator(tag_last)) {
    case Tag::text:
      return std::string(in.text());
    case Tag::number:
      return static_cast<int64_t>(in.fixed64());
    case Tag::duration:
      return in.duration();
    case Tag::time:
      return in.time();
    case Tag::texts:
      break;
  }
  std::vector<std::string> texts(in.count());
  for (std::string& text : texts) {
    text = in.text();
  }
  return texts;
}

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

void Outbox::encode(Writer& out) const {
  out.varint(next_id_);
  out.varint(dropped);
  out.varint(refused);
  out.varint(outbox_.size());
  for (const auto& [id, item] : outbox_) {
    out.varint(id);
    out.enumerator(item.kind);
    out.text(item.to);
    out.seq(item.about);
    out.time(item.since);
    out.enumerator(item.priority);
    out.varint(item.facts.size());
    for (const Fact& fact : item.facts) {
      out.text(fact.name);
      encode_value(fact.value, out);
    }
  }
}

bool Outbox::decode(Reader& in) {
  next_id_ = in.varint();
  dropped = in.varint();
  refused = in.varint();
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    OutboxItem item;
    item.id = in.varint();
    item.kind = in.enumerator(outbox_kind_last);
    item.to = in.text();
    item.about = in.seq();
    item.since = in.time();
    item.priority = in.enumerator(priority_last);
    item.facts.resize(in.count(2));
    for (Fact& fact : item.facts) {
      fact.name = in.text();
      fact.value = decode_value(in);
    }
    const uint64_t id = item.id;
    const bool is_second = item.kind == OutboxKind::summary && summary_to(item.to) != nullptr;
    if (id == 0 || id >= next_id_ || is_second || !insert(std::move(item))) {
      in.fail();
    }
  }
  return in.ok() && next_id_ > 0;  // 0 says that there is none
}

}  // namespace parley::core
