// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/delivery/dispatch.h"

namespace parley::core {

// Who spawned the agent, and those who gave it what it has not answered, are told so, each once,
// because its session is over or it is removed (`how`). Returns how many they are.
size_t tell_unfinished(Dispatch& dispatch, std::string_view agent, std::string_view how);

}  // namespace parley::core
