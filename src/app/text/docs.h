// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace parley::app {

// Pages of docs/ that are made from the tables in the code. docs_test.cc holds the files to them.
std::string rules_page();
std::string errors_page();
std::string configuration_page();
std::string record_format_page();

}  // namespace parley::app
