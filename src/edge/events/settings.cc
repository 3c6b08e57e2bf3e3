// SPDX-License-Identifier: Apache-2.0
#include "edge/events/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"

namespace parley::edge::events {

namespace {

using base::Code;
using base::Error;

constexpr std::string_view routes_name = "github.route";
constexpr std::string_view schedules_name = "schedule";
constexpr size_t rows_max = 1'000;  // of either table
constexpr size_t text_bytes_max = 256;
constexpr size_t schedule_name_bytes_max = 200;  // with a time behind it, it names an event
constexpr base::Duration every_min = base::minutes(1);
constexpr base::Duration every_max = base::hours(24 * 366);
constexpr base::Duration timeout_max = base::hours(24 * 30);

constexpr std::array<std::string_view, 3> event_words = {issue_opened, pull_request_opened,
                                                         comment_created};
constexpr std::array<std::string_view, 3> priority_words = {"high", "medium", "low"};
constexpr std::array<std::string_view, 8> association_words = {
    "OWNER",       "MEMBER",    "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR",
    "FIRST_TIMER", "MANNEQUIN", "NONE"};

constexpr std::array<std::string_view, 10> route_keys = {
    "event",  "label",    "command", "author_association", "repository",
    "worker", "priority", "timeout", "requires_hitl",      "confidence_threshold"};
constexpr std::array<std::string_view, 10> schedule_keys = {
    "name",   "every",    "at",      "description",   "repository",
    "worker", "priority", "timeout", "requires_hitl", "confidence_threshold"};

// `github.route[2].worker`: the table, the number of the row, the key; of the row itself the key is
// empty.
struct Place {
  std::string_view table;
  size_t row = 0;
  std::string_view key;
};

std::optional<Place> place_of(std::string_view name) {
  for (const std::string_view table : {routes_name, schedules_name}) {
    if (!name.starts_with(table) || !name.substr(table.size()).starts_with('[')) {
      continue;
    }
    std::string_view rest = name.substr(table.size() + 1);
    const size_t end = std::min(rest.find(']'), rest.size());
    const auto row = base::parse_number(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (row && (rest.empty() || rest.starts_with('.'))) {
      return Place{table, *row, rest.substr(rest.empty() ? 0 : 1)};
    }
  }
  return std::nullopt;
}

template <class Words>
std::string joined(const Words& words) {
  std::string all;
  for (const std::string_view word : words) {
    all.append(all.empty() ? "" : ", ").append(word);
  }
  return all;
}

// Sets `to` where the value was read; else says what it must be.
template <class Value, class Read>
std::string put(Value& to, const std::optional<Read>& read, std::string wanted) {
  if (!read) {
    return wanted;
  }
  to = static_cast<Value>(*read);
  return {};
}

template <class Words>
std::string put_word(std::string& to, const Words& words, std::string_view text) {
  const bool is_known = std::ranges::find(words, text) != words.end();
  return put(to, is_known ? std::optional(text) : std::nullopt, "one of " + joined(words));
}

std::string put_text(std::string& to, std::string_view text, size_t bytes_max = text_bytes_max) {
  const bool fits = !text.empty() && text.size() <= bytes_max;
  return put(to, fits ? std::optional(text) : std::nullopt,
             "a text of 1 to " + std::to_string(bytes_max) + " bytes");
}

std::string put_name(std::string& to, std::string_view text) {
  const bool fits = !text.empty() && text.size() <= text_bytes_max && base::is_plain_name(text);
  return put(to, fits ? std::optional(text) : std::nullopt, "the name of an agent");
}

std::string put_repository(std::string& to, std::string_view text, bool pattern) {
  const size_t slash = text.find('/');
  const bool fits = slash != text.npos && slash > 0 && slash + 1 < text.size() &&
                    text.find('/', slash + 1) == text.npos && text.size() <= text_bytes_max &&
                    (pattern ? text.substr(0, slash) : text).find('*') == text.npos;
  return put(to, fits ? std::optional(text) : std::nullopt,
             pattern ? "OWNER/NAME or OWNER/*" : "OWNER/NAME");
}

std::string put_duration(base::Duration& to, std::string_view text, base::Duration min,
                         base::Duration max) {
  auto read = base::parse_duration(text);
  read = read && *read >= min && *read <= max ? read : std::nullopt;
  return put(to, read,
             "a duration from " + base::format_duration(min) + " to " + base::format_duration(max));
}

std::string put_time_of_day(Schedule& to, std::string_view text) {
  const bool has_form = text.size() == 5 && text[2] == ':';
  const auto hour = has_form ? base::parse_number(text.substr(0, 2)) : std::nullopt;
  const auto minute = has_form ? base::parse_number(text.substr(3)) : std::nullopt;
  if (!hour || !minute || *hour > 23 || *minute > 59) {
    return "a time of day in UTC such as \"03:00\"";
  }
  to.every = base::hours(24);
  to.offset = base::minutes(static_cast<int64_t>(*hour * 60 + *minute));
  return {};
}

std::string put_switch(bool& to, std::string_view text) {
  const bool fits = text == "true" || text == "false";
  return put(to, fits ? std::optional(text == "true") : std::nullopt, "true or false");
}

std::string put_share(double& to, std::string_view text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits =
      error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1;
  return put(to, fits ? std::optional(value) : std::nullopt, "a number from 0 to 1");
}

// A list that TOML had as an array, or as one word.
std::string put_associations(std::vector<std::string>& to, std::string_view text) {
  to.clear();
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (std::ranges::find(association_words, word) == association_words.end()) {
      to.clear();
      break;
    }
    to.emplace_back(word);
  }
  return to.empty() ? "some of " + joined(association_words) : std::string();
}

// These return what the value must be; empty when it is that.
std::string set(TaskTerms& terms, std::string_view key, std::string_view value) {
  return key == "worker"     ? put_name(terms.worker, value)
         : key == "priority" ? put_word(terms.priority, priority_words, value)
         : key == "timeout"  ? put_duration(terms.timeout, value, base::seconds(1), timeout_max)
         : key == "requires_hitl" ? put_switch(terms.requires_hitl, value)
                                  : put_share(terms.confidence_threshold, value);
}

std::string set(EventRoute& route, std::string_view key, std::string_view value) {
  return key == "event"                ? put_word(route.event, event_words, value)
         : key == "label"              ? put_text(route.label, value)
         : key == "command"            ? put_text(route.command, value)
         : key == "author_association" ? put_associations(route.author_association, value)
         : key == "repository"         ? put_repository(route.repository, value, true)
                                       : set(route.terms, key, value);
}

std::string set(Schedule& schedule, std::string_view key, std::string_view value) {
  return key == "name"          ? put_text(schedule.name, value, schedule_name_bytes_max)
         : key == "every"       ? put_duration(schedule.every, value, every_min, every_max)
         : key == "at"          ? put_time_of_day(schedule, value)
         : key == "description" ? put_text(schedule.description, value)
         : key == "repository"  ? put_repository(schedule.repository, value, false)
                                : set(schedule.terms, key, value);
}

Error bad_value(std::string detail) { return {Code::bad_rule_value, std::move(detail), {}}; }

// Rows as they are read: each with its line and the keys that it has.
template <class Row>
struct Rows {
  std::vector<Row> rows;
  std::vector<int> lines;
  std::vector<std::set<std::string_view>> keys;
};

template <class Row, class Keys>
std::optional<Error> take(Rows<Row>& to, const Place& place, const Keys& known,
                          const lib::TomlEntry& entry) {
  if (place.row >= rows_max) {
    return bad_value("there are at most " + std::to_string(rows_max) + " of [[" +
                     std::string(place.table) + "]]");
  }
  if (place.row >= to.rows.size()) {
    to.rows.resize(place.row + 1);
    to.lines.resize(place.row + 1, entry.line);
    to.keys.resize(place.row + 1);
  }
  if (place.key.empty()) {
    return std::nullopt;
  }
  const std::string shown(base::cut(place.key, 64));
  const auto key = std::ranges::find(known, place.key);
  if (key == known.end()) {
    return Error{Code::unknown_rule,
                 "[[" + std::string(place.table) + "]] has no key \"" + shown +
                     "\"; the nearest is \"" + std::string(base::nearest(shown, known)) + "\"",
                 {}};
  }
  to.keys[place.row].insert(*key);
  const std::string wanted = set(to.rows[place.row], *key, entry.value);
  return wanted.empty() ? std::nullopt
                        : std::optional(bad_value(shown + " takes " + wanted + ", not \"" +
                                                  std::string(base::cut(entry.value, 64)) + "\""));
}

// The first of the keys that a row lacks.
template <class Row>
std::optional<TableFault> find_missing(const Rows<Row>& all, std::string_view table,
                                       std::initializer_list<std::string_view> wanted) {
  for (size_t n = 0; n < all.rows.size(); ++n) {
    for (const std::string_view key : wanted) {
      if (!all.keys[n].contains(key)) {
        return TableFault{all.lines[n], bad_value("[[" + std::string(table) +
                                                  "]] needs the key \"" + std::string(key) + "\"")};
      }
    }
  }
  return std::nullopt;
}

// A schedule is named by its description unless it has a name.
std::optional<TableFault> finish(Rows<Schedule>& all) {
  std::set<std::string> names;
  for (size_t n = 0; n < all.rows.size(); ++n) {
    Schedule& schedule = all.rows[n];
    if (all.keys[n].contains("every") == all.keys[n].contains("at")) {
      return TableFault{all.lines[n],
                        bad_value("[[schedule]] needs one of the keys \"every\" and \"at\"")};
    }
    if (schedule.name.empty()) {
      schedule.name = base::cut(schedule.description, schedule_name_bytes_max);
    }
    if (!names.insert(schedule.name).second) {
      return TableFault{all.lines[n], bad_value("another [[schedule]] is named \"" + schedule.name +
                                                "\"; give each its own name")};
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_of_tables(std::string_view name) { return place_of(name).has_value(); }

std::expected<Tables, TableFault> read_tables(std::span<const lib::TomlEntry> entries) {
  Rows<EventRoute> routes;
  Rows<Schedule> schedules;
  for (const lib::TomlEntry& entry : entries) {
    const auto place = place_of(entry.name);
    auto error = !place                        ? std::nullopt
                 : place->table == routes_name ? take(routes, *place, route_keys, entry)
                                               : take(schedules, *place, schedule_keys, entry);
    if (error) {
      return std::unexpected(TableFault{entry.line, std::move(*error)});
    }
  }
  auto fault = find_missing(routes, routes_name, {"worker"});
  fault = fault ? fault
                : find_missing(schedules, schedules_name, {"worker", "description", "repository"});
  fault = fault ? fault : finish(schedules);
  if (fault) {
    return std::unexpected(std::move(*fault));
  }
  return Tables{std::move(routes.rows), std::move(schedules.rows)};
}

}  // namespace parley::edge::events
