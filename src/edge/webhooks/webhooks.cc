// SPDX-License-Identifier: Apache-2.0
#include "edge/webhooks/webhooks.h"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "base/text.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

using base::Time;

// Two requests to one agent are never closer than this, however fast it reads.
constexpr base::Duration pause_min = base::seconds(1);
constexpr size_t error_bytes_max = 300;
constexpr int status_gone = 410;

}  // namespace

std::string secret_text(const core::WebhookSecret& secret) {
  return "whsec_" + lib::base64(secret);
}

net::Headers signed_headers(std::string_view id, Time now, std::string_view body,
                            std::span<const core::WebhookSecret> secrets) {
  const std::string timestamp = std::to_string(now.us / 1'000'000);
  std::string content(id);
  content.append(".").append(timestamp).append(".").append(body);
  std::string signatures;
  for (const core::WebhookSecret& secret : secrets) {
    signatures.append(signatures.empty() ? "v1," : " v1,");
    signatures += lib::base64(lib::hmac_sha256(secret, content));
  }
  return {{"webhook-id", std::string(id)},
          {"webhook-timestamp", timestamp},
          {"webhook-signature", signatures}};
}

Webhooks::Webhooks(const core::Machine& machine, Waits& waits, Options options,
                   Environment environment)
    : machine_(machine),
      waits_(waits),
      options_(std::move(options)),
      environment_(std::move(environment)),
      poster_(options_.poster) {
  if (!options_.send) {
    options_.send = [this](Poster::Request request, Poster::Done done) {
      return poster_.post(std::move(request), std::move(done));
    };
  }
}

void Webhooks::start() {
  for (const auto& [id, workspace] : machine_.workspaces()) {
    const core::Agents& agents = workspace.tables().agents;
    for (const core::AgentRef ref : agents.sorted()) {
      if (agents[ref].inbox.first() != core::none) {
        wake(id, ref);
      }
    }
  }
}

void Webhooks::applied(const core::Entry& entry, const core::Outcome& outcome,
                       std::span<const core::Effect> effects) {
  if (const auto* set = std::get_if<core::Register>(&entry.command); set != nullptr && outcome) {
    begin_anew({entry.workspace, std::string(set->name)});
  } else if (const auto* removed = std::get_if<core::Unregister>(&entry.command);
             removed != nullptr && outcome) {
    begin_anew({entry.workspace, std::string(removed->name)});
  }
  for (const core::Effect& effect : effects) {
    if (const auto* mail = std::get_if<core::Mail>(&effect)) {
      wake(mail->workspace, mail->receiver);
    }
  }
}

// The agent was registered, changed or removed: former failures do not count any more. A request
// that is under way ends first: an agent has one at a time, however often it changes its webhook.
void Webhooks::begin_anew(const Key& key) {
  if (const auto at = states_.find(key); at != states_.end()) {
    if (at->second.phase == State::Phase::sending) {
      at->second.changed = true;
      return;
    }
    waits_.remove(at->second.timer);
    states_.erase(at);
  }
  core::AgentRef ref = core::none;
  if (find(key, ref) != nullptr && is_asleep(key)) {
    wake(key.first, ref);
  }
}

const core::Agent* Webhooks::find(const Key& key, core::AgentRef& ref) const {
  const core::Workspace* const workspace = machine_.find(key.first);
  ref = workspace == nullptr ? core::none : workspace->tables().agents.find(key.second);
  if (ref == core::none) {
    return nullptr;
  }
  const core::Agent& agent = workspace->tables().agents[ref];
  return agent.webhook.url.empty() ? nullptr : &agent;
}

// Whether mail waits, and the agent has neither a stream nor a poll that would get it.
bool Webhooks::is_asleep(const Key& key) const {
  core::AgentRef ref = core::none;
  const core::Agent* const agent = find(key, ref);
  return agent != nullptr && agent->inbox.first() != core::none && agent->streams.empty() &&
         !environment_.is_awaited(key.first, ref);
}

void Webhooks::wake(core::WorkspaceId workspace, core::AgentRef ref) {
  const core::Agent& agent = machine_.find(workspace)->tables().agents[ref];
  if (agent.webhook.url.empty()) {
    return;
  }
  const Key key{workspace, agent.name};
  State& state = states_[key];
  if (state.phase == State::Phase::sending) {
    state.more = true;
    return;
  }
  // New mail does not hasten a retry.
  if (state.phase == State::Phase::scheduled && state.failures > 0) {
    return;
  }
  if (state.gone || (state.disabled && agent.seen <= state.attempted)) {
    return;
  }
  if (state.disabled) {
    state.disabled = false;
    state.failures = 0;
  }
  const Time now = environment_.now();
  Time due = now;
  if (!is_asleep(key)) {
    // The agent will get its mail by itself, unless its connection is dead: that is checked later.
    due = now + options_.limits.again_after;
  } else if (state.begun.us != 0) {
    due = state.begun + (agent.seen > state.begun ? pause_min : options_.limits.again_after);
  }
  due = std::max(due, now);
  if (state.phase == State::Phase::idle || due < state.due) {
    schedule(key, state, due);
  }
}

void Webhooks::schedule(const Key& key, State& state, Time at) {
  waits_.remove(state.timer);
  state.phase = State::Phase::scheduled;
  state.due = at;
  state.timer = waits_.add(at, [this, key] { fire(key); });
}

void Webhooks::fire(const Key& key) {
  const auto at = states_.find(key);
  if (at == states_.end()) {
    return;
  }
  State& state = at->second;
  state.phase = State::Phase::idle;
  core::AgentRef ref = core::none;
  const core::Agent* const agent = find(key, ref);
  if (agent == nullptr) {
    states_.erase(at);
    return;
  }
  if (!is_asleep(key)) {
    return;
  }
  const Time now = environment_.now();
  if (agent->seen > state.begun) {
    state.reminders = 0;
  }
  // A retry has the same id and the same bytes, so that the receiver can tell repeated requests.
  if (state.failures == 0 || state.id.empty()) {
    state.id = base::format_uuid(lib::random_uuid());
    state.event = event_of(key, *agent, state);
  }
  // After a rotation both secrets sign for a while, so that the receiver can change at any time.
  std::vector<core::WebhookSecret> secrets = {agent->webhook.secret};
  if (agent->webhook.former != core::WebhookSecret{} &&
      now < agent->webhook.rotated + options_.limits.secret_overlap) {
    secrets.push_back(agent->webhook.former);
  }
  Poster::Request request{.url = agent->webhook.url,
                          .headers =
                              [clock = environment_.now, id = state.id, body = state.event,
                               secrets = std::move(secrets), agent = "parley/" + options_.version] {
                                net::Headers headers = signed_headers(id, clock(), body, secrets);
                                headers.emplace_back("Content-Type",
                                                     "application/cloudevents+json; charset=utf-8");
                                headers.emplace_back("User-Agent", agent);
                                return headers;
                              },
                          .body = state.event,
                          .failed_before = state.failures > 0};
  const uint64_t number = next_number_++;
  state.phase = State::Phase::sending;
  state.number = number;
  const bool taken =
      options_.send(std::move(request), [this, key, number, now](const Poster::Result& result) {
        environment_.post([this, key, number, now, result] { finish(key, number, now, result); });
      });
  if (!taken) {
    schedule(key, state, now + options_.limits.retry_max);
  }
}

void Webhooks::finish(const Key& key, uint64_t number, Time begun, const Poster::Result& result) {
  const auto at = states_.find(key);
  if (at == states_.end() || at->second.number != number) {
    return;  // it was given up meanwhile
  }
  if (at->second.changed) {
    states_.erase(at);
    begin_anew(key);
    return;
  }
  State& state = at->second;
  const Time now = environment_.now();
  state.phase = State::Phase::idle;
  state.attempted = now;
  state.error = base::cut(result.error, error_bytes_max);
  state.detail = base::cut(result.detail, error_bytes_max);
  if (result.error.empty()) {
    on_success(key, state, begun);
    return;
  }
  ++failed_;
  ++state.failures;
  state.more = false;
  state.gone = result.status == status_gone;
  state.disabled = state.gone || state.failures >= options_.limits.failures_max;
  if (state.disabled) {
    warn(key, state.gone ? "wants no more (HTTP 410): it rests until it is set again"
                         : "failed " + std::to_string(state.failures) +
                               " times in a row and rests: " + state.detail);
    return;
  }
  if (state.failures == 1) {
    warn(key, "fails and is tried again: " + state.detail);
  }
  const WebhookLimits& limits = options_.limits;
  const int64_t doubled = limits.retry_first.us << std::min<uint64_t>(state.failures - 1, 20);
  const base::Duration pause{std::min(doubled, limits.retry_max.us)};
  // Random, so that the retries for many agents of one receiver do not come all at once.
  const base::Duration spread{
      static_cast<int64_t>(lib::random_u64() % static_cast<uint64_t>(pause.us / 4 + 1))};
  schedule(key, state, now + std::max(result.retry_after.value_or(pause), pause) + spread);
}

void Webhooks::on_success(const Key& key, State& state, Time begun) {
  ++sent_;
  if (state.failures > 0) {
    warn(key, "works again");
  }
  state.begun = begun;
  state.succeeded = state.attempted;
  state.failures = 0;
  const bool more = std::exchange(state.more, false);
  core::AgentRef ref = core::none;
  const core::Agent* const agent = find(key, ref);
  if (agent == nullptr || !is_asleep(key)) {
    return;
  }
  if (more) {
    wake(key.first, ref);
  }
  // The receiver may have failed after it answered. The mail still waits, so it gets a reminder.
  if (state.phase == State::Phase::idle && agent->seen <= begun) {
    const int64_t doubled = options_.limits.again_after.us << std::min(state.reminders++, 20u);
    const int64_t longest = std::max(options_.limits.remind_max.us, options_.limits.again_after.us);
    schedule(key, state, state.attempted + base::Duration{std::min(doubled, longest)});
  }
}

void Webhooks::warn(const Key& key, const std::string& what) const {
  if (options_.warn) {
    options_.warn("the webhook of " + key.second + " " + what);
  }
}

// An event of CloudEvents 1.0 in structured mode. It says nothing of the messages: whoever gets it
// reads the inbox with a token.
std::string Webhooks::event_of(const Key& key, const core::Agent& agent, const State& state) const {
  std::string text;
  lib::JsonWriter out(text);
  const std::string& workspace = machine_.find(key.first)->name();
  out.object().key("specversion").text("1.0").key("id").text(state.id);
  out.key("source").text("urn:parley:workspace:" +
                         std::to_string(static_cast<uint32_t>(key.first)));
  out.key("type").text("parley.mail.waiting").key("subject").text(agent.name);
  out.key("time").time(environment_.now()).key("datacontenttype").text("application/json");
  out.key("data").object().key("agent").text(agent.name).key("workspace").text(workspace);
  out.key("unsettled").number(agent.inbox.unsettled).end_object().end_object();
  return text;
}

void Webhooks::render(core::WorkspaceId workspace, const core::Agent& agent, bool for_admin,
                      lib::JsonWriter& out) const {
  const auto at = states_.find({workspace, agent.name});
  const State state = at == states_.end() ? State{} : at->second;
  out.object().key("url").text(agent.webhook.url);
  out.key("state").text(state.disabled ? "disabled" : state.failures > 0 ? "failing" : "ready");
  out.key("failures").number(state.failures);
  if (state.succeeded.us != 0) {
    out.key("last_success").time(state.succeeded);
  }
  if (state.attempted.us != 0) {
    out.key("last_attempt").time(state.attempted);
  }
  if (!state.error.empty()) {
    out.key("last_error").text(for_admin ? state.detail : state.error);
  }
  out.key("secret_since").time(agent.webhook.rotated).end_object();
}

uint64_t Webhooks::disabled() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(states_, [](const auto& each) { return each.second.disabled; }));
}

}  // namespace parley::edge
