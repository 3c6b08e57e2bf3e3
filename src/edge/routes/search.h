// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edge/api/call.h"

namespace parley::edge {

// Answers with a message, or with its delivery, that the engine has forgotten; refuses where there
// is none that the caller may see. `name` is what the caller wrote.
void show_old_message(const Asker& asker, const core::Target& target, const std::string& name,
                      core::Dialect dialect);
void show_old_delivery(const Asker& asker, const core::Target& target, const std::string& name);

}  // namespace parley::edge
