// SPDX-License-Identifier: Apache-2.0
#include "edge/api/mail_waits.h"

#include <utility>

#include "edge/api/context.h"
#include "edge/api/waiting.h"

namespace parley::edge {

void MailWaits::add(const Asker& asker, Duration wait, std::function<void()> answer,
                    std::optional<uint64_t> approval) {
  const net::CallerId caller = caller_id(asker.caller);
  Line& line = lines_[caller];
  if (line.calls.empty()) {
    line.waiter = context_.broker.waiters().on_mail(asker.caller.workspace, asker.caller.ref,
                                                    [this, caller] { wake(caller); });
  }
  const auto end_now = [this, caller, exchange = asker.exchange] { end_wait(caller, exchange); };
  const auto end = [this, caller, exchange = asker.exchange] { return take(caller, exchange); };
  Waiting waiting{context_.waits.add(asker.now() + wait, end_now), std::move(answer)};
  if (approval) {
    waiting.approval =
        context_.broker.waiters().on_approval(asker.caller.workspace, *approval, end_now);
  }
  line.calls.emplace(asker.exchange, std::move(waiting));
  context_.waiting->add(asker, [end] { end(); });
}

void MailWaits::wake(net::CallerId caller) {
  Line& line = lines_.at(caller);
  const bool is_answering = !line.woken.empty();
  line.woken.merge(line.calls);
  if (!is_answering) {
    answer_later(caller);
  }
}

// Very many may end at once, and their answers may be long: they come one by one, too.
void MailWaits::end_wait(net::CallerId caller, const net::Exchange& exchange) {
  const auto at = lines_.find(caller);
  if (at == lines_.end() || !at->second.calls.contains(exchange)) {
    return;  // it is about to be answered
  }
  Line& line = at->second;
  const bool is_answering = !line.woken.empty();
  line.woken.insert(line.calls.extract(exchange));
  if (line.calls.empty()) {
    context_.broker.waiters().forget(line.waiter);
  }
  if (!is_answering) {
    answer_later(caller);
  }
}

void MailWaits::answer_later(net::CallerId caller) {
  context_.deferred.push(caller, [this, caller] { answer_one(caller); });
}

void MailWaits::answer_one(net::CallerId caller) {
  const auto at = lines_.find(caller);
  if (at == lines_.end() || at->second.woken.empty()) {
    return;  // they hung up, or their time was over
  }
  const bool is_last = at->second.woken.size() == 1;
  const std::function<void()> answer = take(caller, at->second.woken.begin()->first);
  if (!is_last) {
    answer_later(caller);
  }
  answer();
}

std::function<void()> MailWaits::take(net::CallerId caller, const net::Exchange& exchange) {
  const auto at = lines_.find(caller);
  if (at == lines_.end()) {
    return {};
  }
  Line& line = at->second;
  const bool was_waiting = line.calls.contains(exchange);
  auto call = was_waiting ? line.calls.extract(exchange) : line.woken.extract(exchange);
  if (!call) {
    return {};
  }
  context_.waits.remove(call.mapped().timer);
  if (call.mapped().approval) {
    context_.broker.waiters().forget(*call.mapped().approval);
  }
  if (was_waiting && line.calls.empty()) {
    context_.broker.waiters().forget(line.waiter);
  }
  if (line.calls.empty() && line.woken.empty()) {
    lines_.erase(at);
  }
  return std::move(call.mapped().answer);
}

}  // namespace parley::edge
