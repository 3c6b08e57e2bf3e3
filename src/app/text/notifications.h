// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/json.h"

namespace parley::app {

// The notifications of an inbox as a table for people; empty when there are none.
std::string notifications_table(lib::Json inbox);

}  // namespace parley::app
