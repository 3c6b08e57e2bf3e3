// SPDX-License-Identifier: Apache-2.0
// SP-13: which worker gets which event, and how the configuration says so.
#include "edge/events/routing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "edge/events/settings.h"

namespace parley::edge::events {
namespace {

Event an_event(std::string_view type) {
  Event event;
  event.type = type;
  event.repository = "octo-org/widgets";
  event.user = {.login = "ada", .author_association = "MEMBER"};
  return event;
}

std::string worker_of(const Event& event, std::span<const EventRoute> routes = default_routes()) {
  const EventRoute* const route = find_route(routes, event);
  return route == nullptr ? "none" : route->terms.worker;
}

TEST(EventRouting, SP13TheBuiltInRoutesReachAllFiveWorkers) {
  Event issue = an_event(issue_opened);
  EXPECT_EQ(worker_of(issue), "triage");
  issue.content.labels = {"bug", "Documentation"};
  EXPECT_EQ(worker_of(issue), "scribe");
  issue.content.labels = {"question"};
  EXPECT_EQ(worker_of(issue), "concierge");
  Event pull_request = an_event(pull_request_opened);
  EXPECT_EQ(worker_of(pull_request), "lifecycle");
  pull_request.user.author_association = "FIRST_TIMER";
  EXPECT_EQ(worker_of(pull_request), "concierge");
  EXPECT_EQ(worker_of(an_event(comment_created)), "community");
}

TEST(EventRouting, SP13ACommandGoesToItsWorkerIfItsAuthorMayGiveIt) {
  Event comment = an_event(comment_created);
  comment.commands = {"/agent Summarize it"};
  EXPECT_EQ(worker_of(comment), "scribe");
  comment.user.author_association = "NONE";
  EXPECT_EQ(worker_of(comment), "concierge");
  comment.commands = {"/agent hello", "/agent review"};
  comment.user.author_association = "OWNER";
  EXPECT_EQ(worker_of(comment), "lifecycle");
}

TEST(EventRouting, TheFirstRouteThatFitsWins) {
  const std::vector<EventRoute> routes = {
      {.repository = "other/*", .terms = {.worker = "a"}},
      {.label = "bug", .repository = "Octo-Org/*", .terms = {.worker = "b"}},
      {.repository = "octo-org/widgets", .terms = {.worker = "c"}},
      {.terms = {.worker = "d"}}};
  Event event = an_event(issue_opened);
  EXPECT_EQ(worker_of(event, routes), "c");
  event.content.labels = {"bug"};
  EXPECT_EQ(worker_of(event, routes), "b");
  event.repository = "octo-org";
  EXPECT_EQ(worker_of(event, routes), "d");
  EXPECT_EQ(worker_of(event, std::span(routes).first(3)), "none");
}

std::expected<Tables, TableFault> tables_of(std::string_view toml) {
  auto entries = lib::read_toml(toml);
  EXPECT_TRUE(entries) << entries.error().detail;
  std::ranges::stable_sort(*entries, {}, &lib::TomlEntry::line);
  return read_tables(*entries);
}

TEST(EventSettings, SP13ARouteHasAllItsKeys) {
  const auto tables = tables_of(
      "listen = 'x'\n[[github.route]]\nevent = 'issues.opened'\nlabel = 'bug'\ncommand = '*'\n"
      "author_association = ['OWNER', 'NONE']\nrepository = 'o/*'\nworker = 'triage'\n"
      "priority = 'high'\ntimeout = '15m'\nrequires_hitl = true\nconfidence_threshold = 0.8\n"
      "[[github.route]]\nworker = 'scribe'\nauthor_association = 'MEMBER'\n"
      "confidence_threshold = 1\n");
  ASSERT_TRUE(tables) << tables.error().error.detail;
  const std::vector<EventRoute> wanted = {
      {.event = "issues.opened",
       .label = "bug",
       .command = "*",
       .author_association = {"OWNER", "NONE"},
       .repository = "o/*",
       .terms = {.worker = "triage",
                 .priority = "high",
                 .timeout = base::minutes(15),
                 .requires_hitl = true,
                 .confidence_threshold = 0.8}},
      {.author_association = {"MEMBER"}, .terms = {.worker = "scribe", .confidence_threshold = 1}}};
  EXPECT_EQ(tables->routes, wanted);
  EXPECT_EQ(tables->routes_in_use().size(), 2U);
  EXPECT_EQ(Tables{}.routes_in_use().size(), default_routes().size());
}

TEST(EventSettings, SP13AScheduleHasAllItsKeys) {
  const auto tables = tables_of(
      "[[schedule]]\nevery = '1h'\nworker = 'community'\ndescription = 'Look'\n"
      "repository = 'o/r'\npriority = 'low'\n"
      "[[schedule]]\nname = 'nightly'\nat = '03:05'\nworker = 'scribe'\ndescription = 'Look'\n"
      "repository = 'o/r'\n");
  ASSERT_TRUE(tables) << tables.error().error.detail;
  const std::vector<Schedule> wanted = {{.name = "Look",
                                         .every = base::hours(1),
                                         .description = "Look",
                                         .repository = "o/r",
                                         .terms = {.worker = "community", .priority = "low"}},
                                        {.name = "nightly",
                                         .every = base::hours(24),
                                         .offset = base::minutes(185),
                                         .description = "Look",
                                         .repository = "o/r",
                                         .terms = {.worker = "scribe"}}};
  EXPECT_EQ(tables->schedules, wanted);
}

TEST(EventSettings, WhatIsWrongIsToldWithItsLine) {
  const auto fault = [](std::string_view toml) {
    const auto tables = tables_of(toml);
    return tables ? "none"
                  : std::to_string(tables.error().line) + ": " + tables.error().error.detail;
  };
  EXPECT_EQ(fault("[[github.route]]\nworker = 'a'\nlable = 'bug'\n"),
            "3: [[github.route]] has no key \"lable\"; the nearest is \"label\"");
  EXPECT_EQ(fault("x = 1\n[[github.route]]\nlabel = 'bug'\n"),
            "2: [[github.route]] needs the key \"worker\"");
  EXPECT_EQ(fault("[[github.route]]\n"), "1: [[github.route]] needs the key \"worker\"");
  EXPECT_EQ(fault("[[github.route]]\nevent = 'issues'\nworker = 'a'\n"),
            "2: event takes one of issues.opened, pull_request.opened, issue_comment.created, not "
            "\"issues\"");
  EXPECT_EQ(fault("[[github.route]]\nworker = 'a'\nconfidence_threshold = 1.5\n"),
            "3: confidence_threshold takes a number from 0 to 1, not \"1.5\"");
  EXPECT_EQ(fault("[[schedule]]\nworker = 'a'\ndescription = 'd'\nrepository = 'o/r'\n"),
            "1: [[schedule]] needs one of the keys \"every\" and \"at\"");
  for (const std::string_view line :
       {"priority = 'urgent'", "timeout = '0s'", "requires_hitl = 'yes'", "worker = ''",
        "author_association = ['OWNER', 'FRIEND']", "repository = '*/x'", "repository = 'o'",
        "repository = 'o/r/s'", "confidence_threshold = 'nan'", "label = ''"}) {
    EXPECT_TRUE(fault("[[github.route]]\n" + std::string(line)).starts_with("2: ")) << line;
  }
  for (const std::string_view line : {"every = '1s'", "at = '24:00'", "at = '3:00'", "at = 'ab:cd'",
                                      "at = '12:60'", "repository = 'o/*'"}) {
    EXPECT_TRUE(fault("[[schedule]]\n" + std::string(line)).starts_with("2: ")) << line;
  }
  const std::string twice =
      "[[schedule]]\nat = '03:00'\nworker = 'a'\ndescription = 'd'\nrepository = 'o/r'\n";
  EXPECT_TRUE(fault(twice + twice).starts_with("6: another [[schedule]] is named \"d\""));
  EXPECT_TRUE(is_of_tables("schedule[0].at"));
  for (const std::string_view name : {"schedule", "schedule.at", "github.route", "github.as",
                                      "schedules[0].at", "schedule[x].at"}) {
    EXPECT_FALSE(is_of_tables(name)) << name;
  }
}

constexpr base::Time day_begin{1'794'960'000'000'000};  // 2026-11-18T00:00:00Z

TEST(Schedule, SlotsFollowFromTheTimeAlone) {
  const Schedule daily{.name = {},
                       .every = base::hours(24),
                       .offset = base::hours(3),
                       .description = {},
                       .repository = {}};
  const base::Time three = day_begin + base::hours(3);
  EXPECT_EQ(slot_before(daily, three), three);
  EXPECT_EQ(slot_before(daily, day_begin), three + base::hours(-24));
  EXPECT_EQ(slot_after(daily, day_begin), three);
  EXPECT_EQ(slot_after(daily, three), three + base::hours(24));
  Schedule hourly = daily;
  hourly.every = base::hours(1);
  hourly.offset = {};
  EXPECT_EQ(slot_before(hourly, three + base::minutes(59)), three);
  EXPECT_EQ(slot_after(hourly, three + base::minutes(59)), three + base::hours(1));
}

}  // namespace
}  // namespace parley::edge::events
