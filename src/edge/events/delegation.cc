// SPDX-License-Identifier: Apache-2.0
#include "edge/events/delegation.h"

#include <algorithm>

#include "base/text.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge::events {

namespace {

using lib::JsonWriter;

constexpr size_t described_bytes_max = 200;

// A UUID of version 4 in form, as all ids of messages that are UUIDs; the same for the same names.
base::MessageId id_of(std::string_view key, std::string_view worker) {
  base::MessageId id = lib::derived_id(key, worker);
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

// What a character takes within JSON; of those that are escaped the most that any writer takes.
size_t escaped_bytes(char c) {
  return static_cast<unsigned char>(c) < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
}

std::string description_of(const Event& event, const TaskTerms& terms) {
  const std::string thing = event.pr_number
                                ? "pull request #" + std::to_string(*event.pr_number)
                                : "issue #" + std::to_string(event.issue_number.value_or(0));
  std::string what = "new " + thing;
  if (event.type == comment_created) {
    what = (event.commands.empty() ? "new comment" : "command \"" + event.commands.front() + "\"") +
           std::string(" on ") + thing;
  }
  std::string_view title = event.content.title;
  title = base::cut(title, described_bytes_max);
  return (terms.worker == "triage" ? "Triage " : "Handle ") + what +
         (title.empty() ? "" : ": " + std::string(title));
}

struct Head {
  base::MessageId id;
  std::string_view event_type;
  std::string_view event_id;
  std::string_view repository;
  std::string_view triggered;
  std::string_view description;
};

// All up to the context.
void write_head(const Head& head, const TaskTerms& terms, const Supervisor& from, JsonWriter& out) {
  out.object().key("message_type").plain("task_delegation").key("message_id").uuid(head.id);
  out.key("timestamp").time(from.now).key("from_agent").text(from.name);
  out.key("to_agent").text(terms.worker);
  out.key("event_context").object().key("event_type").text(head.event_type);
  out.key("event_id").text(head.event_id).key("repository").text(head.repository);
  out.key("trigger_timestamp").text(head.triggered).end_object();
  out.key("task").object().key("description").text(head.description);
  out.key("priority").text(terms.priority);
  out.key("timeout_seconds").number(terms.timeout.us / base::seconds(1).us);
  out.key("requires_hitl").boolean(terms.requires_hitl);
  out.key("confidence_threshold").real(terms.confidence_threshold).end_object();
}

template <class Values>
void write_list(std::string_view key, const Values& values, JsonWriter& out) {
  out.key(key).array();
  for (const auto& value : values) {
    if constexpr (requires { out.text(value); }) {
      out.text(value);
    } else {
      out.number(value);
    }
  }
  out.end_array();
}

void write_known(std::string_view key, const std::string& value, JsonWriter& out) {
  if (!value.empty()) {
    out.key(key).text(value);
  }
}

void write_context(const Event& event, std::string_view body, JsonWriter& out) {
  out.key("context").object();
  if (event.issue_number) {
    out.key("issue_number").number(*event.issue_number);
  }
  if (event.pr_number) {
    out.key("pr_number").number(*event.pr_number);
  }
  if (event.comment_id) {
    out.key("comment_id").number(*event.comment_id);
  }
  out.key("user").object().key("login").text(event.user.login);
  write_known("author_association", event.user.author_association, out);
  out.key("is_first_time_contributor").boolean(event.user.is_first_time_contributor());
  out.end_object();
  out.key("content").object().key("title").text(event.content.title).key("body").text(body);
  write_list("labels", event.content.labels, out);
  write_known("state", event.content.state, out);
  write_known("created_at", event.content.created_at, out);
  write_known("updated_at", event.content.updated_at, out);
  out.key("comments_count").number(event.content.comments_count).end_object();
  out.key("additional_context").object();
  write_list("related_issues", event.related_issues, out);
  write_list("mentions", event.mentions, out);
  write_list("commands", event.commands, out);
  out.end_object().end_object();
}

}  // namespace

std::string excerpt(std::string_view text, size_t escaped_max) {
  constexpr size_t mark_bytes_max = 80;
  size_t whole = 0;
  size_t end = 0;  // as far as there is room for the mark as well
  const size_t room = escaped_max - std::min(mark_bytes_max, escaped_max);
  for (size_t n = 0; n < text.size(); ++n) {
    whole += escaped_bytes(text[n]);
    end = whole <= room ? n + 1 : end;
  }
  if (whole <= escaped_max) {
    return std::string(text);
  }
  const std::string_view kept = base::cut(text, end);
  return std::string(kept) + "\n[cut: the first " + std::to_string(kept.size()) + " of " +
         std::to_string(text.size()) + " bytes]";
}

Delegation delegation_of(const Event& event, const TaskTerms& terms, const Supervisor& from) {
  Delegation made{.id = {}, .key = "github:" + event.id, .text = {}};
  made.id = id_of(made.key, terms.worker);
  const std::string triggered = event.at.empty() ? base::format_time(from.now) : event.at;
  const std::string description = description_of(event, terms);
  const auto write = [&](std::string_view body) {
    made.text.clear();
    JsonWriter out(made.text);
    write_head({made.id, event.type, event.id, event.repository, triggered, description}, terms,
               from, out);
    write_context(event, body, out);
    out.key("repository_context").object().end_object().end_object();
  };
  write(event.content.body);
  if (made.text.size() > delegation_bytes_max) {
    write({});
    const size_t taken = std::min(made.text.size(), delegation_bytes_max);
    write(excerpt(event.content.body, delegation_bytes_max - taken));
  }
  return made;
}

Delegation delegation_of(const Schedule& schedule, base::Time slot, const Supervisor& from) {
  const std::string when = base::format_time(slot);
  const std::string event_id = schedule.name + "@" + when;
  Delegation made{.id = {}, .key = "schedule:" + event_id, .text = {}};
  made.id = id_of(made.key, schedule.terms.worker);
  JsonWriter out(made.text);
  write_head({made.id, periodic_trigger, event_id, schedule.repository, when, schedule.description},
             schedule.terms, from, out);
  out.key("context").object().end_object();
  out.key("repository_context").object().end_object().end_object();
  return made;
}

}  // namespace parley::edge::events
