// SPDX-License-Identifier: Apache-2.0
// What the broker has to say by itself, and how much of it. When very much fails at once, more is
// to be said than can be written in good time. So each principal has a share of errands_max; what
// is to be said to it beyond that is counted in one summary. Nobody else waits for it, and nothing
// is left out.
#include "core/outbox/outbox_acts.h"

#include <algorithm>
#include <utility>

#include "core/humans/held.h"
#include "core/machine/context.h"
#include "core/requests/pipeline_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

// One principal's part of it.
constexpr uint64_t shares = 8;

// What there may be very many of, and what can be asked for otherwise: it may be summed up.
bool can_be_summed_up(OutboxKind kind) {
  switch (kind) {
    case OutboxKind::delivery_failed:
    case OutboxKind::message_malformed:
    case OutboxKind::request_timed_out:
    case OutboxKind::thread_closed:
    case OutboxKind::session_changed:
    case OutboxKind::session_warning:
    case OutboxKind::session_ended:
    case OutboxKind::acknowledged:
    case OutboxKind::not_acknowledged:
    case OutboxKind::approval_asked:
    case OutboxKind::approval_reminder:
    case OutboxKind::protocol_violation:
    case OutboxKind::task_failed:
    case OutboxKind::overdue:
    case OutboxKind::agent_session_ended:
      return true;
    case OutboxKind::escalated:
    case OutboxKind::escalation_resolved:
    case OutboxKind::roll_called:
    case OutboxKind::gathered:
    case OutboxKind::stage:
    case OutboxKind::pipeline_ended:
    case OutboxKind::backpressure:
    case OutboxKind::dead_letter_alert:
    case OutboxKind::published:
    case OutboxKind::deadlock_warned:
    case OutboxKind::task_reassigned:
    case OutboxKind::summary:
    case OutboxKind::approval_decided:
    case OutboxKind::debate_changed:
      return false;
  }
  return false;
}

// How many of all a workspace may owe for it: news make room for notices, and what is summed up for
// all else. A pipeline without its next message fails. Who is there changes often: those news make
// room for the others, such as those of audit.
uint64_t room_for(const OutboxItem& item, uint64_t max) {
  if (item.kind == OutboxKind::published) {
    return item.to == broker_topics::availability_topic ? max / 4 : max / 2;
  }
  return item.kind == OutboxKind::stage ? max : max - max / 8;
}

void count(std::vector<Fact>& facts, std::string_view name) {
  const auto at = std::ranges::find(facts, name, &Fact::name);
  if (at == facts.end()) {
    facts.push_back({std::string(name), int64_t{1}});
  } else {
    ++std::get<int64_t>(at->value);
  }
}

// A node may be sending the summary as it is now. So what comes later makes it another one, but for
// what comes with the same entry, of which no node has seen anything.
uint64_t sum_up(Dispatch& dispatch, const OutboxItem& item) {
  Tables& t = dispatch.t;
  OutboxItem* const waiting = t.outbox.summary_to(item.to);
  if (waiting != nullptr && waiting->id >= dispatch.first_outbox_item) {
    count(waiting->facts, outbox_kind_name(item.kind));
    return waiting->id;
  }
  OutboxItem summary{.kind = OutboxKind::summary, .to = item.to, .about = {}};
  if (waiting != nullptr) {
    summary.facts = std::move(waiting->facts);
    t.outbox.remove(waiting->id);
  } else {
    summary.facts = {{"detail", std::string("more than is told one by one; GET /v1/outbox says "
                                            "what became of each message")},
                     {"first_at", t.now}};
  }
  count(summary.facts, outbox_kind_name(item.kind));
  summary.since = t.now;
  const uint64_t id = t.outbox.add(std::move(summary));
  dispatch.emit(Owed{.outbox_item = id});
  return id;
}

// The sender of a dead letter was not told of it.
void forget_notice(Tables& t, const OutboxItem& item) {
  const auto fact = std::ranges::find(item.facts, "dead_letter", &Fact::name);
  if (fact == item.facts.end()) {
    return;
  }
  DeadLetter* const letter =
      t.dead_letters.find(static_cast<uint64_t>(std::get<int64_t>(fact->value)));
  if (letter != nullptr && letter->notice == item.id) {
    letter->notice = 0;
  }
}

void owe_each(Dispatch& dispatch, const std::vector<AgentRef>& to, OutboxItem item) {
  for (size_t n = 0; n < std::min(to.size(), told_max); ++n) {
    item.to = dispatch.t.agents[to[n]].name;
    owe(dispatch, item);
  }
}

}  // namespace

uint64_t owe(Dispatch& dispatch, OutboxItem item) {
  Tables& t = dispatch.t;
  const AgentRef to = t.agents.find(item.to);
  if (item.kind != OutboxKind::published && (to == none || !t.agents[to].is_registered())) {
    return 0;
  }
  const bool is_news_for_it = item.kind != OutboxKind::published && item.kind != OutboxKind::stage;
  if (const MessageRef about = t.messages.find(item.about);
      is_news_for_it && about != none && t.messages.message(about).sender == to &&
      is_of_former(t, about)) {
    return 0;  // its predecessor asked or sent
  }
  const uint64_t max = t.rules.errands_max;
  const bool has_room = t.outbox.size() < room_for(item, max);
  if (can_be_summed_up(item.kind) && max > 0 &&
      (!has_room || t.outbox.owed_to(item.to) >= std::max<uint64_t>(1, max / shares))) {
    return sum_up(dispatch, item);
  }
  if (!has_room) {
    ++t.outbox.dropped;
    return 0;
  }
  item.since = t.now;
  const uint64_t id = t.outbox.add(std::move(item));
  dispatch.emit(Owed{.outbox_item = id});
  return id;
}

void owe_stewards(Dispatch& dispatch, OutboxItem item) {
  owe_each(dispatch, dispatch.t.agents.stewards(), std::move(item));
}

void owe_maintainers(Dispatch& dispatch, OutboxItem item) {
  const std::vector<AgentRef> maintainers = dispatch.t.agents.maintainers();
  owe_each(dispatch, maintainers.empty() ? dispatch.t.agents.stewards() : maintainers,
           std::move(item));
}

void give_up_outbox_item(Context& context, uint64_t id, const Outcome& outcome) {
  Tables& t = context.t;
  const OutboxItem* const found = t.outbox.find(id);
  if (found == nullptr) {
    return;
  }
  ++t.outbox.refused;
  const OutboxItem item = *found;  // which goes here, or with what it was for
  const OutboxKind kind = item.kind;
  if (kind == OutboxKind::stage) {
    stage_failed(
        context.dispatch, pipeline_of(item),
        outcome ? "another message has the id that this one would have" : outcome.error().detail);
  }
  if (kind == OutboxKind::delivery_failed || kind == OutboxKind::message_malformed) {
    forget_notice(t, item);
  }
  t.outbox.remove(id);
  note_told(context.dispatch, item, none);
  if (kind != OutboxKind::published) {  // news make no news
    broker_topics::audit(context.dispatch, "notice_refused", broker_name, item.to);
  }
}

}  // namespace parley::core
