// SPDX-License-Identifier: Apache-2.0
// What the broker has to say by itself, and how much of it. When very much fails at once, more is
// to be said than can be written in good time. So each principal has a share of errands_max; what
// is to be said to it beyond that is counted in one summary. Nobody else waits for it, and nothing
// is left out.
#include <algorithm>
#include <utility>

#include "core/dispatch.h"

namespace parley::core {

namespace {

// What there may be very many of, and what can be asked for otherwise: it may be summed up.
bool can_be_summed_up(ErrandKind kind) {
  switch (kind) {
    case ErrandKind::delivery_failed:
    case ErrandKind::message_malformed:
    case ErrandKind::request_timed_out:
    case ErrandKind::thread_closed:
    case ErrandKind::session_changed:
    case ErrandKind::session_warning:
    case ErrandKind::session_ended:
    case ErrandKind::acknowledged:
    case ErrandKind::not_acknowledged:
      return true;
    case ErrandKind::escalated:
    case ErrandKind::escalation_resolved:
    case ErrandKind::roll_called:
    case ErrandKind::gathered:
    case ErrandKind::stage:
    case ErrandKind::pipeline_ended:
    case ErrandKind::backpressure:
    case ErrandKind::dead_letter_alert:
    case ErrandKind::published:
    case ErrandKind::deadlock_warned:
    case ErrandKind::task_reassigned:
    case ErrandKind::summary:
      return false;
  }
  return false;
}

// How many of all a workspace may owe for it: news make room for notices, and what is summed up for
// all else. A pipeline without its next message fails.
uint64_t room_for(ErrandKind kind, uint64_t max) {
  return kind == ErrandKind::published ? max / 2
         : kind == ErrandKind::stage   ? max
                                       : max - max / 8;
}

// One principal's part of it.
constexpr uint64_t shares = 8;

void count(std::vector<Fact>& facts, std::string_view name) {
  const auto at = std::ranges::find(facts, name, &Fact::name);
  if (at == facts.end()) {
    facts.push_back({std::string(name), int64_t{1}});
  } else {
    ++std::get<int64_t>(at->value);
  }
}

}  // namespace

uint64_t Dispatch::owe(Errand errand) {
  const AgentRef to = t_.agents.find(errand.to);
  if (errand.kind != ErrandKind::published && (to == none || !t_.agents[to].is_registered())) {
    return 0;
  }
  const uint64_t max = t_.rules.errands_max;
  const bool has_room = t_.errands.size() < room_for(errand.kind, max);
  if (can_be_summed_up(errand.kind) && max > 0 &&
      (!has_room || t_.errands.owed_to(errand.to) >= std::max<uint64_t>(1, max / shares))) {
    return sum_up(errand);
  }
  if (!has_room) {
    ++t_.errands.dropped;
    return 0;
  }
  errand.since = t_.now;
  const uint64_t id = t_.errands.add(std::move(errand));
  emit(Owed{.errand = id});
  return id;
}

// A node may be sending the summary as it is now. So what comes later makes it another one, but for
// what comes with the same entry, of which no node has seen anything.
uint64_t Dispatch::sum_up(const Errand& errand) {
  Errand* const waiting = t_.errands.summary_to(errand.to);
  if (waiting != nullptr && waiting->id >= first_errand_) {
    count(waiting->facts, errand_name(errand.kind));
    return waiting->id;
  }
  Errand summary{.kind = ErrandKind::summary, .to = errand.to, .about = {}};
  if (waiting != nullptr) {
    summary.facts = std::move(waiting->facts);
    t_.errands.remove(waiting->id);
  } else {
    summary.facts = {{"detail", std::string("more than is told one by one; GET /v1/outbox says "
                                            "what became of each message")},
                     {"first_at", t_.now}};
  }
  count(summary.facts, errand_name(errand.kind));
  summary.since = t_.now;
  const uint64_t id = t_.errands.add(std::move(summary));
  emit(Owed{.errand = id});
  return id;
}

}  // namespace parley::core
