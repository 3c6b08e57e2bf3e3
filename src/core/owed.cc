// SPDX-License-Identifier: Apache-2.0
#include "core/owed.h"

#include <utility>

#include "core/dispatch.h"
#include "core/tables.h"

namespace parley::core {

bool owes_much(const Tables& tables) {
  const size_t owed = tables.errands.size();
  return owed > 0 && owed >= tables.rules.errands_max / 4;
}

size_t due_now_max(const Tables& tables) {
  constexpr size_t some = 64;
  constexpr size_t few = 4;
  if (!owes_much(tables)) {
    return Dispatch::due_max;
  }
  return tables.errands.size() < tables.rules.errands_max / 2 ? some : few;
}

uint64_t Dispatch::owe(Errand errand) {
  const AgentRef to = t_.agents.find(errand.to);
  const bool is_topic = errand.kind == ErrandKind::published;
  if (!is_topic && (to == none || !t_.agents[to].is_registered())) {
    return 0;
  }
  // What is owed to someone has the room that news leave, and a pipeline's next message that which
  // notices leave: without it the pipeline fails.
  const uint64_t max = t_.rules.errands_max;
  const uint64_t room = is_topic                           ? max / 2
                        : errand.kind == ErrandKind::stage ? max
                                                           : max - max / 8;
  if (t_.errands.size() >= room) {
    ++t_.errands.dropped;
    return 0;
  }
  errand.since = t_.now;
  const uint64_t id = t_.errands.add(std::move(errand));
  emit(Owed{.errand = id});
  return id;
}

}  // namespace parley::core
