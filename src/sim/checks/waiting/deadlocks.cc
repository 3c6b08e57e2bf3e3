// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/deadlocks.h"

#include <algorithm>
#include <utility>

#include "sim/checks/delivery/receivers.h"
#include "sim/checks/groups/tasks.h"
#include "sim/text.h"

namespace parley::sim {

void DeadlockChecks::check(const Step& step) {
  end_blocked(step);
  const bool warned = std::exchange(warned_, false);
  const auto* const send = asked<core::Send>(step);
  if (send == nullptr) {
    return;
  }
  const bool refused = !step.outcome && step.outcome.error().code == base::Code::deadlock;
  const bool is_new = step.outcome && step.outcome->message == step.entry.seq;
  const SentMessage* const again = is_new ? nullptr : waited_for_again(step, *send);
  if (!is_new && !refused && again == nullptr) {
    return;
  }
  const Seq message = again == nullptr ? step.entry.seq : again->seq;
  if (is_new) {
    model_.messages.at(message).cause = working_on(step, *send);
  }
  auto blocked = blocks(step, *send, message);
  const bool is_circle = blocked && !blocked->asks_back &&
                         (blocked->from == blocked->to || leads(blocked->to, blocked->from));
  if (refused) {
    model_.coverage.count("circle", "refused");
    // Nobody is told to whom it would have been redirected.
    if (!is_circle &&
        !(redirects(model_, *send) && model_.is_away(std::string(send->envelope.receivers[0])))) {
      model_.fail(Check::deadlock, step,
                  "refused for a circle that is none: " + step.outcome.error().detail);
    }
    return;
  }
  if (!step.outcome) {
    return;
  }
  if (const auto before = blocked_.find(message); before != blocked_.end()) {
    if (before->second.origin != 0) {
      before->second.origin = step.entry.id.origin;
      for (auto& [seq, other] : blocked_) {
        const bool goes_along = seq == message || other.carries == message;
        other.until = goes_along ? std::max(other.until, model_.now + send->wait) : other.until;
      }
    }
    return;
  }
  const bool warns = model_.rules.collab_deadlock == 1;
  if (is_circle && (!warns || !(warned || again != nullptr))) {
    model_.fail(
        Check::deadlock, step,
        text("closes a circle from {} to {}, and nobody says so", blocked->from, blocked->to));
  } else if (!is_circle && warned) {
    model_.fail(Check::deadlock, step, "warned of a circle that is none");
  }
  const bool is_passed_on = blocked && blocked->carries.n != 0;
  if (blocked && !(is_passed_on && again != nullptr) &&
      (again != nullptr || !core::is_final(model_.messages.at(message).deliveries.front().state))) {
    blocked->has_timeout = model_.requests.contains(message);
    blocked_.emplace(message, *blocked);
    model_.coverage.count("circle", is_passed_on         ? "passed on"
                                    : blocked->asks_back ? "asked back"
                                    : again != nullptr   ? "waited later"
                                                         : "waited");
  }
}

// True when `from` waits for `to`, or for one who waits for it, and so on.
bool DeadlockChecks::leads(const std::string& from, const std::string& to) const {
  std::set<std::string> reached;
  std::vector<std::string> left = {from};
  while (!left.empty()) {
    const std::string at = left.back();
    left.pop_back();
    for (const auto& [seq, blocked] : blocked_) {
      const bool answers_itself = blocked.asks_back && blocked.from == from && blocked.to == to;
      if (blocked.from == at && !answers_itself && reached.insert(blocked.to).second) {
        left.push_back(blocked.to);
      }
    }
  }
  return reached.contains(to);
}

// The request that the sender says it works on, if it got it and someone still waits for its
// answer. 0: there is none.
Seq DeadlockChecks::working_on(const Step& step, const core::Send& command) const {
  const core::Envelope& e = command.envelope;
  const core::MessageId id = e.in_reply_to.is_none() ? command.cause : e.in_reply_to;
  if (!core::asks(e.kind) || id.is_none() || step.entry.actor == core::broker_name) {
    return {};
  }
  for (auto at = model_.messages.rbegin(); at != model_.messages.rend(); ++at) {
    const auto& [seq, sent] = *at;
    const auto delivery = std::ranges::find(sent.deliveries, e.sender, &Delivery::receiver);
    if (sent.id != id || delivery == sent.deliveries.end() || seq == step.entry.seq ||
        step.after.tables().messages.find(seq) == core::none) {
      continue;
    }
    // The core decides whom the sender waits for before the message supersedes an older one of the
    // same task. So a request that the message ends itself was open.
    const bool has_letter = std::ranges::any_of(model_.dead_letters, [&](const auto& item) {
      return item.second.message == seq && item.second.receiver == delivery->receiver &&
             item.second.failed == model_.now;
    });
    const bool ends_it = delivery->state == State::dead &&
                         !core::is_final(delivery->state_before) && !has_letter &&
                         is_superseded(model_, step, seq, delivery->receiver);
    const bool is_open =
        ends_it || (delivery->state != State::answered && delivery->state < State::expired);
    return core::asks(sent.kind) && !sent.timed_out && is_open ? seq : Seq{};
  }
  return {};
}

// Who goes on only with the answer, and for whom it waits. `message` is where it was sent first.
std::optional<DeadlockChecks::Blocked> DeadlockChecks::blocks(const Step& step,
                                                              const core::Send& command,
                                                              Seq message) const {
  const core::Envelope& e = command.envelope;
  const bool is_collab = e.dialect == core::Dialect::collab;
  const std::set<std::string> names(e.receivers.begin(), e.receivers.end());
  if (!core::asks(e.kind) || command.gathering || !command.later_stages.empty() ||
      step.entry.actor == core::broker_name ||
      (message == step.entry.seq && (names.size() != 1 || !model_.is_registered(*names.begin())))) {
    return std::nullopt;
  }
  Blocked blocked{std::string(e.sender), *names.begin(),
                  is_collab ? base::time_max : model_.now + command.wait};
  blocked.origin = is_collab ? 0 : step.entry.id.origin;
  if (const auto at = model_.messages.find(message);
      at != model_.messages.end() && !at->second.deliveries.empty()) {
    blocked.to = at->second.deliveries.front().receiver;
  }
  const auto cause = model_.messages.find(working_on(step, command));
  if (!e.reply_to.empty() && e.reply_to != e.sender) {
    // It waits for nothing itself. But who waits for the request that it passes on waits for this.
    const auto first =
        cause == model_.messages.end() ? blocked_.end() : blocked_.find(cause->first);
    if (first == blocked_.end() || first->second.from == blocked.to ||
        cause->second.asker != e.reply_to) {
      return std::nullopt;
    }
    blocked.from = first->second.from;
    blocked.until = first->second.until;
    blocked.carries = first->second.carries.n == 0 ? first->first : first->second.carries;
    blocked.origin = 0;
    return blocked;
  }
  if (!is_collab && command.wait.us <= 0) {
    return std::nullopt;
  }
  blocked.asks_back = cause != model_.messages.end() && cause->second.asker == blocked.to;
  return blocked;
}

// The message that was sent before with the same id or key, when its sender waits for the answer
// from now on; else nullptr.
const SentMessage* DeadlockChecks::waited_for_again(const Step& step,
                                                    const core::Send& command) const {
  const core::Envelope& e = command.envelope;
  const auto first = std::ranges::find_if(model_.messages, [&](const auto& item) {
    return item.first != step.entry.seq && item.second.sender == e.sender &&
           (item.second.id == e.id ||
            (!item.second.key.is_none() && item.second.key == e.idempotency_key)) &&
           step.after.tables().messages.find(item.first) != core::none;
  });
  if (command.wait.us <= 0 || first == model_.messages.end()) {
    return nullptr;
  }
  const SentMessage& sent = first->second;
  const bool over = !core::asks(sent.kind) || sent.asker != sent.sender || sent.answered ||
                    sent.timed_out || sent.deliveries.size() != 1 ||
                    sent.deliveries.front().state >= State::expired || !sent.topic.empty();
  return over ? nullptr : &sent;
}

// Forgets the requests that nobody waits for any more.
void DeadlockChecks::end_blocked(const Step& step) {
  std::erase_if(blocked_, [&](const auto& item) {
    const auto& [seq, blocked] = item;
    const auto sent = model_.messages.find(seq);
    if (sent == model_.messages.end() || blocked.until <= model_.now ||
        !model_.is_registered(blocked.from) || !model_.is_registered(blocked.to) ||
        (blocked.origin != 0 && model_.ended_lives.contains(blocked.origin)) ||
        step.after.tables().messages.find(seq) == core::none) {
      return true;
    }
    const State state = sent->second.deliveries.front().state;
    const bool timed_out = blocked.has_timeout && !model_.requests.contains(seq);
    return state == State::answered || state >= State::expired || timed_out;
  });
  const auto* const stop = done<core::StopWaiting>(step);
  const auto at = stop == nullptr ? blocked_.end() : blocked_.find(stop->message);
  if (at != blocked_.end() && at->second.origin != 0) {
    blocked_.erase(at);
  }
  std::erase_if(blocked_, [&](const auto& item) {
    return item.second.carries.n != 0 && !blocked_.contains(item.second.carries);
  });
}

}  // namespace parley::sim
