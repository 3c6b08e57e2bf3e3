// SPDX-License-Identifier: Apache-2.0
// SP-13: what a webhook of GitHub tells becomes a delegation. The payloads are in tests/github.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "dialect/iso8601.h"
#include "edge/events/delegation.h"
#include "lib/json.h"

namespace parley::edge::events {
namespace {

constexpr std::string_view delivery_id = "72d3162e-cc78-11e3-81ab-4c9367dc0958";

base::Time noon() { return *dialect::parse_time("2026-11-18T12:00:00Z"); }

std::string read_file(const std::string& name) {
  std::ifstream file("tests/github/" + name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Without the space between its tokens.
std::string compact(std::string_view json) {
  std::string text;
  bool quoted = false;
  for (size_t n = 0; n < json.size(); ++n) {
    if (quoted && json[n] == '\\') {
      text += json[n++];
    } else if (json[n] == '"') {
      quoted = !quoted;
    } else if (!quoted && (json[n] == ' ' || json[n] == '\n')) {
      continue;
    }
    text += json[n];
  }
  return text;
}

std::expected<Event, NoEvent> event_of(std::string_view name, const std::string& payload) {
  lib::JsonDocument document;
  const auto json = document.parse(payload);
  EXPECT_TRUE(json) << payload.substr(0, 100);
  return read_event({name, delivery_id}, *json);
}

Event event_in(std::string_view name, const std::string& file) {
  const auto event = event_of(name, read_file(file));
  EXPECT_TRUE(event) << (event ? "" : event.error().reason);
  return event.value_or(Event{});
}

std::string delegated(const Event& event) {
  const EventRoute* const route = find_route(default_routes(), event);
  EXPECT_NE(route, nullptr);
  return route == nullptr ? "" : delegation_of(event, route->terms, {"orchestrator", noon()}).text;
}

TEST(GithubEvents, SP13APayloadBecomesTheDelegationBesideIt) {
  for (const auto& [event, file] : std::initializer_list<std::pair<std::string, std::string>>{
           {"issues", "issues"},
           {"pull_request", "pull_request"},
           {"issue_comment", "issue_comment"},
           {"issue_comment", "issue_comment_on_pull_request"}}) {
    EXPECT_EQ(delegated(event_in(event, file + ".json")),
              compact(read_file(file + ".delegation.json")))
        << file;
  }
}

TEST(GithubEvents, SP13AScheduleBecomesTheDelegationBesideIt) {
  const Schedule schedule{.name = "stale issues",
                          .every = base::hours(24),
                          .offset = base::hours(3),
                          .description = "Look for issues without an answer",
                          .repository = "octo-org/widgets",
                          .terms = {.worker = "lifecycle",
                                    .priority = "low",
                                    .timeout = base::minutes(15),
                                    .requires_hitl = true,
                                    .confidence_threshold = 0.5}};
  const Delegation made =
      delegation_of(schedule, slot_before(schedule, noon()), {"orchestrator", noon()});
  EXPECT_EQ(made.text, compact(read_file("schedule.delegation.json")));
  EXPECT_EQ(made.key, "schedule:stale issues@2026-11-18T03:00:00.000Z");
}

TEST(GithubEvents, TheSameDeliveryHasTheSameIdAndKeyWheneverItComes) {
  const Event event = event_in("issues", "issues.json");
  const TaskTerms terms{.worker = "triage"};
  const Delegation first = delegation_of(event, terms, {"orchestrator", noon()});
  const Delegation again = delegation_of(event, terms, {"orchestrator", noon() + base::hours(5)});
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(first.key, again.key);
  // Another worker would get another message; the key says that it is the same event.
  const Delegation other = delegation_of(event, {.worker = "scribe"}, {"orchestrator", noon()});
  EXPECT_NE(first.id, other.id);
  EXPECT_EQ(first.key, other.key);
}

TEST(GithubEvents, WhatIsNotDelegatedSaysWhy) {
  const auto closed = event_of("issues", R"({"action":"closed"})");
  ASSERT_FALSE(closed);
  EXPECT_FALSE(closed.error().is_malformed);
  EXPECT_EQ(closed.error().reason,
            "only issues.opened, pull_request.opened and issue_comment.created are delegated, not "
            "issues.closed");
  const auto push = event_of("push", R"({"ref":"refs/heads/main"})");
  ASSERT_FALSE(push);
  EXPECT_TRUE(push.error().reason.ends_with("not push")) << push.error().reason;
  EXPECT_FALSE(event_of("issues", "[]"));
}

TEST(GithubEvents, APayloadThatLacksWhatGitHubSendsIsMalformed) {
  for (const std::string_view payload :
       {R"({"action":"opened"})", R"({"action":"opened","repository":{"full_name":"o/r"}})",
        R"({"action":"opened","repository":{"full_name":"o/r"},"issue":{"number":"1"}})"}) {
    const auto event = event_of("issues", std::string(payload));
    ASSERT_FALSE(event) << payload;
    EXPECT_TRUE(event.error().is_malformed) << payload;
  }
  EXPECT_TRUE(event_of("issues", R"({"action":"opened","repository":{"full_name":"o/r"},)"
                                 R"("issue":{"number":1}})"));
}

TEST(GithubEvents, WhatABotDidIsKnown) {
  const std::string begin =
      R"({"action":"opened","repository":{"full_name":"o/r"},"issue":{"number":1},"sender":)";
  EXPECT_TRUE(event_of("issues", begin + R"({"type":"Bot"}})")->user.is_bot);
  EXPECT_FALSE(event_of("issues", begin + R"({"type":"User"}})")->user.is_bot);
}

TEST(GithubEvents, TheNameIsGuessedByThePayload) {
  for (const auto& [file, name] : std::initializer_list<std::pair<std::string, std::string>>{
           {"issues.json", "issues"},
           {"pull_request.json", "pull_request"},
           {"issue_comment.json", "issue_comment"},
           {"issue_comment_on_pull_request.json", "issue_comment"},
           {"ping.json", "ping"}}) {
    lib::JsonDocument document;
    EXPECT_EQ(guess_event(*document.parse(read_file(file))), name);
  }
  lib::JsonDocument document;
  EXPECT_EQ(guess_event(*document.parse("{}")), "");
}

using Texts = std::vector<std::string>;
using Numbers = std::vector<uint64_t>;

TEST(GithubEvents, FindsMentions) {
  EXPECT_EQ(find_mentions("@ada, (@bo-b) and @ada again; @octo-org/team."),
            (Texts{"@ada", "@bo-b", "@octo-org/team"}));
  EXPECT_EQ(find_mentions("nia@example.org a.b@c @ @@ @-"), Texts{});
  EXPECT_EQ(find_mentions("@" + std::string(100, 'a')), Texts{});
}

TEST(GithubEvents, SP13FindsCommandsAtTheBeginningOfALine) {
  EXPECT_EQ(find_commands("/agent summarize\r\ntext /agent no\n /agent no\n/agent  review me  \n"),
            (Texts{"/agent summarize", "/agent  review me"}));
  EXPECT_EQ(find_commands("/agents x\n/agent\n/agent  \n"), Texts{});
  EXPECT_EQ(command_word("/agent  review me"), "review");
  EXPECT_EQ(command_word("/agent x"), "x");
}

TEST(GithubEvents, FindsRelatedIssuesButNotItself) {
  EXPECT_EQ(find_numbers("#1, #2 and #2; (#3) is #7", 7), (Numbers{1, 2, 3}));
  EXPECT_EQ(find_numbers("a#1 &#39; o/r#4 #5th # #0 #99999999999999999999999 ##", 7), Numbers{});
}

TEST(GithubEvents, ListsOfWhatWasFoundHaveAnEnd) {
  std::string text;
  for (int n = 1; n < 1'000; ++n) {
    text += "/agent do " + std::to_string(n) + "\n@user" + std::to_string(n) + " #" +
            std::to_string(n) + "\n";
  }
  EXPECT_EQ(find_commands(text).size(), 20U);
  EXPECT_EQ(find_mentions(text).size(), 20U);
  EXPECT_EQ(find_numbers(text, 0).size(), 20U);
}

TEST(Excerpt, KeepsWhatFits) {
  EXPECT_EQ(excerpt("", 0), "");
  EXPECT_EQ(excerpt("abc", 3), "abc");
  EXPECT_EQ(excerpt(std::string(1'000, 'a'), 1'000), std::string(1'000, 'a'));
}

TEST(Excerpt, SaysWhatIsMissingAndCutsNoCharacter) {
  const std::string cut = excerpt(std::string(1'000, 'a'), 500);
  EXPECT_EQ(cut, std::string(420, 'a') + "\n[cut: the first 420 of 1000 bytes]");
  std::string wide;
  for (int n = 0; n < 500; ++n) {
    wide += "€";
  }
  EXPECT_TRUE(excerpt(wide, 1'000).starts_with(wide.substr(0, 918) + "\n[cut: the first 918 of "));
}

// SP-04: at most 100 KB a message, whatever the characters cost within JSON.
TEST(Excerpt, SP13ADelegationFitsWhateverItsEventSays) {
  for (const std::string_view unit : {"a", "\"", "\x01", "€", "\n"}) {
    Event event = event_in("issue_comment", "issue_comment.json");
    event.content.body.clear();
    while (event.content.body.size() < 300'000) {
      event.content.body += unit;
    }
    event.content.title = std::string(1'024, '\x01');
    event.content.labels.assign(100, std::string(64, '\x01'));
    event.commands.assign(20, "/agent " + std::string(193, '\x01'));
    const std::string text = delegated(event);
    EXPECT_LE(text.size(), delegation_bytes_max);
    lib::JsonDocument document;
    const auto json = document.parse(text);
    ASSERT_TRUE(json);
    const auto body = json->find("context").find("content").find("body").as_string();
    ASSERT_TRUE(body);
    EXPECT_TRUE(body->ends_with(" of " + std::to_string(event.content.body.size()) + " bytes]"))
        << body->substr(body->size() - 60);
  }
}

}  // namespace
}  // namespace parley::edge::events
