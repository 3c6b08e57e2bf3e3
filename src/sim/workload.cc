// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "sim/rule_choices.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

using core::Command;

constexpr size_t agents = 9;  // the last ones are registered late or never
constexpr std::array<std::string_view, 7> topics = {"build.done",
                                                    "build.failed",
                                                    "topic:news",
                                                    "ops.alert",
                                                    "agent.availability_changed",
                                                    "system.policy_updated",
                                                    "task.status_changed"};
constexpr std::array<std::string_view, 6> patterns = {"build.*", "build.>", "*.alert",
                                                      ">",       "*",       "build.>.x"};

template <class Deque, class Item>
void remember(Deque& items, Item item, size_t max) {
  items.push_back(std::move(item));
  if (items.size() > max) {
    items.pop_front();
  }
}

std::string agent_name(uint64_t n) { return text("a{}", n); }

core::Dialect dialect_of(uint64_t n) { return static_cast<core::Dialect>(n % 5); }

}  // namespace

std::string_view Workload::keep(std::string text) { return texts_.emplace_back(std::move(text)); }

core::MessageId Workload::new_id() {
  core::MessageId id;
  const uint64_t n = next_id_++;
  for (size_t at = 0; at < 8; ++at) {
    id.bytes[15 - at] = static_cast<uint8_t>(n >> (8 * at));
  }
  id.bytes[0] = 7;
  return id;
}

std::string Workload::some_agent() {
  return agent_name(setting_.random.below(setting_.random.chance(800) ? agents - 3 : agents));
}

// Mostly one that was handed out not long ago.
const Workload::Held& Workload::some_held() {
  const uint64_t one = setting_.random.below(held_.size());
  const uint64_t other = setting_.random.below(held_.size());
  return held_[std::max(one, other)];
}

core::WorkspaceId Workload::some_workspace_id() {
  return setting_.random.chance(850)
             ? core::workspace_first
             : static_cast<core::WorkspaceId>(setting_.random.below(workspaces_));
}

std::vector<Ask> Workload::opening() {
  texts_.clear();
  std::vector<Ask> asks;
  Ask rules;
  rules.command = some_rules(rules);
  asks.push_back(std::move(rules));
  for (uint64_t n = 0; n + 3 < agents; ++n) {
    core::Register command;
    command.name = keep(agent_name(n));
    command.dialect = dialect_of(n);
    asks.push_back(Ask{core::workspace_first, {}, command});
  }
  return asks;
}

Ask Workload::next(uint64_t origin) {
  texts_.clear();
  Ask ask;
  ask.workspace = some_workspace_id();
  ask.actor = some_agent();
  ask.command = some_command(origin, ask);
  if (setting_.random.chance(15)) {
    ask.actor = "ghost";
  }
  return ask;
}

Command Workload::some_command(uint64_t origin, Ask& ask) {
  Random& random = setting_.random;
  if (random.chance(90)) {
    return random.chance(550) ? some_session(ask) : some_lock(ask);
  }
  if (random.chance(25)) {
    return some_move(ask);
  }
  const uint64_t roll = random.below(1'000);
  if (roll < 300) {
    return some_send(ask);
  }
  if (roll < 360) {
    return send_again(ask);
  }
  if (roll < 640) {
    return some_settling(ask);
  }
  if (roll < 740) {
    constexpr std::array<uint32_t, 6> counts = {1, 1, 2, 3, 8, 0};
    return core::Take{random.pick(counts)};
  }
  if (roll < 810) {
    return some_stream(origin, ask);
  }
  if (roll < 860) {
    std::string topic(random.chance(250) ? random.pick(patterns) : random.pick(topics));
    topic = topic.starts_with("topic:") ? topic.substr(6) : topic;
    // Sometimes another's: refused but for who owns the topics.
    const std::string_view agent =
        random.chance(200) ? keep(agent_name(random.below(agents))) : std::string_view{};
    if (random.chance(300)) {
      return core::Unsubscribe{keep(std::move(topic)), agent};
    }
    return core::Subscribe{keep(random.chance(30) ? std::string() : std::move(topic)), agent};
  }
  if (roll < 900) {
    return some_register(ask);
  }
  if (roll < 920) {
    return some_rules(ask);
  }
  if (roll < 955) {
    return some_resolve(ask);
  }
  if (roll < 960) {
    return core::Heartbeat{keep(random.chance(500)   ? std::string("busy")
                                : random.chance(600) ? std::string("idle")
                                : random.chance(500) ? std::string("offline")
                                                     : std::string(5'000, 's')),
                           {},
                           random.chance(300) ? random.below(30) : 0,
                           random.chance(300)};
  }
  if (random.chance(250)) {
    return core::CloseThread{keep(text("t{}", random.below(8)))};
  }
  if (roll < 963 && !held_.empty()) {
    const Held& held = some_held();
    ask.workspace = held.workspace;
    ask.actor = random.chance(800) ? held.sender : some_agent();
    return core::StopWaiting{held.message};
  }
  if (roll < 969) {
    return core::Malformed{keep(std::string(random.chance(900) ? 10 : 5'000, 'm')), "wrong"};
  }
  return roll < 975 ? some_workspace(ask) : nonsense(origin, ask);
}

std::vector<std::string> Workload::some_receivers() {
  Random& random = setting_.random;
  const uint64_t roll = random.below(100);
  if (roll < 60) {
    // Few receivers get most of it, so that queues form.
    return {agent_name(random.chance(600) ? random.below(3) : random.below(agents))};
  }
  if (roll < 75) {
    std::vector<std::string> names;
    for (uint64_t left = 2 + random.below(4); left > 0; --left) {
      names.push_back(random.chance(100) ? text("nobody{}", random.below(3)) : some_agent());
    }
    return names;
  }
  if (roll < 90) {
    return {std::string(random.pick(topics))};
  }
  return {roll < 96 ? std::string("*") : text("nobody{}", random.below(3))};
}

Command Workload::some_send(Ask& ask) {
  Random& random = setting_.random;
  Sent sent;
  sent.workspace = ask.workspace;
  sent.sender = ask.actor = agent_name(random.chance(600) ? random.below(3) : random.below(agents));
  sent.id = new_id();
  if (random.chance(200)) {
    sent.key.bytes[3] = static_cast<uint8_t>(1 + random.below(20));
  }
  sent.body =
      random.chance(20) ? std::string(2'500, 'x') : text("body {}", random.below(1'000'000));
  sent.receivers = some_receivers();
  core::Send send;
  core::Envelope& e = send.envelope;
  constexpr std::array<int64_t, 5> ttls_ms = {0, 0, 40, 700, 30'000};
  e.ttl = base::milliseconds(random.pick(ttls_ms));
  e.priority = static_cast<core::Priority>(random.below(core::priority_count));
  e.dialect = sent.dialect = dialect_of(random.below(5));
  if (e.dialect == core::Dialect::collab) {
    e.native_id = keep(text("n{}", random.below(40)));
  }
  e.durability = random.chance(250) ? core::Durability::memory : core::Durability::disk;
  e.kind = random.chance(300) ? core::Kind::request : core::Kind::notification;
  if (random.chance(700)) {
    sent.thread = text("t{}", random.below(8));
  }
  if (random.chance(200)) {
    e.correlation = keep(text("c{}", random.below(3)));
  }
  send.tokens = random.chance(100) ? random.below(30) : 0;
  if (random.chance(250)) {
    sent.session = paused_.empty() || random.chance(400) ? text("s{}", random.below(3)) : paused_;
    sent.sender = ask.actor = agent_name(random.below(4));
    sent.receivers = {random.chance(150) ? std::string("*") : agent_name(random.below(4))};
  }
  some_pattern(send, sent);
  if (random.chance(400) && !held_.empty()) {
    const bool on_stage = !staged_.empty() && random.chance(250);
    const bool on_chain = !on_stage && !linked_.empty() && random.chance(400);
    const Held question = on_stage ? staged_.back() : on_chain ? linked_.back() : some_held();
    if (on_stage) {
      staged_.pop_back();
    } else if (on_chain) {
      linked_.pop_back();
    }
    send.gathering.reset();
    send.later_stages.clear();
    sent.body.resize(std::min<size_t>(sent.body.size(), 100));  // which any next stage takes
    e.kind = core::Kind::response;
    e.status = on_stage && random.chance(850) ? core::Status::success
                                              : static_cast<core::Status>(random.below(5));
    e.in_reply_to = random.chance(50) ? new_id() : question.id;
    if (random.chance(300)) {  // where it was asked
      sent.thread = threads_[question.message];
    }
    sent.sender = ask.actor = question.receiver;
    sent.workspace = ask.workspace = question.workspace;
    if (random.chance(900)) {  // else another gets what it did not ask for
      sent.receivers = {random.chance(900) ? question.asker : question.sender};
    }
  } else if (core::asks(e.kind) && random.chance(250) && !held_.empty()) {
    work_on(some_held(), ask, send, sent);
  } else if (e.kind == core::Kind::notification && random.chance(250) && !held_.empty()) {
    const Held& heard = some_held();  // and so on, in the same conversation
    sent.sender = ask.actor = heard.receiver;
    sent.workspace = ask.workspace = heard.workspace;
    sent.receivers = {heard.sender};
    sent.thread = threads_[heard.message];
  }
  some_absence(send, sent);
  // The same task again goes to the same agent or to another; its specialist tells of it.
  if (random.chance(350)) {
    e.task = keep(text("k{}", random.below(4)));
  }
  e.id = sent.id;
  e.thread = keep(sent.thread);
  e.session = keep(sent.session);
  e.idempotency_key = sent.key;
  e.sender = keep(sent.sender);
  e.body = keep(sent.body);
  for (const std::string& receiver : sent.receivers) {
    e.receivers.push_back(keep(receiver));
  }
  if (e.kind != core::Kind::response && sent.body.size() < 100) {
    remember(sent_, std::move(sent), 24);
  }
  return send;
}

// A request on account of one that the sender got: asked back, passed on, or sent on for another.
void Workload::work_on(const Held& question, Ask& ask, core::Send& send, Sent& sent) {
  Random& random = setting_.random;
  send.gathering.reset();
  send.later_stages.clear();
  (random.chance(500) ? send.envelope.in_reply_to : send.cause) = question.id;
  sent.sender = ask.actor = question.receiver;
  sent.workspace = ask.workspace = question.workspace;
  if (random.chance(400)) {
    sent.receivers = {question.asker};
    return;
  }
  sent.receivers = {agent_name(random.below(4))};
  if (random.chance(800)) {
    send.envelope.reply_to = keep(random.chance(900) ? question.asker : agent_name(0));
  }
}

// What is to be done where the receiver is away, and how long the sender waits. One by itself that
// fails at once, as in collab it does not, is told so and stored: the scenarios have that.
void Workload::some_absence(core::Send& send, const Sent& sent) {
  Random& random = setting_.random;
  const bool may_fail = send.envelope.dialect == core::Dialect::collab ||
                        std::set(sent.receivers.begin(), sent.receivers.end()).size() > 1;
  if (random.chance(400)) {
    send.on_unavailable = static_cast<core::OnUnavailable>(random.below(may_fail ? 4 : 3));
  }
  if (random.chance(300)) {
    send.wait = base::milliseconds(random.pick(std::array<int64_t, 4>{0, 50, 2'000, 20'000}));
  }
  if (random.chance(200)) {
    send.envelope.action = "write";
  }
}

void Workload::some_pattern(core::Send& send, Sent& sent) {
  Random& random = setting_.random;
  core::Envelope& e = send.envelope;
  constexpr std::array<int64_t, 4> timeouts_ms = {0, 80, 900, 9'000};
  e.requires_ack = random.chance(200);
  if (random.chance(500)) {
    return;
  }
  e.response_timeout = base::milliseconds(random.pick(timeouts_ms));
  e.on_timeout = static_cast<core::OnTimeout>(random.below(3));
  const uint64_t roll = random.below(100);
  if (roll < 40) {
    e.kind = random.chance(700) ? core::Kind::request : core::Kind::query;
  } else if (roll < 50) {
    e.kind = core::Kind::broadcast;
    e.requires_ack = true;
  } else if (roll < 75) {
    e.kind = core::Kind::request;
    sent.receivers = {agent_name(0), agent_name(1), agent_name(2)};
    send.gathering = core::Gathering{static_cast<core::Strategy>(random.below(4)),
                                     static_cast<uint32_t>(1 + random.below(3)),
                                     base::milliseconds(random.pick(timeouts_ms)),
                                     static_cast<core::OnPartial>(random.below(3))};
  } else {
    e.kind = core::Kind::request;
    sent.receivers = {agent_name(random.below(3))};
    send.later_stages = {keep(agent_name(random.below(3))), keep(agent_name(random.below(4)))};
  }
}

// As a sender does that got no answer; sometimes with its id for something else.
Command Workload::send_again(Ask& ask) {
  Random& random = setting_.random;
  if (sent_.empty()) {
    return some_send(ask);
  }
  const Sent& sent = sent_[random.below(sent_.size())];
  ask.actor = sent.sender;
  ask.workspace = sent.workspace;
  core::Send send;
  core::Envelope& e = send.envelope;
  e.id = random.chance(150) ? new_id() : sent.id;
  e.idempotency_key = sent.key;
  e.dialect = sent.dialect;
  e.thread = keep(sent.thread);
  e.session = keep(sent.session);
  e.sender = keep(sent.sender);
  e.body = keep(random.chance(200) ? "something else" : sent.body);
  for (const std::string& receiver : sent.receivers) {
    e.receivers.push_back(keep(receiver));
  }
  if (random.chance(400)) {  // with the same key it is the same, and waited for from now on
    e.kind = core::Kind::request;
    send.wait = base::seconds(2);
  }
  return send;
}

core::Target Workload::some_target(const Held& held) {
  if (setting_.random.chance(20)) {
    return core::Target{core::Seq{setting_.random.below(2'000)}, {}};
  }
  return setting_.random.chance(500) ? core::Target{held.message, {}} : core::Target{{}, held.id};
}

Command Workload::some_register(Ask& ask) {
  Random& random = setting_.random;
  const uint64_t n = random.below(agents);
  if (random.chance(150)) {
    ask.actor = random.chance(800) ? std::string(core::broker_name) : some_agent();
    return core::ResetLimits{keep(agent_name(n))};
  }
  ask.actor = random.chance(700)   ? std::string(core::broker_name)
              : random.chance(500) ? agent_name(n)
                                   : "admin";
  if (random.chance(250)) {
    return core::Unregister{keep(agent_name(n))};
  }
  core::Register command;
  command.name = keep(agent_name(n));
  command.dialect = random.chance(700) ? dialect_of(n) : dialect_of(random.below(5));
  constexpr std::array<core::PrincipalKind, 5> kinds = {
      core::PrincipalKind::agent, core::PrincipalKind::agent, core::PrincipalKind::agent,
      core::PrincipalKind::human, core::PrincipalKind::admin};
  command.kind = random.pick(kinds);
  if (command.kind == core::PrincipalKind::agent && command.dialect == core::Dialect::inbox) {
    constexpr std::array<std::string_view, 3> roles = {"director", "specialist", ""};
    command.role = random.pick(roles);
  }
  if (random.chance(300)) {
    command.token[0] = static_cast<uint8_t>(1 + random.below(12));
  }
  if (random.chance(200)) {
    command.rights.push_back(keep(random.chance(800) ? "maintainer" : "owner"));
  }
  if (next_id_ % 3 == 0) {
    command.webhook = keep(text("https://h{}.example/", next_id_ % 2));
    command.webhook_secret[0] = static_cast<uint8_t>(next_id_ / 3 % 3);
  }
  for (uint64_t left = random.chance(250) ? 1 + random.below(3) : 0; left > 0; --left) {
    command.subscriptions.push_back(random.chance(250) ? random.pick(patterns)
                                                       : random.pick(topics));
  }
  for (uint64_t left = random.below(4); left > 0; --left) {
    command.capabilities.push_back(keep(random.chance(700) ? "write" : "read"));
  }
  return command;
}

Command Workload::some_rules(Ask& ask) {
  Random& random = setting_.random;
  ask.actor = random.chance(950) ? std::string(core::broker_name) : some_agent();
  core::SetRules command;
  const bool first = texts_.empty() && next_id_ == 1;
  for (uint64_t left = first ? 12 : 1 + random.below(4); left > 0; --left) {
    const RuleChoice& choice = random.pick(rule_choices);
    command.values.emplace_back(choice.name, random.pick(choice.values));
  }
  if (first && random.chance(400)) {  // the care for dead letters takes long otherwise
    command.values.emplace_back("dead_letter_tries_max", random.chance(500) ? "0" : "1");
    command.values.emplace_back("dead_letter_pass", "100ms");
    command.values.emplace_back("attempts_max", "1");
  }
  if (!first && random.chance(60)) {
    command.values.emplace_back("queue_maximum", "3");
  }
  if (!first && random.chance(60)) {
    command.values.emplace_back("attempts_max", "a lot");
  }
  return command;
}

Command Workload::some_resolve(Ask& ask) {
  Random& random = setting_.random;
  if (random.chance(250)) {
    ask.actor = random.chance(850) ? std::string(core::broker_name) : some_agent();
    return core::ResolveEscalation{1 + random.below(20), keep(random.chance(900) ? "seen" : "")};
  }
  core::ResolveDeadLetter command;
  command.id = random.below(40);
  if (!letters_.empty() && random.chance(900)) {
    const auto& [workspace, id] = random.pick(letters_);
    ask.workspace = workspace;
    command.id = id;
  }
  ask.actor = random.chance(850) ? std::string(core::broker_name) : some_agent();
  constexpr std::array<core::Resolution, 8> resolutions = {
      core::Resolution::retried,   core::Resolution::retried, core::Resolution::retried,
      core::Resolution::retried,   core::Resolution::retried, core::Resolution::discarded,
      core::Resolution::escalated, core::Resolution::pending};
  command.resolution = random.pick(resolutions);
  return command;
}

Command Workload::some_workspace(Ask& ask) {
  Random& random = setting_.random;
  ask.actor = random.chance(800) ? std::string(core::broker_name) : some_agent();
  ask.workspace = core::workspace_first;
  core::AddWorkspace command;
  command.name = keep(text("space{}", random.below(3)));
  command.admin_token[1] = static_cast<uint8_t>(1 + random.below(100));
  return command;
}

// Few sessions and few people, so that they meet.
Command Workload::some_session(Ask& ask) {
  Random& random = setting_.random;
  const std::string_view id = keep(text("s{}", random.below(3)));
  ask.workspace = core::workspace_first;
  ask.actor = agent_name(random.below(random.chance(900) ? 4 : agents));
  const auto waits = std::ranges::find_if(
      sent_, [this](const Sent& sent) { return !paused_.empty() && sent.session == paused_; });
  if (waits != sent_.end() && random.chance(200)) {
    ask.actor = waits->receivers.front();
    return core::Read{core::Target{{}, waits->id}};
  }
  if (random.chance(250)) {
    core::StartSession start;
    start.id = random.chance(970) ? id : keep(std::string(5'000, 's'));
    for (uint64_t n = 0; n < 4; ++n) {
      if (random.chance(850)) {
        start.participants.push_back(keep(agent_name(random.chance(970) ? n : agents - 1)));
      }
    }
    start.task = "{}";
    return start;
  }
  core::ChangeSession change;
  change.id = id;
  constexpr std::array<core::SessionAct, 14> acts = {
      core::SessionAct::add_decision,    core::SessionAct::add_artifact,
      core::SessionAct::add_finding,     core::SessionAct::add_decision,
      core::SessionAct::add_participant, core::SessionAct::remove_participant,
      core::SessionAct::pause,           core::SessionAct::pause,
      core::SessionAct::pause,           core::SessionAct::pause,
      core::SessionAct::resume,          core::SessionAct::add_finding,
      core::SessionAct::complete,        core::SessionAct::fail};
  change.act = random.pick(acts);
  change.version = random.chance(500) ? 0 : 1 + random.below(8);
  change.subject = keep(agent_name(random.below(5)));
  change.body = keep(text("body {}", random.below(1'000)));
  if (!core::is_entry(change.act) && random.chance(300)) {
    ask.actor = std::string(core::broker_name);
  }
  return change;
}

Command Workload::some_lock(Ask& ask) {
  Random& random = setting_.random;
  ask.workspace = core::workspace_first;
  ask.actor = agent_name(random.below(random.chance(900) ? 4 : agents));
  const std::string_view name = keep(text("l{}", random.below(4)));
  if (random.chance(250)) {
    return core::ReleaseLock{name, core::Seq{random.chance(900) ? 0 : random.below(500)}};
  }
  constexpr std::array<int64_t, 4> leases_ms = {0, 0, 500, 20'000};
  constexpr std::array<int64_t, 4> waits_ms = {0, 0, 200, 5'000};
  core::TakeLock take{name, base::milliseconds(random.pick(leases_ms)),
                      base::milliseconds(random.pick(waits_ms))};
  if (next_id_ % 5 == 0) {
    take.fence = core::Seq{};
  } else if (next_id_ % 5 == 1 && !locked_.name.empty()) {
    take.name = keep(locked_.name);
    ask.actor = locked_.agent;
    take.fence = locked_.fence;
  }
  return take;
}

// By who gave it, or the broker, who may move all.
Command Workload::some_move(Ask& ask) {
  Random& random = setting_.random;
  ask.workspace = core::workspace_first;
  ask.actor = random.chance(600) ? std::string(core::broker_name)
                                 : agent_name(random.below(random.chance(900) ? 3 : agents));
  core::ReassignTask move;
  move.task = keep(text("k{}", random.below(4)));
  move.to = keep(some_agent());
  move.director = random.chance(500) ? keep(agent_name(random.below(3))) : std::string_view{};
  return move;
}

// Values that no well-behaved edge lets through; each must have an outcome.
Command Workload::nonsense(uint64_t origin, Ask& ask) {
  Random& random = setting_.random;
  const core::Duration below_zero{-1 - static_cast<int64_t>(random.below(1'000))};
  const core::Duration endless{std::numeric_limits<int64_t>::max()};
  const core::Target target{held_.empty() ? core::Seq{1} : held_.back().message, {}};
  ask.actor =
      held_.empty() || random.chance(200) ? std::string(core::broker_name) : held_.back().receiver;
  core::Register bad;
  switch (random.below(12)) {
    case 0:
      return core::Nack{target, below_zero, {}};
    case 1:
      return core::Extend{target, below_zero};
    case 2:
      return core::Extend{target, endless};
    case 3:
      return core::Take{std::numeric_limits<uint32_t>::max()};
    case 4:
      return core::OpenStream{.stream = core::stream_none};
    case 5:
      return core::OpenStream{.stream = {origin, next_stream_++},
                              .window = std::numeric_limits<uint32_t>::max()};
    case 6:
      return core::Ack{.stream = {origin, 1}};
    case 7:
      ask.workspace = static_cast<core::WorkspaceId>(4'000'000'000);
      return core::Take{1};
    case 8:
      bad.name = keep(random.chance(500) ? "*" : std::string(5'000, 'n'));
      return bad;
    case 9:
      ask.actor = "ghost";
      return core::StartNode{keep(std::string(3, '\0'))};
    case 10: {
      core::Send send;
      send.envelope.sender = keep(ask.actor);
      send.envelope.id = random.chance(500) ? core::MessageId{} : new_id();
      send.envelope.ttl = random.chance(500) ? below_zero : endless;
      send.envelope.created = core::Time{std::numeric_limits<int64_t>::min()};
      send.envelope.receivers = {"", keep("topic:"), "*"};
      return send;
    }
    default: {
      core::Send send;
      send.envelope.sender = keep(ask.actor);
      send.envelope.id = new_id();
      send.envelope.receivers.assign(1 + random.below(3), keep(some_agent()));
      send.envelope.ttl = below_zero;
      send.envelope.confidence_ppm = std::numeric_limits<int32_t>::min();
      return send;
    }
  }
}

void Workload::saw(const core::Entry& entry, const core::Outcome& outcome,
                   const std::vector<Fact>& facts) {
  if (std::holds_alternative<core::AddWorkspace>(entry.command) && outcome) {
    workspaces_ = std::max(workspaces_, static_cast<uint32_t>(outcome->workspace) + 1);
  }
  if (const auto* take = std::get_if<core::TakeLock>(&entry.command); take && outcome) {
    locked_ = {std::string(take->name), std::string(entry.actor), outcome->message};
  }
  if (const auto* change = std::get_if<core::ChangeSession>(&entry.command); change && outcome) {
    if (change->act == core::SessionAct::pause) {
      paused_ = change->id;
    } else if (!core::is_entry(change->act) && paused_ == change->id) {
      paused_.clear();
    }
  }
  if (const auto* send = std::get_if<core::Send>(&entry.command)) {
    ids_[entry.seq] = send->envelope.id;
    senders_[entry.seq] = send->envelope.sender;
    const bool names_other = !send->envelope.reply_to.empty();
    askers_[entry.seq] = names_other ? send->envelope.reply_to : send->envelope.sender;
    threads_[entry.seq] = send->envelope.thread;
    const bool asks = send->envelope.kind == core::Kind::request;
    if (asks && (!send->later_stages.empty() || send->outbox_item != 0)) {
      stages_.insert(entry.seq);
    }
    if (names_other && core::asks(send->envelope.kind)) {
      links_.insert(entry.seq);
    }
  }
  for (const Fact& fact : facts) {
    if (fact.kind == Fact::Kind::deliver) {
      const Held held{fact.workspace, fact.receiver, fact.message,           ids_[fact.message],
                      fact.stream,    fact.mark,     senders_[fact.message], askers_[fact.message]};
      remember(held_, held, 24);
      if (stages_.contains(fact.message)) {
        remember(staged_, held, 8);
      } else if (links_.contains(fact.message)) {
        remember(linked_, held, 8);
      }
    } else if (fact.kind == Fact::Kind::dead_lettered) {
      remember(letters_, std::pair(fact.workspace, fact.letter), 30);
    }
  }
}

}  // namespace parley::sim
