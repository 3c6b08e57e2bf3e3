// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/scenario_test.h"
#include "core/machine/tables.h"

// Threads in the words of scenario scripts: docs/scenarios.md.
namespace parley::core::testing {

// `resolved 3 ana,bo`: how it stands, its messages, who takes part; `none`.
inline std::string thread_words(const Tables& t, std::string_view name) {
  const ThreadRef ref = t.threads.find(name);
  if (ref == none) {
    return "none";
  }
  const Thread& thread = t.threads[ref];
  std::string words(thread_state_words[thread.state()]);
  words += " " + std::to_string(thread.messages);
  for (const AgentRef agent : thread.participants) {
    words += (agent == thread.owner() ? " " : ",") + t.agents[agent].name;
  }
  return words;
}

// All threads, or those with this correlation id, in the order in which they began.
inline std::string thread_names(const Tables& t, std::string_view correlation) {
  std::vector<const Thread*> found;
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    for (ThreadRef ref = t.threads.first(static_cast<Threads::Standing>(n)); ref != none;
         ref = t.threads.next(ref)) {
      if (correlation.empty() || t.threads[ref].is_about(correlation)) {
        found.push_back(&t.threads[ref]);
      }
    }
  }
  std::ranges::sort(found, {}, &Thread::root);
  std::vector<std::string> names;
  std::ranges::transform(found, std::back_inserter(names), &Thread::name);
  return join(names);
}

// Those in which the principal takes part, the newest first: what a list of its threads shows.
inline std::string thread_names_of(const Tables& t, std::string_view agent) {
  std::vector<std::string> names;
  if (const AgentRef ref = t.agents.find(agent); ref != none) {
    t.threads.each_of(ref, Threads::newest, [&](ThreadRef thread) {
      names.push_back(t.threads[thread].name);
      return true;
    });
  }
  return join(names);
}

}  // namespace parley::core::testing
