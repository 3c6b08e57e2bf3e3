// SPDX-License-Identifier: Apache-2.0
#include "app/docs.h"

#include "base/error.h"
#include "core/rules.h"

namespace parley::app {

std::string rules_page() {
  std::string page =
      "# Rules\n\n"
      "Every limit and policy value of a workspace. Made from `src/core/rules.cc`.\n\n"
      "| rule | default | what |\n|---|---|---|\n";
  const core::Rules defaults;
  for (const core::RuleInfo& info : core::all_rules()) {
    page += "| `" + std::string(info.name) + "` | " + core::rule_value(defaults, info) + " | " +
            std::string(info.help) + " |\n";
  }
  return page;
}

std::string errors_page() {
  std::string page =
      "# Errors\n\n"
      "Every error has a code from this table; the names hold for ever. Made from\n"
      "`src/base/error.cc`.\n\n"
      "| code | HTTP | meaning | what to do |\n|---|---|---|---|\n";
  for (const base::CodeInfo& info : base::all_codes()) {
    page += "| `" + std::string(info.name) + "` | " + std::to_string(info.http_status) + " | " +
            std::string(info.title) + " | " + std::string(info.advice) + " |\n";
  }
  return page;
}

}  // namespace parley::app
