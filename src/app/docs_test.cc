// SPDX-License-Identifier: Apache-2.0
// Run with PARLEY_UPDATE_DOCS=1 to write the pages anew.
#include "app/docs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace parley::app {
namespace {

void expect_page(const std::string& path, const std::string& wanted) {
  if (std::getenv("PARLEY_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << wanted;
  }
  std::ifstream file(path);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(found, wanted) << path << " is old; run this test with PARLEY_UPDATE_DOCS=1";
}

TEST(Docs, RulesPageSaysWhatTheTableSays) { expect_page("docs/rules.md", rules_page()); }

TEST(Docs, ErrorsPageSaysWhatTheTableSays) { expect_page("docs/errors.md", errors_page()); }

}  // namespace
}  // namespace parley::app
