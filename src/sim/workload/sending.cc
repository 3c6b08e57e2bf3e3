// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include <algorithm>
#include <array>
#include <set>

#include "sim/workload/names.h"

namespace parley::sim {

using core::Command;

Command Workload::some_send(Ask& ask) {
  Random& random = setting_.random;
  Memory::Sent sent;
  core::Send send;
  some_message(ask, send, sent);
  some_pattern(send, sent);
  some_occasion(ask, send, sent);
  some_absence(send, sent);
  core::Envelope& e = send.envelope;
  if (send.later_stages.empty() || random.chance(200)) {  // Few pipelines get to their end.
    some_wish(e);
  }
  if (!memory_.tried_held.empty() && random.chance(100)) {
    ask_for_time(ask, send, sent);
  }
  if (!memory_.held.empty() && random.chance(150)) {
    some_dispute(ask, send, sent);
  }
  // The same task again goes to the same agent or to another. Its specialist reports on it.
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
    remember(memory_.sent, std::move(sent), 24);
  }
  return send;
}

// A message of its own: who sends what to whom.
void Workload::some_message(Ask& ask, core::Send& send, Memory::Sent& sent) {
  Random& random = setting_.random;
  sent.workspace = ask.workspace;
  sent.sender = ask.actor = agent_name(random.chance(600) ? random.below(3) : random.below(agents));
  sent.id = new_id();
  if (random.chance(200)) {
    sent.key.bytes[3] = static_cast<uint8_t>(1 + random.below(20));
  }
  sent.body =
      random.chance(20) ? std::string(2'500, 'x') : text("body {}", random.below(1'000'000));
  sent.receivers = some_receivers();
  core::Envelope& e = send.envelope;
  constexpr std::array<int64_t, 5> ttls_ms = {0, 0, 40, 700, 30'000};
  e.ttl = base::milliseconds(random.pick(ttls_ms));
  e.priority = static_cast<core::Priority>(random.below(core::priority_count));
  e.dialect = sent.dialect = dialect_of(random.below(dialects));
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
    sent.session = memory_.paused_session.empty() || random.chance(400)
                       ? text("s{}", random.below(3))
                       : memory_.paused_session;
    sent.sender = ask.actor = agent_name(random.below(4));
    sent.receivers = {random.chance(150) ? std::string("*") : agent_name(random.below(4))};
  }
}

// Why it is sent: it may answer a message, come of a request or go on with a conversation.
void Workload::some_occasion(Ask& ask, core::Send& send, Memory::Sent& sent) {
  Random& random = setting_.random;
  const core::Envelope& e = send.envelope;
  if (random.chance(400) && !memory_.held.empty()) {
    answer(ask, send, sent);
  } else if (core::asks(e.kind) && random.chance(250) && !memory_.held.empty()) {
    work_on(some_held(), ask, send, sent);
  } else if (e.kind == core::Kind::notification && random.chance(250) && !memory_.held.empty()) {
    const Memory::Held& heard = some_held();  // And so on, in the same conversation.
    sent.sender = ask.actor = heard.receiver;
    sent.workspace = ask.workspace = heard.workspace;
    sent.receivers = {heard.sender};
    sent.thread = memory_.threads[heard.message];
  }
}

void Workload::answer(Ask& ask, core::Send& send, Memory::Sent& sent) {
  Random& random = setting_.random;
  core::Envelope& e = send.envelope;
  const bool on_stage = !memory_.stages_held.empty() && random.chance(450);
  const bool on_chain = !on_stage && !memory_.passed_on_held.empty() && random.chance(400);
  const bool on_try = !on_stage && !on_chain && !memory_.tried_held.empty() && random.chance(400);
  const Memory::Held question = on_stage   ? memory_.stages_held.back()
                                : on_chain ? memory_.passed_on_held.back()
                                : on_try   ? memory_.tried_held.back()
                                           : some_held();
  if (on_stage) {
    memory_.stages_held.pop_back();
  } else if (on_chain) {
    memory_.passed_on_held.pop_back();
  } else if (on_try) {
    memory_.tried_held.pop_back();
  }
  send.gathering.reset();
  send.later_stages.clear();
  sent.body.resize(std::min<size_t>(sent.body.size(), 100));  // Any next stage takes that.
  e.kind = core::Kind::response;
  e.status = on_stage && random.chance(850) ? core::Status::success
             : on_try && random.chance(800) ? core::Status::error
                                            : static_cast<core::Status>(random.below(5));
  e.is_recoverable = random.chance(800);
  e.in_reply_to = random.chance(50) ? new_id() : question.id;
  if (random.chance(300)) {  // Where it was asked.
    sent.thread = memory_.threads[question.message];
  }
  sent.sender = ask.actor = question.receiver;
  sent.workspace = ask.workspace = question.workspace;
  if (random.chance(900)) {  // Else another agent gets what it did not ask for.
    sent.receivers = {random.chance(900) ? question.asker : question.sender};
  }
}

void Workload::some_pattern(core::Send& send, Memory::Sent& sent) {
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

// A request on account of one that the sender got: it asks back, passes it on, or asks for another.
void Workload::work_on(const Memory::Held& question, Ask& ask, core::Send& send,
                       Memory::Sent& sent) {
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

// Says what is to be done where the receiver is away, and how long the sender waits. One receiver
// that fails at once outside of collab is left to the scenarios: the message is stored all the
// same.
void Workload::some_absence(core::Send& send, const Memory::Sent& sent) {
  Random& random = setting_.random;
  const bool may_fail = send.envelope.dialect == core::Dialect::collab ||
                        std::set(sent.receivers.begin(), sent.receivers.end()).size() > 1;
  if (random.chance(500)) {
    send.on_unavailable = random.chance(400)
                              ? core::OnUnavailable::redirect
                              : static_cast<core::OnUnavailable>(random.below(may_fail ? 4 : 3));
  }
  if (random.chance(300)) {
    send.wait = base::milliseconds(random.pick(std::array<int64_t, 4>{0, 50, 2'000, 20'000}));
  }
  if (random.chance(200)) {
    send.envelope.action = "write";
  }
}

// What people have to approve first.
void Workload::some_wish(core::Envelope& e) {
  Random& random = setting_.random;
  constexpr std::array<int32_t, 4> confidences = {-1, 300'000, 600'000, 900'000};
  const bool is_answer = e.kind == core::Kind::response;
  if (is_answer || (core::asks(e.kind) && random.chance(250))) {
    e.confidence_ppm = random.pick(confidences);
  }
  if (core::asks(e.kind) && random.chance(100)) {
    e.needs_approval = core::NeedsApproval::answer;
  } else if (random.chance(is_answer ? 100 : 40)) {
    e.needs_approval = core::NeedsApproval::message;
  }
}

// Who has a task asks for more time, mostly of who gave it.
void Workload::ask_for_time(Ask& ask, core::Send& send, Memory::Sent& sent) {
  Random& random = setting_.random;
  const Memory::Held task = random.pick(memory_.tried_held);
  core::Envelope& e = send.envelope;
  send.gathering.reset();
  send.later_stages.clear();
  e.kind = core::Kind::notification;
  e.type = "timeout_extension_request";
  e.status = core::Status::unset;
  e.in_reply_to = random.chance(50) ? new_id() : task.id;
  e.needs_approval = core::NeedsApproval::nothing;
  constexpr std::array<int64_t, 6> times_ms = {0, 300, 900, 5'000, 1'800'000, 10'800'000};
  e.response_timeout = base::milliseconds(random.pick(times_ms));
  sent.session.clear();
  sent.sender = ask.actor = random.chance(950) ? task.receiver : some_agent();
  sent.workspace = ask.workspace = task.workspace;
  sent.receivers = {task.asker};
}

// Disputes what it got, answers such a dispute, acknowledges, or asks people.
void Workload::some_dispute(Ask& ask, core::Send& send, Memory::Sent& sent) {
  Random& random = setting_.random;
  core::Envelope& e = send.envelope;
  const bool on_dispute = !memory_.disputes_held.empty() && random.chance(750);
  const Memory::Held heard = on_dispute ? memory_.disputes_held.back() : some_held();
  if (on_dispute && random.chance(700)) {
    memory_.disputes_held.pop_back();
  }
  send.gathering.reset();
  send.later_stages.clear();
  e.kind = random.chance(on_dispute ? 250 : 600) ? core::Kind::challenge
           : random.chance(on_dispute ? 700 : 200)
               ? core::Kind::response
               : random.pick(std::array{core::Kind::acknowledgement, core::Kind::escalation});
  e.status = core::Status::unset;
  send.on_unavailable = core::OnUnavailable::by_rules;
  e.stance = random.chance(400)   ? core::Stance::unset
             : random.chance(500) ? core::Stance::defend
             : random.chance(700) ? core::Stance::revise
                                  : core::Stance::escalate;
  e.severity = static_cast<core::Severity>(random.below(4));
  e.in_reply_to = random.chance(50) ? core::MessageId{} : heard.id;
  e.dialect = sent.dialect = random.chance(800) ? core::Dialect::squad : e.dialect;
  e.blocked_since = random.chance(100) ? base::Time{1} : base::Time{};
  sent.session.clear();
  if (random.chance(700)) {
    sent.thread = memory_.threads[heard.message];
  }
  sent.sender = ask.actor = heard.receiver;
  sent.workspace = ask.workspace = heard.workspace;
  sent.receivers = {e.kind == core::Kind::escalation && !moderator_.empty() && random.chance(500)
                        ? moderator_
                        : heard.sender};
}

// As a sender does that got no answer. Sometimes it uses its id for something else.
Command Workload::send_again(Ask& ask) {
  Random& random = setting_.random;
  if (memory_.sent.empty()) {
    return some_send(ask);
  }
  const Memory::Sent& sent = memory_.sent[random.below(memory_.sent.size())];
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
  if (random.chance(400)) {  // With the same key it is the same, and is waited for from now on.
    e.kind = core::Kind::request;
    send.wait = base::seconds(2);
  }
  return send;
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

}  // namespace parley::sim
