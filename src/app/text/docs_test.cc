// SPDX-License-Identifier: Apache-2.0
// Run with PARLEY_UPDATE_DOCS=1 to write the pages anew.
#include "app/text/docs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "app/scripted_broker_test.h"

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
  ::unsetenv("PARLEY_URL");
  ::unsetenv("PARLEY_TOKEN");
}

}  // namespace
}  // namespace parley::app
