// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/model/entry.h"

namespace parley::app {

// The entry in one line for people: time, who asked, what, and the fields that matter. Bodies are
// given by their size only.
std::string describe(const core::Entry& entry);

}  // namespace parley::app
