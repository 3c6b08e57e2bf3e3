// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/agents/presence.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr int64_t second = 1'000'000;

Time whole_second(Time t) { return Time{(t.us + second - 1) / second * second}; }

}  // namespace

bool is_missed(const Model& model, const std::string& name, const Request& request) {
  const auto at = model.principals.find(name);
  return at != model.principals.end() && at->second.kind == core::PrincipalKind::agent &&
         !model.is_offline(name) && request.timeout >= model.rules.answer_time_min &&
         at->second.heard + request.timeout <= model.now;
}

// The core looks for silence at whole seconds. In between the tables may say either.
void PresenceChecks::learn_silence(const Step& step) {
  const core::Tables& t = step.after.tables();
  const core::Duration patience{model_.rules.collab_heartbeat.us *
                                static_cast<int64_t>(model_.rules.collab_heartbeats_missed)};
  for (auto& [name, principal] : model_.principals) {
    if (patience.us == 0 || principal.since.us == 0 || model_.has_stream(name) ||
        principal.silent) {
      continue;
    }
    const Time silent = std::max(principal.heard, principal.since) + patience;
    const core::AgentRef ref = t.agents.find(name);
    const bool said =
        ref != core::none && t.agents[ref].presence.standing == core::Presence::Standing::offline;
    principal.silent = whole_second(silent) <= model_.now && passes_time(step)
                           ? true
                           : silent <= model_.now && said;
  }
  if (!step.is_here) {
    return;
  }
  if (const auto at = model_.principals.find(std::string(step.entry.actor));
      at != model_.principals.end()) {
    const bool was_away = at->second.silent || at->second.unanswered;
    at->second.heard = model_.now;
    at->second.since = was_away && at->second.since.us != 0 ? model_.now : at->second.since;
    at->second.silent = false;
    at->second.unanswered = false;
    at->second.missed_by.clear();
  }
}

// Only the one agent that was asked alone has not answered for certain.
void PresenceChecks::note_unanswered(const Step& step, Seq message, const Request& request) {
  const std::string asked = model_.asked_alone(model_.messages.at(message));
  if (asked != step.entry.actor && is_missed(model_, asked, request)) {
    model_.principals.at(asked).miss(request.sender);
  }
}

void PresenceChecks::check(const Step& step) {
  if (const auto* beat = done<core::Heartbeat>(step); beat != nullptr && !beat->only_seen) {
    Principal& principal = model_.principals[std::string(step.entry.actor)];
    principal.since = model_.now;
    principal.status = beat->status;
  }
  for (const std::string& agent : disconnected_) {
    if (const auto at = model_.principals.find(agent);
        at != model_.principals.end() && !model_.has_stream(agent)) {
      at->second.since = model_.now;
    }
  }
  disconnected_.clear();
  const core::Tables& t = step.after.tables();
  for (const auto& [name, principal] : model_.principals) {
    const core::AgentRef ref = t.agents.find(name);
    if (ref == core::none || !t.agents[ref].is_registered()) {
      continue;
    }
    if (t.agents[ref].is_offline() != model_.is_offline(name)) {
      model_.fail(Check::presence, step,
                  text("{} is {}offline", name, model_.is_offline(name) ? "not " : ""));
    } else if (!model_.is_offline(name) && t.agents[ref].is_available() == principal.unanswered) {
      model_.fail(Check::presence, step,
                  text("{} is {}unavailable", name, principal.unanswered ? "not " : ""));
    }
    model_.coverage.count("presence", model_.is_offline(name) ? "offline"
                                      : principal.unanswered  ? "unavailable"
                                                              : "available");
  }
}

}  // namespace parley::sim
