// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace parley::edge::events {

// Something that happened in a repository, as a delegation tells it. A plain value: what a payload
// says, bounded, and what was found in its text.
struct Event {
  struct User {
    std::string login;
    std::string author_association;  // as GitHub has it: OWNER, MEMBER, NONE, …
    bool is_bot = false;

    bool is_first_time_contributor() const {
      return author_association == "FIRST_TIME_CONTRIBUTOR" || author_association == "FIRST_TIMER";
    }
    bool operator==(const User&) const = default;
  };
  struct Content {
    std::string title;
    std::string body;
    std::vector<std::string> labels{};
    std::string state;
    std::string created_at;
    std::string updated_at;
    uint64_t comments_count = 0;

    bool operator==(const Content&) const = default;
  };

  std::string type;        // `issues.opened`
  std::string id;          // of the delivery
  std::string repository;  // `owner/name`
  std::string at;          // when it happened; empty where the payload does not say
  std::optional<uint64_t> issue_number{};
  std::optional<uint64_t> pr_number{};
  std::optional<uint64_t> comment_id{};
  User user{};
  Content content{};
  std::vector<uint64_t> related_issues{};  // #123 in the text, without the event's own number
  std::vector<std::string> mentions{};     // with the @
  std::vector<std::string> commands{};     // whole lines that begin with `/agent `

  bool operator==(const Event&) const = default;
};

// The types that have a meaning here.
inline constexpr std::string_view issue_opened = "issues.opened";
inline constexpr std::string_view pull_request_opened = "pull_request.opened";
inline constexpr std::string_view comment_created = "issue_comment.created";
inline constexpr std::string_view periodic_trigger = "periodic_trigger";

// Where a payload is of: the headers X-GitHub-Event and X-GitHub-Delivery.
struct Delivery {
  std::string_view event;
  std::string_view id;
};

// Why a payload is no event that can be delegated.
struct NoEvent {
  std::string reason;
  bool is_malformed = false;  // it lacks what GitHub always sends

  bool operator==(const NoEvent&) const = default;
};

// What a webhook of GitHub tells.
std::expected<Event, NoEvent> read_event(const Delivery& delivery, lib::Json payload);

// The name of the event that the payload is of, by its members; empty where they do not say.
std::string_view guess_event(lib::Json payload);

// The first word behind `/agent `: what a route is found by.
std::string_view command_word(std::string_view command);

// What stands in a text. Each list has an end: a text may name very many.
std::vector<std::string> find_mentions(std::string_view text);
std::vector<std::string> find_commands(std::string_view text);
std::vector<uint64_t> find_numbers(std::string_view text, uint64_t own);

}  // namespace parley::edge::events
