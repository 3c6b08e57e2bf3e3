// SPDX-License-Identifier: Apache-2.0
#include "edge/events/event.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dialect/iso8601.h"

namespace parley::edge::events {

namespace {

using lib::Json;

// GitHub's own limits are lower, or about the same. They bound all of an event but its body.
constexpr size_t name_bytes_max = 256;
constexpr size_t title_bytes_max = 1'024;
constexpr size_t label_bytes_max = 64;
constexpr size_t labels_max = 100;
constexpr size_t command_bytes_max = 200;
constexpr size_t found_max = 20;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string text_of(Json object, std::string_view key, size_t bytes_max = name_bytes_max) {
  return std::string(base::cut(object.find(key).as_string().value_or(""), bytes_max));
}

// A moment as it stands there; empty where it is none.
std::string moment_of(Json object, std::string_view key) {
  std::string text = text_of(object, key);
  return dialect::parse_time(text) ? text : std::string();
}

std::vector<std::string> labels_of(Json thing) {
  std::vector<std::string> labels;
  for (const Json label : thing.find("labels").elements()) {
    std::string name = text_of(label, "name", label_bytes_max);
    if (!name.empty() && labels.size() < labels_max) {
      labels.push_back(std::move(name));
    }
  }
  return labels;
}

// Of the issue or pull request; a comment then has its own text and times.
Event::Content content_of(Json thing) {
  return {.title = text_of(thing, "title", title_bytes_max),
          .body = text_of(thing, "body", SIZE_MAX),
          .labels = labels_of(thing),
          .state = text_of(thing, "state"),
          .created_at = moment_of(thing, "created_at"),
          .updated_at = moment_of(thing, "updated_at"),
          .comments_count = thing.find("comments").as_uint64().value_or(0)};
}

NoEvent malformed(std::string_view event, std::string_view member) {
  return {"a payload of " + std::string(base::cut(event, name_bytes_max)) + " has a member \"" +
              std::string(member) + "\"; this one lacks it",
          true};
}

template <class Value>
void add_new(std::vector<Value>& found, Value value) {
  if (found.size() < found_max && std::ranges::find(found, value) == found.end()) {
    found.push_back(std::move(value));
  }
}

}  // namespace

std::vector<std::string> find_mentions(std::string_view text) {
  constexpr size_t login_bytes_max = 39;  // GitHub's limit; a team has two such parts
  std::vector<std::string> found;
  for (size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '-')) {
      continue;  // an address of mail
    }
    size_t end = at + 1;
    while (end < text.size() && (is_word(text[end]) || text[end] == '-' || text[end] == '/')) {
      ++end;
    }
    std::string_view name = text.substr(at, end - at);
    while (name.ends_with('-') || name.ends_with('/')) {
      name.remove_suffix(1);
    }
    if (name.size() > 1 && name.size() <= 2 * login_bytes_max + 2) {
      add_new(found, std::string(name));
    }
  }
  return found;
}

std::vector<std::string> find_commands(std::string_view text) {
  constexpr std::string_view begin = "/agent ";
  std::vector<std::string> found;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.starts_with(begin) && line.size() > begin.size()) {
      add_new(found, std::string(base::cut(line, command_bytes_max)));
    }
  }
  return found;
}

std::vector<uint64_t> find_numbers(std::string_view text, uint64_t own) {
  std::vector<uint64_t> found;
  for (size_t at = text.find('#'); at != text.npos; at = text.find('#', at + 1)) {
    if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '&' || text[at - 1] == '/')) {
      continue;  // another repository's, a character reference, a part of a link
    }
    size_t end = at + 1;
    while (end < text.size() && is_digit(text[end])) {
      ++end;
    }
    const bool ends = end == text.size() || !is_word(text[end]);
    const auto number = base::parse_number(text.substr(at + 1, end - at - 1));
    if (ends && number && *number != 0 && *number <= INT32_MAX && *number != own) {
      add_new(found, *number);
    }
  }
  return found;
}

std::string_view command_word(std::string_view command) {
  command.remove_prefix(std::min(command.find(' '), command.size()));
  command.remove_prefix(std::min(command.find_first_not_of(' '), command.size()));
  return command.substr(0, command.find(' '));
}

std::string_view guess_event(Json payload) {
  if (payload.find("comment") && payload.find("issue")) {
    return "issue_comment";
  }
  if (payload.find("pull_request")) {
    return "pull_request";
  }
  return payload.find("issue") ? "issues" : payload.find("zen") ? "ping" : "";
}

std::expected<Event, NoEvent> read_event(const Delivery& delivery, Json payload) {
  const std::string action = text_of(payload, "action");
  Event event;
  event.type = std::string(base::cut(delivery.event, name_bytes_max)) + "." + action;
  event.id = delivery.id;
  if (event.type != issue_opened && event.type != pull_request_opened &&
      event.type != comment_created) {
    return std::unexpected(NoEvent{
        "only issues.opened, pull_request.opened and issue_comment.created are delegated, not " +
        (action.empty() ? std::string(base::cut(delivery.event, name_bytes_max)) : event.type)});
  }
  event.repository = text_of(payload.find("repository"), "full_name");
  if (event.repository.empty()) {
    return std::unexpected(malformed(delivery.event, "repository.full_name"));
  }
  const bool is_pull_request = event.type == pull_request_opened;
  const std::string_view thing_name = is_pull_request ? "pull_request" : "issue";
  const Json thing = payload.find(thing_name);
  const auto number = thing.find("number").as_uint64();
  if (!number) {
    return std::unexpected(malformed(delivery.event, std::string(thing_name) + ".number"));
  }
  // A comment on a pull request comes as one on the issue of the same number.
  (is_pull_request || thing.find("pull_request").is_object() ? event.pr_number
                                                             : event.issue_number) = *number;
  event.content = content_of(thing);
  Json author = thing;
  if (event.type == comment_created) {
    author = payload.find("comment");
    event.comment_id = author.find("id").as_uint64();
    if (!event.comment_id) {
      return std::unexpected(malformed(delivery.event, "comment.id"));
    }
    event.content.body = text_of(author, "body", SIZE_MAX);
    event.content.created_at = moment_of(author, "created_at");
    event.content.updated_at = moment_of(author, "updated_at");
  }
  event.at = event.content.created_at;
  event.user = {.login = text_of(author.find("user"), "login"),
                .author_association = text_of(author, "author_association"),
                .is_bot = payload.find("sender").find("type").as_string() == "Bot" ||
                          author.find("user").find("type").as_string() == "Bot"};
  event.related_issues = find_numbers(event.content.body, *number);
  event.mentions = find_mentions(event.content.body);
  event.commands = find_commands(event.content.body);
  return event;
}

}  // namespace parley::edge::events
