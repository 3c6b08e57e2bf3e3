// SPDX-License-Identifier: Apache-2.0
#include "core/errands.h"

#include <array>

#include "core/wire.h"

namespace parley::core {

namespace {

constexpr std::array<std::string_view, 21> names = {
    "delivery_failed", "message_malformed", "escalated",      "escalation_resolved",
    "request_timed_out", "roll_called",     "gathered",       "stage",
    "pipeline_ended",  "backpressure",      "thread_closed",  "dead_letter_alert",
    "published",       "deadlock_warned",   "session_changed", "session_warning",
    "session_ended",   "task_reassigned",   "acknowledged",   "not_acknowledged",
    "summary"};
static_assert(names.size() == static_cast<size_t>(errand_kind_last) + 1);

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

std::string_view errand_name(ErrandKind kind) { return names[static_cast<size_t>(kind)]; }

uint64_t Errands::add(Errand errand) {
  const uint64_t id = next_id_++;
  errand.id = id;
  insert(std::move(errand));
  return id;
}

bool Errands::insert(Errand errand) {
  Receiver& receiver = receivers_[errand.to];
  ++receiver.owed;
  if (errand.kind == ErrandKind::summary) {
    receiver.summary = errand.id;
  }
  const uint64_t id = errand.id;
  return errands_.emplace(id, std::move(errand)).second;
}

void Errands::remove(uint64_t id) {
  const auto at = errands_.find(id);
  if (at == errands_.end()) {
    return;
  }
  const auto receiver = receivers_.find(at->second.to);
  receiver->second.summary = receiver->second.summary == id ? 0 : receiver->second.summary;
  if (--receiver->second.owed == 0) {
    receivers_.erase(receiver);
  }
  errands_.erase(at);
}

size_t Errands::owed_to(std::string_view to) const {
  const auto at = receivers_.find(to);
  return at == receivers_.end() ? 0 : at->second.owed;
}

Errand* Errands::summary_to(std::string_view to) {
  const auto at = receivers_.find(to);
  const auto found = errands_.find(at == receivers_.end() ? 0 : at->second.summary);
  return found == errands_.end() ? nullptr : &found->second;
}

const Errand* Errands::find(uint64_t id) const {
  const auto at = errands_.find(id);
  return at == errands_.end() ? nullptr : &at->second;
}

void Errands::forget(std::string_view to) {
  std::erase_if(errands_, [to](const auto& item) { return item.second.to == to; });
  if (const auto at = receivers_.find(to); at != receivers_.end()) {
    receivers_.erase(at);
  }
}

void Errands::encode(Writer& out) const {
  out.varint(next_id_);
  out.varint(dropped);
  out.varint(refused);
  out.varint(errands_.size());
  for (const auto& [id, errand] : errands_) {
    out.varint(id);
    out.enumerator(errand.kind);
    out.text(errand.to);
    out.seq(errand.about);
    out.time(errand.since);
    out.enumerator(errand.priority);
    out.varint(errand.facts.size());
    for (const Fact& fact : errand.facts) {
      out.text(fact.name);
      encode_value(fact.value, out);
    }
  }
}

bool Errands::decode(Reader& in) {
  next_id_ = in.varint();
  dropped = in.varint();
  refused = in.varint();
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    Errand errand;
    errand.id = in.varint();
    errand.kind = in.enumerator(errand_kind_last);
    errand.to = in.text();
    errand.about = in.seq();
    errand.since = in.time();
    errand.priority = in.enumerator(priority_last);
    errand.facts.resize(in.count(2));
    for (Fact& fact : errand.facts) {
      fact.name = in.text();
      fact.value = decode_value(in);
    }
    const uint64_t id = errand.id;
    const bool is_second =
        errand.kind == ErrandKind::summary && summary_to(errand.to) != nullptr;
    if (id == 0 || id >= next_id_ || is_second || !insert(std::move(errand))) {
      in.fail();
    }
  }
  return in.ok() && next_id_ > 0;  // 0 says that there is none
}

}  // namespace parley::core
