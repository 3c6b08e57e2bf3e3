// SPDX-License-Identifier: Apache-2.0
// What an agent was asked for, and how long that has waited.
#include "core/handoffs/handoff_acts.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "core/delivery/routing.h"
#include "core/handoffs/unfinished.h"
#include "core/humans/escalation_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"

namespace parley::core {

namespace {

using base::Code;

constexpr size_t subject_bytes_max = 256;
// Of the handoffs of one thread so many are heard of by a message that names none, the newest.
constexpr size_t heard_max = 16;

std::string name_of(const Envelope& e) {
  return e.native_id.empty() ? base::format_uuid(e.id) : std::string(e.native_id);
}

// Its receiver says something: it is not silent, and blocked only if it says so.
void hear(Tables& t, const Handoffs::Key& key, const Envelope& e) {
  const bool is_blocked = e.blocked_since != Time{};
  t.handoffs.change(key, [&](Handoff& handoff) {
    handoff.blocked = is_blocked;
    handoff.heard = is_blocked ? std::min(e.blocked_since, t.now) : t.now;
  });
}

// What the sender was to do, and says something of: what it names, else what it has in the thread.
std::vector<Handoffs::Key> heard_of(const Context& context, const Envelope& e) {
  const Tables& t = context.t;
  const std::string& sender = t.agents[context.actor].name;
  const MessageRef named =
      e.in_reply_to.is_none() ? none : t.messages.find_received(context.actor, e.in_reply_to);
  if (named != none) {
    const Handoffs::Key key{t.messages.message(named).seq, sender};
    if (t.handoffs.find(key) != nullptr) {
      return {key};
    }
  }
  std::vector<Handoffs::Key> keys;
  const std::set<Handoffs::Key>* const in_thread = t.handoffs.in_thread(sender, e.thread);
  if (in_thread != nullptr) {
    for (auto at = in_thread->rbegin(); at != in_thread->rend() && keys.size() < heard_max; ++at) {
      keys.push_back(*at);
    }
  }
  return keys;
}

// An agent that has no handoff says that it is blocked; or says something again.
void note_report(Context& context, const Envelope& e, const std::vector<Handoffs::Key>& heard) {
  Tables& t = context.t;
  size_t others = 0;
  for (const Handoffs::Key& key : heard) {
    const bool is_report = t.handoffs.find(key)->is_report();
    others += is_report ? 0 : 1;
    if (is_report) {
      t.handoffs.remove(key);
    }
  }
  const bool has_room = t.handoffs.of_owner(t.agents[context.actor].name) <
                        share_of(t.rules, t.rules.handoffs_max);
  if (e.blocked_since == Time{} || others > 0 || !has_room ||
      policy_of(e.dialect).blocked_after == nullptr) {
    return;
  }
  t.handoffs.add(
      {.message = context.entry.seq,
       .to = t.agents[context.actor].name,
       .from = std::string(e.receivers.empty() ? std::string_view{} : e.receivers.front()),
       .thread = std::string(e.thread),
       .id = name_of(e),
       .subject = std::string(base::cut(e.subject, subject_bytes_max)),
       .kind = Kind::notification,
       .priority = e.priority,
       .since = t.now,
       .due = base::time_max,
       .heard = std::min(e.blocked_since, t.now),
       .blocked = true});
}

void announce(Dispatch& dispatch, const Handoff& handoff) {
  for (const std::string& name : std::set<std::string>{handoff.from, handoff.to}) {
    owe(dispatch,
        {.kind = OutboxKind::overdue,
         .to = name,
         .about = handoff.message,
         .priority = handoff.priority,
         .facts = {{"message_id", handoff.id},
                   {"from", handoff.from},
                   {"to", handoff.to},
                   {"subject", handoff.subject},
                   {"thread", handoff.thread},
                   {"wanted",
                    std::string(handoff.kind == Kind::query ? "an answer" : "an acknowledgement")},
                   {"sent_at", handoff.since},
                   {"due_at", handoff.due}}});
  }
}

// What is held has not come to its receiver, whose time begins when it does.
void announce_or_wait(Dispatch& dispatch, const Handoffs::Key& key) {
  Tables& t = dispatch.t;
  const Handoff& handoff = *t.handoffs.find(key);
  const MessageRef ref = t.messages.find(key.first);
  const bool is_held = t.holds.contains(key.first) && ref != none;
  if (!is_held) {
    announce(dispatch, handoff);
  }
  t.handoffs.change(key, [&](Handoff& row) {
    row.announced = !is_held;
    row.due = is_held ? t.now + std::max(base::seconds(1),
                                         response_time(t.rules, t.messages.message(ref).dialect,
                                                       row.priority))
                      : row.due;
  });
}

// It goes on to wait for people, or is a report, of which nothing more comes.
void escalate_silence(Dispatch& dispatch, const Handoff& handoff) {
  Tables& t = dispatch.t;
  const Handoffs::Key key{handoff.message, handoff.to};
  const std::string since = base::format_time(handoff.heard);
  const bool is_report = handoff.is_report();
  const uint64_t id = escalate_if_room(
      dispatch, {.cause = EscalationCause::blocked,
                 .about = handoff.message,
                 .agent = handoff.owner(),
                 .receiver = is_report ? handoff.from : handoff.to,
                 .why = quoted(handoff.to) +
                        (handoff.blocked ? " is blocked since " + since
                                         : " has acknowledged it, and says nothing since " + since),
                 .concerned = {is_report ? handoff.from : handoff.to}});
  if (is_report) {
    t.handoffs.remove(key);
    return;
  }
  // Where there was no room it is tried again after the same time.
  t.handoffs.change(key, [&](Handoff& row) {
    row.escalated = id != 0;
    row.heard = t.now;
  });
}

}  // namespace

std::expected<DeliveryRef, Error> find_acknowledged(const ConstContext& context,
                                                    const Envelope& e) {
  const Tables& t = context.t;
  if (e.kind != Kind::acknowledgement || context.actor == none || e.in_reply_to.is_none()) {
    return none;
  }
  for (const std::string_view name : e.receivers) {
    const AgentRef asker = t.agents.find(name);
    const MessageRef got =
        asker == none ? none : t.messages.find_received(context.actor, e.in_reply_to, asker);
    if (got != none) {
      return t.messages.delivery_to(got, context.actor);
    }
  }
  if (const MessageRef got = t.messages.find_received(context.actor, e.in_reply_to); got != none) {
    return t.messages.delivery_to(got, context.actor);
  }
  if (t.messages.find_sent(context.actor, e.in_reply_to) != none) {
    return none;  // of its own: a challenge that is withdrawn
  }
  return refuse(Code::not_found, "in_reply_to names no message that was sent to you",
                "/in_reply_to");
}

void acknowledge(Context& context, DeliveryRef ref) {
  Tables& t = context.t;
  if (ref == none) {
    return;
  }
  const Delivery& delivery = t.messages.delivery(ref);
  if (!is_final(delivery.state) && !delivery.on_hold && delivery.gate != Gate::removed) {
    context.dispatch.settle(ref, State::acked);
    context.dispatch.pump(context.actor);
  }
}

Checked check_handoffs(const ConstContext& context, const Envelope& e, const Route& route) {
  const Tables& t = context.t;
  const bool waits = asks(e.kind) && response_time(t.rules, e.dialect, e.priority).us > 0;
  if (context.actor == none || !waits) {
    return {};
  }
  const size_t open = t.handoffs.of_owner(t.agents[context.actor].name);
  const size_t more = std::max<size_t>(route.agents.size(), 1);
  if (open > 0 && open + more > share_of(t.rules, t.rules.handoffs_max)) {
    return refuse_share("you wait for " + std::to_string(open) + " handoffs and queries",
                        "handoffs_max", "wait until some are answered");
  }
  if (t.handoffs.size() >= t.rules.handoffs_max) {
    return refuse(Code::limit_reached,
                  "the workspace waits for " + std::to_string(t.handoffs.size()) +
                      " handoffs and queries (handoffs_max); answer some, or raise it");
  }
  return {};
}

void enter_handoff(Context& context, const Envelope& e, MessageRef ref) {
  Tables& t = context.t;
  if (context.actor == none) {
    return;
  }
  if (t.handoffs.size() > 0 || e.blocked_since != Time{}) {
    const std::vector<Handoffs::Key> heard = heard_of(context, e);
    for (const Handoffs::Key& key : heard) {
      hear(t, key, e);
    }
    note_report(context, e, heard);
  }
  const Duration within = response_time(t.rules, e.dialect, e.priority);
  if (!asks(e.kind) || within.us == 0) {
    return;
  }
  for (DeliveryRef d = t.messages.message(ref).deliveries; d != none;
       d = t.messages.delivery(d).sibling) {
    const Delivery& delivery = t.messages.delivery(d);
    const std::string& to = t.agents[delivery.receiver].name;
    // To itself it may have reported by the same message that it is blocked.
    if (is_final(delivery.state) || t.handoffs.find({context.entry.seq, to}) != nullptr) {
      continue;
    }
    t.handoffs.add({.message = context.entry.seq,
                    .to = to,
                    .from = t.agents[context.actor].name,
                    .thread = std::string(e.thread),
                    .id = name_of(e),
                    .subject = std::string(base::cut(e.subject, subject_bytes_max)),
                    .kind = e.kind,
                    .priority = e.priority,
                    .since = t.now,
                    .due = t.now + within,
                    .heard = t.now});
  }
}

void note_handoff(Tables& t, const Delivery& delivery, State state) {
  if (t.handoffs.size() == 0) {
    return;
  }
  const Handoffs::Key key{t.messages.message(delivery.message).seq,
                          t.agents[delivery.receiver].name};
  const Handoff* const handoff = t.handoffs.find(key);
  if (handoff == nullptr) {
    return;
  }
  if (state != State::acked) {
    t.handoffs.remove(key);
    return;
  }
  t.handoffs.change(key, [&](Handoff& row) {
    row.acked = true;
    row.heard = row.blocked ? row.heard : t.now;
  });
}

void note_resolved(Tables& t, Seq message) {
  std::vector<Handoffs::Key> keys;
  for (auto at = t.handoffs.all().lower_bound({message, {}});
       at != t.handoffs.all().end() && at->first.first == message; ++at) {
    keys.push_back(at->first);
  }
  for (const Handoffs::Key& key : keys) {
    t.handoffs.change(key, [&](Handoff& row) {
      row.escalated = false;
      row.heard = t.now;
    });
  }
}

void advance_handoffs(Dispatch& dispatch) {
  Handoffs& handoffs = dispatch.t.handoffs;
  const Time now = dispatch.t.now;
  for (size_t n = 0; n < due_max && !handoffs.unannounced().empty() &&
                     handoffs.unannounced().begin()->first <= now;
       ++n) {
    announce_or_wait(dispatch, handoffs.unannounced().begin()->second);
  }
  const Duration silence = dispatch.t.rules.squad_blocked_after;
  for (size_t n = 0; n < due_max && !handoffs.silent().empty() &&
                     handoffs.silent().begin()->first + silence <= now;
       ++n) {
    escalate_silence(dispatch, *handoffs.find(handoffs.silent().begin()->second));
  }
}

Time handoffs_due(const Tables& t) {
  const auto& unannounced = t.handoffs.unannounced();
  const auto& silent = t.handoffs.silent();
  return std::min(
      unannounced.empty() ? base::time_max : unannounced.begin()->first,
      silent.empty() ? base::time_max : silent.begin()->first + t.rules.squad_blocked_after);
}

void leave_handoffs(Dispatch& dispatch, std::string_view name) {
  Tables& t = dispatch.t;
  tell_unfinished(dispatch, name, "removed");
  const std::set<Handoffs::Key>* const known = t.handoffs.of(name);
  for (const Handoffs::Key& key : known == nullptr ? std::set<Handoffs::Key>{} : *known) {
    t.handoffs.remove(key);
  }
  t.handoffs.forget_session(name);
}

std::string_view handoff_status(const Tables& t, const Delivery& delivery) {
  const Message& message = t.messages.message(delivery.message);
  if (delivery.state == State::answered) {
    return "completed";
  }
  if (delivery.state == State::expired || delivery.state == State::rejected ||
      delivery.state == State::dead) {
    return state_name(delivery.state);
  }
  if (t.escalations.is_open_about(message.seq)) {
    return "escalated";
  }
  if (delivery.state == State::acked) {
    return asks(message.kind) ? "in_progress" : "completed";
  }
  return delivery.state == State::read ? "read" : "pending";
}

}  // namespace parley::core
