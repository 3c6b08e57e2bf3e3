// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace parley::app {

// The entry in one line for people: place, time, who asked, what, and each field that says
// something, as `name=value`. Of bodies no more than the size is told, of secrets only that there
// is one.
std::string describe(const core::Entry& entry);

// Whether this principal asked, or is named by what is asked.
bool concerns(const core::Entry& entry, std::string_view name);

}  // namespace parley::app
