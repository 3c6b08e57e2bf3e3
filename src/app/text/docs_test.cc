// SPDX-License-Identifier: Apache-2.0
// Run with PARLEY_UPDATE_DOCS=1 to write the pages anew.
#include "app/text/docs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "app/scripted_broker_test.h"
#include "edge/api/route.h"

namespace parley::app {
namespace {

void expect_page(const std::string& path, const std::string& wanted) {
  if (::getenv("PARLEY_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << wanted;
  }
  std::ifstream file(path);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(found, wanted) << path << " is old; run this test with PARLEY_UPDATE_DOCS=1";
}

TEST(Docs, RulesPageSaysWhatTheTableSays) { expect_page("docs/rules.md", rules_page()); }

TEST(Docs, ErrorsPageSaysWhatTheTableSays) { expect_page("docs/errors.md", errors_page()); }

TEST(Docs, ConfigurationPageSaysWhatTheTablesSay) {
  expect_page("docs/configuration.md", configuration_page());
}

TEST(Docs, RecordFormatPageSaysWhatTheFieldsSay) {
  expect_page("docs/record-format.md", record_format_page());
}

// The words of a line as a shell reads them, up to a comment or an operator.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : line + " ") {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c != ' ' || quoted) {
      word.push_back(c);
    } else if (word == "#" || word == "&&") {
      break;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

// What is wrong with a request by the table of routes; empty when the broker would take it.
std::string fault_of(const ScriptedBroker::Asked& asked) {
  const size_t query = std::min(asked.target.find('?'), asked.target.size());
  const std::string path = asked.target.substr(0, query);
  net::Request request;
  request.method = asked.method;
  request.path = path;
  const edge::Match found = edge::find_route(request);
  if (found.route == nullptr) {
    return "there is no such route";
  }
  const std::string_view parameters = asked.target;
  if (const auto read =
          edge::read_query(*found.route, parameters.substr(std::min(query + 1, parameters.size())));
      !read) {
    return read.error().detail;
  }
  lib::JsonDocument document;
  if (found.route->body.kind != edge::Body::Kind::own) {
    if (const auto read = edge::read_body(*found.route, asked.body, document); !read) {
      return read.error().detail;
    }
  }
  return {};
}

TEST(Docs, TheCommandLinePageHasEveryCommand) {
  std::ifstream file("docs/command-line.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::istringstream help(run_captured({"--help"}).out);
  size_t count = 0;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (listed && line.starts_with("  ")) {
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      EXPECT_TRUE(page.contains("parley " + name + " ") || page.contains("parley " + name + "\n"))
          << name;
      ++count;
    }
    listed = listed || line == "Subcommands:";
  }
  EXPECT_GT(count, 30u);
}

TEST(Docs, EveryCommandOfTheCommandLinePageIsRight) {
  const Surroundings surroundings;
  ScriptedBroker broker;
  broker.answer("GET /v1/inbox", 200, R"({"count":1,"notifications":[]})");
  broker.answer_all(200, R"({"id":"x","sender":"ana","conversation_id":"c"})");
  ::setenv("PARLEY_URL", broker.url().c_str(), 1);
  ::setenv("PARLEY_TOKEN", "prl_test", 1);
  std::ifstream page("docs/command-line.md");
  size_t count = 0;
  for (std::string line; std::getline(page, line);) {
    // A broker would run on, a benchmark would start this program as one, what carries lines reads
    // ours, and what looks at the disk ends with 1 where there is none.
    const bool ends = line.find("parley serve") == line.npos &&
                      line.find("parley bench") == line.npos &&
                      line.find("parley mcp --agent") == line.npos;
    if (!line.starts_with("    parley ")) {
      continue;
    }
    auto words = words_of(line);
    words.erase(words.begin());
    std::ranges::replace(words, "DIR", surroundings.data());
    std::ranges::replace(words, "@notes.txt", "@" + surroundings.write("notes.txt", "notes"));
    if (!ends) {
      words.emplace_back("--help");
    }
    EXPECT_NE(run_captured(words).code, 2) << line;
    ++count;
  }
  EXPECT_GT(count, 30u);
  EXPECT_GT(broker.asked().size(), 30u);
  for (const ScriptedBroker::Asked& asked : broker.asked()) {
    EXPECT_EQ(fault_of(asked), "") << asked.method << " " << asked.target << " " << asked.body;
  }
  ::unsetenv("PARLEY_URL");
  ::unsetenv("PARLEY_TOKEN");
}

}  // namespace
}  // namespace parley::app
