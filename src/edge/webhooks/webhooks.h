// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/machine/machine.h"
#include "core/model/effect.h"
#include "edge/waits.h"
#include "edge/webhooks/limits.h"
#include "edge/webhooks/poster.h"
#include "lib/json_writer.h"

namespace parley::edge {

// A secret as its owner gets it: `whsec_` and base64, as Standard Webhooks has it.
std::string secret_text(const core::WebhookSecret& secret);

// The headers that prove a request: id, time, and the signatures with each of the secrets.
net::Headers signed_headers(std::string_view id, base::Time now, std::string_view body,
                            std::span<const core::WebhookSecret> secrets);

// Wakes agents that have a webhook: when mail waits and the agent neither has a stream nor polls, a
// request to its URL says that there is mail, never what it says. One request at a time for an
// agent. While the agent does nothing, more mail makes another request, not before `again_after`,
// and reminders follow with pauses that double.
//
// The outcome of requests is not part of the machine's state: after a restart, mail that waits
// makes requests again. On the server's thread but for the requests themselves.
class Webhooks {
 public:
  struct Options {
    Poster::Options poster;
    WebhookLimits limits;
    std::string version;
    // Gets a line for the log when a webhook begins to fail, rests or works again.
    std::function<void(const std::string&)> warn{};
    // Sends a request; false when too many wait. Empty: a Poster does.
    std::function<bool(Poster::Request, Poster::Done)> send{};
  };
  struct Environment {
    std::function<base::Time()> now;
    // Runs something on the server's thread; called on another.
    std::function<void(std::function<void()>)> post;
    std::function<bool(core::WorkspaceId, core::AgentRef)> is_awaited;  // someone polls
  };
  Webhooks(const core::Machine& machine, Waits& waits, Options options, Environment environment);

  const Reach& reach() const { return options_.poster.reach; }

  // Wakes agents whose mail waited before the broker started.
  void start();
  // Called for each entry that was applied, so it must be quick.
  void applied(const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects);

  // The URL and the state of the webhook as a JSON object, without the secret. For an admin with
  // the details of network failures.
  void render(core::WorkspaceId workspace, const core::Agent& agent, bool for_admin,
              lib::JsonWriter& out) const;

  uint64_t sent() const { return sent_; }
  uint64_t failures() const { return failed_; }
  uint64_t disabled() const;

 private:
  using Key = std::pair<core::WorkspaceId, std::string>;
  struct State {
    enum class Phase : uint8_t { idle, scheduled, sending };
    Phase phase = Phase::idle;
    Waits::Id timer = 0;
    base::Time due;       // of `scheduled`
    uint64_t number = 0;  // of the request under way
    std::string id;       // of the event; a request that is tried again has the same one
    std::string event;    // its body
    base::Time begun;     // when the request was sent that succeeded last
    base::Time succeeded;
    base::Time attempted;
    uint64_t failures = 0;   // in a row
    unsigned reminders = 0;  // since the agent was active
    std::string error;
    std::string detail;  // for admins
    bool disabled = false;
    bool gone = false;     // the receiver answered 410: no more requests until it is set again
    bool more = false;     // mail came while a request was under way
    bool changed = false;  // the webhook was set again or removed then
  };

  const core::Agent* find(const Key& key, core::AgentRef& ref) const;
  bool is_asleep(const Key& key) const;
  void begin_anew(const Key& key);
  void wake(core::WorkspaceId workspace, core::AgentRef ref);
  void schedule(const Key& key, State& state, base::Time at);
  void fire(const Key& key);
  void finish(const Key& key, uint64_t number, base::Time begun, const Poster::Result& result);
  void on_success(const Key& key, State& state, base::Time begun);
  void warn(const Key& key, const std::string& what) const;
  std::string event_of(const Key& key, const core::Agent& agent, const State& state) const;

  const core::Machine& machine_;
  Waits& waits_;
  Options options_;
  const Environment environment_;
  std::map<Key, State> states_;  // of agents that have one
  uint64_t next_number_ = 1;
  uint64_t sent_ = 0;
  uint64_t failed_ = 0;
  Poster poster_;
};

}  // namespace parley::edge
