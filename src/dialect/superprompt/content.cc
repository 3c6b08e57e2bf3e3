// SPDX-License-Identifier: Apache-2.0
// What each type has beyond the head, as schemas/superprompt/message.schema.json says it.
#include <algorithm>
#include <bitset>

#include "dialect/iso8601.h"
#include "dialect/reading.h"
#include "dialect/superprompt/fields.h"
#include "dialect/superprompt/superprompt.h"

namespace parley::dialect::superprompt {

namespace {

using base::Code;
using lib::Json;
using lib::JsonKind;

enum class Shape : uint8_t {
  name,
  text,
  rationale,
  any_text,
  texts,
  options,
  object,
  actions,
  count,
  counts,
  seconds,
  day_of_seconds,
  hours,
  ratio,
  percent,
  amount,
  number,
  flag,
  time,
  level,
  outcome,
  health,
  privacy
};

struct Row {
  Type type;
  std::string_view within;  // the path of the object that it is a member of; empty: the message
  std::string_view key;
  Shape shape;
  bool required = false;
};

constexpr auto rows = std::to_array<Row>({
    {Type::delegation, "", "event_context", Shape::object, true},
    {Type::delegation, "/event_context", "event_type", Shape::name, true},
    {Type::delegation, "/event_context", "event_id", Shape::name},
    {Type::delegation, "/event_context", "repository", Shape::any_text},
    {Type::delegation, "/event_context", "trigger_timestamp", Shape::time},
    {Type::delegation, "", "task", Shape::object, true},
    {Type::delegation, "/task", "description", Shape::text, true},
    {Type::delegation, "/task", "priority", Shape::level},
    {Type::delegation, "/task", "timeout_seconds", Shape::seconds},
    {Type::delegation, "/task", "requires_hitl", Shape::flag},
    {Type::delegation, "/task", "confidence_threshold", Shape::ratio},
    {Type::delegation, "", "context", Shape::object},
    {Type::delegation, "/context", "issue_number", Shape::count},
    {Type::delegation, "/context", "pr_number", Shape::count},
    {Type::delegation, "/context", "comment_id", Shape::count},
    {Type::delegation, "/context", "user", Shape::object},
    {Type::delegation, "/context/user", "login", Shape::any_text},
    {Type::delegation, "/context/user", "author_association", Shape::any_text},
    {Type::delegation, "/context/user", "is_first_time_contributor", Shape::flag},
    {Type::delegation, "/context/user", "contribution_count", Shape::count},
    {Type::delegation, "/context/user", "account_created", Shape::time},
    {Type::delegation, "/context", "content", Shape::object},
    {Type::delegation, "/context/content", "title", Shape::any_text},
    {Type::delegation, "/context/content", "body", Shape::any_text},
    {Type::delegation, "/context/content", "labels", Shape::texts},
    {Type::delegation, "/context/content", "state", Shape::any_text},
    {Type::delegation, "/context/content", "created_at", Shape::time},
    {Type::delegation, "/context/content", "updated_at", Shape::time},
    {Type::delegation, "/context/content", "comments_count", Shape::count},
    {Type::delegation, "/context", "additional_context", Shape::object},
    {Type::delegation, "/context/additional_context", "related_issues", Shape::counts},
    {Type::delegation, "/context/additional_context", "related_prs", Shape::counts},
    {Type::delegation, "/context/additional_context", "mentions", Shape::texts},
    {Type::delegation, "/context/additional_context", "commands", Shape::texts},
    {Type::delegation, "", "repository_context", Shape::object},
    {Type::delegation, "/repository_context", "rag_available", Shape::flag},
    {Type::delegation, "/repository_context", "governance_docs", Shape::texts},
    {Type::delegation, "/repository_context", "ci_workflows", Shape::texts},
    {Type::completion, "", "task_id", Shape::name},
    {Type::completion, "", "status", Shape::outcome, true},
    {Type::completion, "", "confidence_score", Shape::ratio},
    {Type::completion, "", "execution_time_ms", Shape::count},
    {Type::completion, "", "actions_taken", Shape::actions},
    {Type::completion, "/actions_taken", "action_type", Shape::text, true},
    {Type::completion, "/actions_taken", "timestamp", Shape::time},
    {Type::completion, "/actions_taken", "details", Shape::object},
    {Type::completion, "/actions_taken", "confidence", Shape::ratio},
    {Type::completion, "", "rationale", Shape::rationale, true},
    {Type::completion, "", "requires_human_review", Shape::flag},
    {Type::completion, "", "human_review_reason", Shape::any_text},
    {Type::completion, "", "next_steps", Shape::texts},
    {Type::completion, "", "flags", Shape::object},
    {Type::completion, "/flags", "coc_concern", Shape::flag},
    {Type::completion, "", "metrics", Shape::object},
    {Type::completion, "/metrics", "tokens_used", Shape::count},
    {Type::completion, "/metrics", "api_calls_made", Shape::count},
    {Type::completion, "/metrics", "rag_queries", Shape::count},
    {Type::completion, "", "error", Shape::object},
    {Type::completion, "/error", "error_type", Shape::text, true},
    {Type::completion, "/error", "error_message", Shape::text, true},
    {Type::completion, "/error", "error_code", Shape::any_text},
    {Type::completion, "/error", "timestamp", Shape::time},
    {Type::completion, "/error", "retry_count", Shape::count},
    {Type::completion, "/error", "is_recoverable", Shape::flag},
    {Type::completion, "/error", "suggested_action", Shape::any_text},
    {Type::approval, "", "approval_needed_for", Shape::name, true},
    {Type::approval, "", "priority", Shape::level},
    {Type::approval, "", "timeout_hours", Shape::hours},
    {Type::approval, "", "proposed_action", Shape::object, true},
    {Type::approval, "", "rationale", Shape::rationale, true},
    {Type::approval, "", "confidence", Shape::ratio},
    {Type::approval, "", "human_decision_options", Shape::options},
    {Type::approval, "", "github_comment_posted", Shape::flag},
    {Type::approval, "", "github_comment_url", Shape::any_text},
    {Type::approval, "", "approvers_tagged", Shape::texts},
    {Type::flag, "", "privacy_level", Shape::privacy, true},
    {Type::flag, "", "violation", Shape::object, true},
    {Type::flag, "/violation", "severity", Shape::level, true},
    {Type::flag, "/violation", "confidence", Shape::ratio},
    {Type::flag, "/violation", "violation_type", Shape::text, true},
    {Type::flag, "/violation", "location", Shape::any_text},
    {Type::flag, "/violation", "url", Shape::any_text},
    {Type::flag, "/violation", "timestamp", Shape::time},
    {Type::flag, "", "context", Shape::object},
    {Type::flag, "/context", "excerpt", Shape::any_text},
    {Type::flag, "/context", "user_history", Shape::any_text},
    {Type::flag, "/context", "thread_context", Shape::any_text},
    {Type::flag, "", "analysis", Shape::object},
    {Type::flag, "/analysis", "sentiment_score", Shape::number},
    {Type::flag, "/analysis", "keywords_detected", Shape::texts},
    {Type::flag, "/analysis", "pattern_matched", Shape::any_text},
    {Type::flag, "", "recommended_action", Shape::any_text},
    {Type::flag, "", "important_notes", Shape::texts},
    {Type::flag, "", "human_review_required", Shape::flag},
    {Type::flag, "", "escalate_to", Shape::texts},
    {Type::health, "", "status", Shape::health, true},
    {Type::health, "", "uptime_seconds", Shape::count},
    {Type::health, "", "last_task_completed", Shape::time},
    {Type::health, "", "performance_metrics", Shape::object},
    {Type::health, "/performance_metrics", "tasks_completed_last_hour", Shape::count},
    {Type::health, "/performance_metrics", "average_response_time_ms", Shape::amount},
    {Type::health, "/performance_metrics", "error_rate_percentage", Shape::percent},
    {Type::health, "/performance_metrics", "confidence_score_average", Shape::ratio},
    {Type::health, "", "issues", Shape::texts},
    {Type::health, "", "warnings", Shape::texts},
    {Type::extension, "", "task_id", Shape::name},
    {Type::extension, "", "requested_seconds", Shape::day_of_seconds, true},
    {Type::extension, "", "reason", Shape::rationale, true},
});

constexpr std::array<Word<bool>, 3> options = {
    {{"approve", true}, {"reject", true}, {"modify", true}}};
constexpr std::array<Word<bool>, 3> healths = {
    {{"healthy", true}, {"degraded", true}, {"error", true}}};
constexpr std::string_view privacy = "PRIVATE_TO_MODERATORS";
constexpr int64_t year_of_seconds = 366 * 24 * 3'600;
constexpr int64_t day_of_seconds = 24 * 3'600;
constexpr double hours_min = 0.001;
constexpr double hours_max = 366 * 24;

std::string wanted(Shape shape) {
  switch (shape) {
    case Shape::name:
      return "a string of 1 to 256 bytes";
    case Shape::text:
      return "a string that is not empty";
    case Shape::rationale:
      return "a text of 1 to 1000 characters";
    case Shape::any_text:
      return "a string";
    case Shape::texts:
      return "an array of strings";
    case Shape::options:
      return "an array of some of approve, reject, modify";
    case Shape::object:
      return "an object";
    case Shape::actions:
      return "an array of at most 50 objects";
    case Shape::count:
      return "an integer from 0 to 2^63-1";
    case Shape::counts:
      return "an array of integers from 0 to 2^63-1";
    case Shape::seconds:
      return "an integer from 1 to 31622400";
    case Shape::day_of_seconds:
      return "an integer from 1 to 86400";
    case Shape::hours:
      return "a number from 0.001 to 8784";
    case Shape::ratio:
      return "a number from 0 to 1";
    case Shape::percent:
      return "a number from 0 to 100";
    case Shape::amount:
      return "a number that is not negative";
    case Shape::number:
      return "a number";
    case Shape::flag:
      return "true or false";
    case Shape::time:
      return std::string(time_wanted);
    case Shape::level:
      return one_of(levels);
    case Shape::outcome:
      return one_of(outcomes);
    case Shape::health:
      return one_of(healths);
    case Shape::privacy:
      return "\"" + std::string(privacy) + "\"";
  }
  return "";
}

bool is_integer(Json value, int64_t min, int64_t max) {
  const auto number = value.as_int64();
  return number && *number >= min && *number <= max;
}

bool is_number(Json value, double min, double max) {
  const auto number = value.as_double();
  return number && *number >= min && *number <= max;
}

template <class Fits>
bool is_array(Json value, const Fits& fits) {
  bool all = value.kind() == JsonKind::array;
  for (const Json element : value.elements()) {
    all = all && fits(element);
  }
  return all;
}

bool fits_text(Shape shape, std::string_view text) {
  switch (shape) {
    case Shape::name:
      return !text.empty() && text.size() <= superprompt_name_bytes_max;
    case Shape::text:
      return !text.empty();
    case Shape::rationale:
      return !text.empty() && count_characters(text) <= superprompt_rationale_chars_max;
    case Shape::time:
      return parse_time(text).has_value();
    case Shape::level:
      return find_word(levels, text) != nullptr;
    case Shape::outcome:
      return find_word(outcomes, text) != nullptr;
    case Shape::health:
      return find_word(healths, text) != nullptr;
    case Shape::privacy:
      return text == privacy;
    default:
      return shape == Shape::any_text;
  }
}

bool fits(Shape shape, Json value) {
  switch (shape) {
    case Shape::texts:
      return is_array(value, [](Json each) { return each.as_string().has_value(); });
    case Shape::options:
      return !value.empty() && is_array(value, [](Json each) {
        return find_word(options, each.as_string().value_or("")) != nullptr;
      });
    case Shape::object:
      return value.is_object();
    case Shape::actions:
      return is_array(value, [](Json each) { return each.is_object(); }) &&
             value.size(superprompt_actions_max + 1) <= superprompt_actions_max;
    case Shape::count:
      return is_integer(value, 0, INT64_MAX);
    case Shape::counts:
      return is_array(value, [](Json each) { return is_integer(each, 0, INT64_MAX); });
    case Shape::seconds:
      return is_integer(value, 1, year_of_seconds);
    case Shape::day_of_seconds:
      return is_integer(value, 1, day_of_seconds);
    case Shape::hours:
      return is_number(value, hours_min, hours_max);
    case Shape::ratio:
      return is_number(value, 0, 1);
    case Shape::percent:
      return is_number(value, 0, 100);
    case Shape::amount:
      return value.as_double().value_or(-1) >= 0;
    case Shape::number:
      return value.as_double().has_value();
    case Shape::flag:
      return value.as_bool().has_value();
    default:
      return value.as_string() && fits_text(shape, *value.as_string());
  }
}

std::unexpected<Error> fault(std::string detail, std::string pointer) {
  return std::unexpected(Error{Code::validation_failed, std::move(detail), std::move(pointer)});
}

std::unexpected<Error> wrong(const Row& row, Json found, const std::string& path) {
  std::string detail = std::string(row.key) + ": wanted " + wanted(row.shape) + ", found ";
  detail.append(!found ? "nothing" : describe(found));
  if (row.shape == Shape::rationale && found.as_string()) {
    detail = std::string(row.key) + ": wanted " + wanted(row.shape) + ", found " +
             std::to_string(count_characters(*found.as_string()));
  } else if (row.shape == Shape::actions && found.kind() == JsonKind::array) {
    detail.append(" of ").append(std::to_string(found.size()));
  }
  if (row.required) {
    detail.append("; it is required");
  }
  return fault(std::move(detail), path + "/" + std::string(row.key));
}

// One object on its way through the rows. `within` is its place in the rows, `path` in the message.
class Checker {
 public:
  Checker(Type type, bool may_lack_event) : type_(type), may_lack_event_(may_lack_event) {}

  std::expected<void, Error> check(Json object, const std::string& within,
                                   const std::string& path) const {
    std::bitset<rows.size()> seen;
    for (const lib::JsonMember& member : object.members()) {
      const size_t n = find(within, member.key);
      if (n == rows.size()) {
        continue;
      }
      if (seen.test(n)) {
        return fault(std::string(member.key) + ": the member is there twice; leave one out",
                     path + "/" + std::string(member.key));
      }
      seen.set(n);
      if (auto good = check_member(rows[n], member.value, within, path); !good) {
        return good;
      }
    }
    for (size_t n = 0; n < rows.size(); ++n) {
      const Row& row = rows[n];
      if (row.type == type_ && row.within == within && row.required && !seen.test(n) &&
          !(may_lack_event_ && row.key == "event_context")) {
        return wrong(row, {}, path);
      }
    }
    return {};
  }

 private:
  size_t find(std::string_view within, std::string_view key) const {
    const auto* const row = std::ranges::find_if(rows, [&](const Row& each) {
      return each.type == type_ && each.within == within && each.key == key;
    });
    return static_cast<size_t>(row - rows.begin());
  }

  std::expected<void, Error> check_member(const Row& row, Json value, const std::string& within,
                                          const std::string& path) const {
    if (value.is_null() && !row.required) {
      return {};
    }
    if (!fits(row.shape, value)) {
      return wrong(row, value, path);
    }
    const std::string inner = within + "/" + std::string(row.key);
    const std::string place = path + "/" + std::string(row.key);
    if (row.shape == Shape::object) {
      return check(value, inner, place);
    }
    if (row.shape == Shape::actions) {
      size_t at = 0;
      for (const Json element : value.elements()) {
        if (auto good = check(element, inner, place + "/" + std::to_string(at)); !good) {
          return good;
        }
        ++at;
      }
    }
    return {};
  }

  Type type_;
  bool may_lack_event_;
};

// What a completion must have depends on how it ended. What was said in another dialect may come
// without a confidence, and then says so by null.
std::expected<void, Error> check_outcome(Json message) {
  const bool failed = message.find("status").as_string() == "failure";
  const Json error = message.find("error");
  if (failed && !error.is_object()) {
    return fault("error: wanted an object with error_type and error_message, found " +
                     (error ? describe(error) : "nothing") + "; a failure requires it",
                 "/error");
  }
  if (failed) {
    return {};
  }
  if (error.is_object()) {
    return fault("error: wanted null, or no such member, found an object; only a failure has it",
                 "/error");
  }
  const Json score = message.find("confidence_score");
  const bool is_translated = score.is_null() && message.find("foreign").find("dialect").as_string();
  if (!score.as_double() && !is_translated) {
    return fault("confidence_score: wanted a number from 0 to 1, found " +
                     (score ? describe(score) : "nothing") +
                     "; it is required unless the status is failure",
                 "/confidence_score");
  }
  return {};
}

}  // namespace

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

std::expected<void, Error> check_content(Type type, Json message, bool may_lack_event) {
  if (auto good = Checker(type, may_lack_event).check(message, "", ""); !good) {
    return good;
  }
  return type == Type::completion ? check_outcome(message) : std::expected<void, Error>{};
}

}  // namespace parley::dialect::superprompt

namespace parley::dialect {

uint64_t superprompt_tokens(lib::Json message) {
  return message.find("message_type").as_string() == "task_completion"
             ? message.find("metrics").find("tokens_used").as_uint64().value_or(0)
             : 0;
}

}  // namespace parley::dialect
