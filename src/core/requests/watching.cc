// SPDX-License-Identifier: Apache-2.0
// What requests, scatters and pipelines share.
#include "core/requests/watching.h"

#include <algorithm>

#include "base/check.h"
#include "core/conversation/thread_acts.h"
#include "core/requests/deadlock.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

Duration timeout_of(const Rules& rules, const Envelope& e, bool to_many) {
  return e.response_timeout.us > 0 ? e.response_timeout
                                   : default_timeout(rules, e.dialect, e.kind, to_many);
}

void await_answer(Dispatch& dispatch, MessageRef message, Duration timeout, OnTimeout on_timeout,
                  Seq pipeline) {
  Tables& t = dispatch.t;
  const bool is_retried = pipeline.n == 0 && on_timeout == OnTimeout::fail &&
                          policy_of(t.messages.message(message).dialect).retries_tasks;
  const PendingRequest request{.message = t.messages.message(message).seq,
                               .timeout = timeout,
                               .on_timeout = is_retried ? OnTimeout::retry : on_timeout,
                               .pipeline = pipeline,
                               .owner = t.agents[t.messages.message(message).sender].name};
  t.pending.add(request, t.now + timeout);
  broker_topics::task(dispatch, message, "assigned");
}

void stop_watching(Dispatch& dispatch, Seq seq) {
  Tables& t = dispatch.t;
  const MessageRef message = t.messages.find(seq);
  CHECK(message != none);
  t.messages.message(message).watched = false;
  end_thread_request(dispatch, message);
  unblock(t, message);
  dispatch.finish(message);
}

void end_pending(Dispatch& dispatch, Seq seq) {
  dispatch.t.pending.remove_request(seq);
  stop_watching(dispatch, seq);
}

Fact count_of(std::string name, size_t count) {
  return {std::move(name), static_cast<int64_t>(count)};
}

void add_names(const Tables& t, OutboxItem& item, const std::string& name,
               std::vector<std::string> names) {
  constexpr size_t names_max = 1'000;
  constexpr size_t lists_max = 8;  // in one report, with what else it says
  const AgentRef reader = t.agents.find(item.to);
  const Policy::NumberRule own =
      reader == none ? nullptr : policy_of(t.agents[reader].dialect).size_max.value;
  size_t left = t.rules.*(own == nullptr ? &Rules::collab_message_bytes_max : own) / lists_max;
  item.facts.push_back(count_of(name + "_count", names.size()));
  size_t count = 0;
  constexpr size_t around = 3;  // a name's quotes and comma
  for (; count < std::min(names.size(), names_max) && names[count].size() + around <= left;
       ++count) {
    left -= names[count].size() + around;
  }
  names.resize(count);
  item.facts.push_back({name, std::move(names)});
}

}  // namespace parley::core
