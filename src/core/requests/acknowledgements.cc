// SPDX-License-Identifier: Apache-2.0
#include "core/requests/acknowledgements.h"

#include <algorithm>
#include <utility>

#include "core/outbox/outbox_acts.h"
#include "core/requests/watching.h"

namespace parley::core {

namespace {}  // namespace

void begin_roll_call(Dispatch& dispatch, MessageRef ref) {
  Tables& t = dispatch.t;
  const PendingRequest request{.message = t.messages.message(ref).seq,
                               .timeout = t.rules.flow_roll_call_window,
                               .awaited = Awaited::roll_call,
                               .owner = t.agents[t.messages.message(ref).sender].name};
  t.pending.add(request, t.now + request.timeout);
  dispatch.note_ended(ref);  // there may be no one to call
}

// Silent is who could have heard; offline who was neither connected nor asked for anything since.
// Who subscribes to a topic is not for its publisher: that one is told how many.
void report_roll_call(Dispatch& dispatch, MessageRef ref) {
  Tables& t = dispatch.t;
  const Message message = t.messages.message(ref);
  std::vector<std::string> acknowledged;
  std::vector<std::string> silent;
  std::vector<std::string> offline;
  for (DeliveryRef d = message.deliveries; d != none; d = t.messages.delivery(d).sibling) {
    const Delivery& delivery = t.messages.delivery(d);
    const Agent& agent = t.agents[delivery.receiver];
    const bool answered = delivery.state == State::acked || delivery.state == State::answered;
    const bool there =
        agent.is_registered() && (!agent.streams.empty() || agent.seen > message.time);
    (answered ? acknowledged : there ? silent : offline).push_back(agent.name);
  }
  OutboxItem item{
      .kind = OutboxKind::roll_called, .to = t.agents[message.sender].name, .about = message.seq};
  item.facts = {count_of("called", message.delivery_count)};
  const bool is_named = message.topic == none || t.agents.looks_after_workspace(message.sender);
  for (auto& [name, names] : {std::pair{"acknowledged", &acknowledged},
                              std::pair{"silent", &silent}, std::pair{"offline", &offline}}) {
    if (!is_named) {
      item.facts.push_back(count_of(std::string(name) + "_count", names->size()));
      continue;
    }
    std::ranges::sort(*names);
    add_names(t, item, name, std::move(*names));
  }
  end_pending(dispatch, message.seq);
  owe(dispatch, std::move(item));
}

// In time is within response_timeout, where its sender gave one, else within its time to live;
// where it has none, whenever it is.
void begin_acknowledgements(Dispatch& dispatch, const Envelope& e, MessageRef ref) {
  Tables& t = dispatch.t;
  const Message& message = t.messages.message(ref);
  const Duration timeout = e.response_timeout.us > 0 ? e.response_timeout : message.ttl;
  const PendingRequest request{.message = message.seq,
                               .timeout = timeout,
                               .awaited = Awaited::acknowledgements,
                               .owner = t.agents[message.sender].name};
  t.pending.add(request, timeout.us > 0 ? t.now + timeout : base::time_max);
  dispatch.note_ended(ref);  // it may have failed at once
}

// Where all have failed there is nothing to tell: of each failure the sender is told anyway.
void report_acknowledgements(Dispatch& dispatch, MessageRef ref, bool in_time) {
  Tables& t = dispatch.t;
  const Message message = t.messages.message(ref);
  const Duration timeout = t.pending.find_request(message.seq)->timeout;
  std::vector<std::string> acknowledged;
  std::vector<std::string> missing;
  for (DeliveryRef d = message.deliveries; d != none; d = t.messages.delivery(d).sibling) {
    const Delivery& delivery = t.messages.delivery(d);
    if (delivery.state == State::acked || delivery.state == State::answered) {
      acknowledged.push_back(t.agents[delivery.receiver].name);
    } else if (!is_final(delivery.state)) {
      missing.push_back(t.agents[delivery.receiver].name);
    }
  }
  end_pending(dispatch, message.seq);
  if (in_time && acknowledged.empty()) {
    return;
  }
  std::ranges::sort(acknowledged);
  std::ranges::sort(missing);
  OutboxItem item{.kind = in_time ? OutboxKind::acknowledged : OutboxKind::not_acknowledged,
                  .to = t.agents[message.sender].name,
                  .about = message.seq};
  add_names(t, item, "acknowledged", std::move(acknowledged));
  if (!in_time) {
    add_names(t, item, "missing", std::move(missing));
    item.facts.push_back({"timeout", timeout});
  }
  owe(dispatch, std::move(item));
}

}  // namespace parley::core
