// SPDX-License-Identifier: Apache-2.0
#include "app/text/compose.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

std::string_view level(std::string_view priority) {
  return priority == "critical" ? "P0"
         : priority == "high"   ? "P1"
         : priority == "low"    ? "P3"
                                : "P2";
}

// The member of the body that a text stands for.
std::string_view text_key(std::string_view type) {
  return type == "handoff" || type == "query" ? "task"
         : type == "challenge"                ? "grounds"
         : type == "escalation"               ? "reason"
                                              : "summary";
}

// Each member once: what the body says itself counts.
class BodyWriter {
 public:
  BodyWriter(lib::JsonWriter& out, lib::Json given) : out_(out), given_(given) {}

  void text(std::string_view key, std::string_view value) {
    if (!value.empty() && !given_.find(key)) {
      out_.key(key).text(value);
    }
  }
  void texts(std::string_view key, const std::vector<std::string>& values) {
    if (values.empty() || given_.find(key)) {
      return;
    }
    out_.key(key).array();
    for (const std::string& value : values) {
      out_.text(value);
    }
    out_.end_array();
  }

 private:
  lib::JsonWriter& out_;
  lib::Json given_;
};

void write_body(const Draft& draft, std::string_view body, lib::JsonWriter& out) {
  lib::JsonDocument document;
  const auto parsed = draft.as == "json" ? document.parse(body, {.bytes_max = SIZE_MAX})
                                         : std::expected<lib::Json, base::Error>(lib::Json());
  const lib::Json given = parsed.value_or(lib::Json());
  const SquadDraft& squad = draft.squad;
  out.object();
  for (const auto& [key, value] : given.members()) {
    out.key(key).raw(value.raw());
  }
  BodyWriter writer(out, given);
  if (draft.as != "json") {
    writer.text(text_key(draft.type), body);
  }
  writer.text("context", squad.context);
  writer.texts("constraints", squad.constraints);
  writer.text("deadline", squad.deadline);
  writer.texts("artifacts", squad.artifacts);
  writer.text("claim_challenged", squad.claim);
  writer.texts("evidence", squad.evidence);
  writer.text("requested_action", squad.wanted);
  writer.text("severity", squad.severity);
  writer.text("result", squad.result);
  writer.text("external_action", squad.external);
  if (!draft.confidence.empty() && !given.find("confidence")) {
    out.key("confidence").raw(draft.confidence);
  }
  out.end_object();
}

}  // namespace

std::string compose_squad(const Draft& draft, std::string_view body) {
  constexpr double hour_us = 3.6e9;
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("type").text(draft.type).key("priority").text(level(draft.priority));
  if (!draft.to.empty()) {
    out.key("to").text(draft.to);
  }
  if (!draft.squad.subject.empty()) {
    out.key("subject").text(draft.squad.subject);
  }
  out.key("body");
  write_body(draft, body, out);
  if (!draft.thread.empty()) {
    out.key("thread_id").text(draft.thread);
  }
  if (!draft.in_reply_to.empty()) {
    out.key("reply_to").text(draft.in_reply_to);
  }
  if (const auto ttl = base::parse_duration(draft.ttl)) {
    out.key("ttl_hours").real(static_cast<double>(ttl->us) / hour_us);
  }
  out.end_object();
  return text;
}

}  // namespace parley::app
