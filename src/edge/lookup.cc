// SPDX-License-Identifier: Apache-2.0
#include "edge/lookup.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "edge/render.h"

namespace parley::edge {

namespace {

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Lookup::Lookup(node::Broker& broker, const Principal& caller)
    : Names(broker.machine().find(caller.workspace)->tables(), caller), broker_(broker) {}

std::optional<base::MessageId> Lookup::find_task(std::string_view task,
                                                 std::span<const std::string_view> from,
                                                 std::string_view thread) const {
  const core::TaskReport report{task, caller_.name, thread, from};
  const core::Task* const known = t_.tasks.find(report);
  const bool is_meant = known != nullptr && known->is_open() && is_one_of(from, known->director) &&
                        (thread.empty() || thread == known->thread);
  const core::MessageRef ref = is_meant ? core::none : asked(report);
  return ref == core::none ? Names::find_task(task, from, thread) : t_.messages.message(ref).id;
}

// A task has one specialist, and is given by who asks: neither is so where several are asked at
// once, or where the broker asks the first stage later. There the name is in the message alone. Of
// several, that of the conversation that is named is meant, then one that is not answered; of
// equals the oldest, because it was handed out first.
core::MessageRef Lookup::asked(const core::TaskReport& report) const {
  constexpr size_t read_max = 100;  // of the newest: each is read from the journal
  std::vector<core::MessageRef> candidates;
  const auto look_at = [&](base::Seq seq) {
    const core::MessageRef ref = t_.messages.find(seq);
    if (ref != core::none && !t_.messages.message(ref).is_task &&
        is_one_of(report.receivers, t_.agents[t_.messages.message(ref).answers_to()].name) &&
        t_.messages.delivery_to(ref, caller_.ref) != core::none) {
      candidates.push_back(ref);
    }
  };
  for (const auto& [seq, gather] : t_.patterns.gathers()) {
    look_at(seq);
  }
  for (const auto& [first, pipeline] : t_.patterns.pipelines()) {
    look_at(pipeline.stages.front().message);
  }
  std::ranges::sort(candidates, std::greater{},
                    [this](core::MessageRef ref) { return t_.messages.message(ref).seq; });
  candidates.resize(std::min(candidates.size(), read_max));
  core::MessageRef best = core::none;
  std::pair<bool, bool> best_rank;
  for (const core::MessageRef ref : candidates) {
    const auto envelope = envelope_at(broker_, caller_.workspace, t_.messages.message(ref).seq);
    if (!envelope || envelope->task != report.task) {
      continue;
    }
    const core::DeliveryRef delivery = t_.messages.delivery_to(ref, caller_.ref);
    const std::pair rank(report.thread.empty() || report.thread == envelope->thread,
                         t_.messages.delivery(delivery).state != core::State::answered);
    if (best == core::none || rank >= best_rank) {
      best = ref;
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace parley::edge
