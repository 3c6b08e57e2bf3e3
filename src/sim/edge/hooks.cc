// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/hooks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/client/agent.h"

namespace parley::edge_sim {

bool Hooks::bring(edge::Poster::Request request, edge::Poster::Done done) {
  sim::Random& random = run_.random();
  if (!run_.draining && random.chance(20)) {
    run_.setting.coverage.count("webhook", "too many wait");
    return false;
  }
  const auto late = base::milliseconds(static_cast<int64_t>(random.below(9'000)));
  const bool is_slow = !run_.draining && random.chance(300);
  waiting_.push_back(
      {std::move(request), std::move(done), run_.now() + (is_slow ? late : base::Duration{})});
  return true;
}

void Hooks::pass_time() {
  std::deque<Waiting> later;
  std::deque<Waiting> waiting = std::exchange(waiting_, {});
  for (Waiting& each : waiting) {
    if (each.due <= run_.now()) {
      deliver(each);
    } else {
      later.push_back(std::move(each));
    }
  }
  std::ranges::move(waiting_, std::back_inserter(later));
  waiting_ = std::move(later);
}

void Hooks::deliver(const Waiting& waiting) {
  const std::string name = waiting.request.url.substr(waiting.request.url.rfind('/') + 1);
  const uint64_t roll = run_.draining ? 99 : run_.random().below(100);
  sim::Coverage& coverage = run_.setting.coverage;
  if (roll < 10) {
    coverage.count("webhook", "not reached");
    waiting.done({.status = 0, .error = "cannot connect", .detail = "refused", .retry_after = {}});
    return;
  }
  if (roll < 20) {
    coverage.count("webhook", "answers 500");
    waiting.done({.status = 500, .error = "answered 500", .detail = "so", .retry_after = {}});
    return;
  }
  Reply request{.body = waiting.request.body};
  for (const auto& [key, value] : waiting.request.headers()) {
    request.headers.emplace_back(key, value);
  }
  if (Agent* const agent = run_.find(name)) {
    agent->wake(request);
  } else {
    run_.fail("webhook", "there is no agent of this URL: " + waiting.request.url);
  }
  const bool is_lost = roll < 30;
  coverage.count("webhook", is_lost ? "answer lost" : "answers 200");
  waiting.done(
      is_lost ? edge::Poster::Result{.status = 0,
                                     .error = "timed out",
                                     .detail = "no answer",
                                     .retry_after = {}}
              : edge::Poster::Result{.status = 200, .error = {}, .detail = {}, .retry_after = {}});
}

}  // namespace parley::edge_sim
