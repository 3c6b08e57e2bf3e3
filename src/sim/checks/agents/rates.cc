// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/agents/rates.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr size_t spent_max = 64;  // Messages that are looked at, for each limit.
constexpr int64_t minute_us = 60'000'000;

uint64_t half_tokens_of(core::Priority priority) {
  switch (priority) {
    case core::Priority::critical:
      return 0;
    case core::Priority::high:
      return 1;
    case core::Priority::normal:
      return 2;
    case core::Priority::low:
      return 4;
  }
  return 0;
}

}  // namespace

void RateChecks::check(const Step& step) {
  core::Duration longest;
  for (auto& [seq, sent] : model_.messages) {
    for (Delivery& delivery : sent.deliveries) {
      const bool is_new = seq == step.entry.seq;
      if (is_new && delivery.state == State::delayed) {
        model_.coverage.count("case", delivery.tried ? "tried" : "throttled");
        longest = std::max(longest, delivery.due - model_.now);
        if (!delivery.paced && !delivery.tried) {
          model_.fail(Check::pace, step,
                      text("{} to {} is held up unbound", seq.n, delivery.receiver));
        }
      }
      // A delivery that is tried again has pauses of its own.
      delivery.paced = delivery.paced && !delivery.tried;
      if (delivery.paced && delivery.state != State::delayed) {
        delivery.paced = false;
        check_passed(step, sent, delivery);
      }
    }
  }
  const auto* send = done<core::Send>(step);
  if (send != nullptr && !step.outcome->duplicate && step.outcome->delay != longest) {
    model_.fail(Check::pace, step,
                text("told a delay of {} us, has {} us", step.outcome->delay.us, longest.us));
  }
  forget_spent(step);
}

// The delivery got through the limits, unless something lets it pass without them.
void RateChecks::check_passed(const Step& step, const SentMessage& sent, Delivery& delivery) {
  const auto* read = done<core::Read>(step);
  const bool by_name = read != nullptr && model_.is_target(step, read->target, sent, delivery);
  if (core::is_final(delivery.state) || by_name || is_hurried(step, sent, delivery) ||
      done<core::SetRules>(step) != nullptr) {
    return;
  }
  model_.coverage.count("case", "passed");
  spend(step, "in " + delivery.receiver, model_.rules.flow_rate_in, sent);
  if (sent.topic.empty()) {
    spend(step, "pair " + sent.sender + " " + delivery.receiver, model_.rules.flow_rate_pair, sent);
  } else {
    spend(step, "topic " + sent.topic,
          sent.topic == "*" ? model_.rules.flow_rate_broadcast : model_.rules.flow_rate_topic,
          sent);
  }
  spend(step, "out " + sent.sender, model_.rules.flow_rate_out, sent);
}

// A critical message takes those before it in its channel along, past all limits.
bool RateChecks::is_hurried(const Step& step, const SentMessage& sent,
                            const Delivery& delivery) const {
  return std::ranges::any_of(model_.messages, [&](const auto& item) {
    const SentMessage& other = item.second;
    const auto same = std::ranges::find(other.deliveries, delivery.receiver, &Delivery::receiver);
    return other.seq > sent.seq && other.priority == core::Priority::critical &&
           other.sender == sent.sender && other.topic == sent.topic &&
           same != other.deliveries.end() &&
           (!core::is_final(same->state) || same->touched == step.entry.seq);
  });
}

void RateChecks::spend(const Step& step, const std::string& limit, uint64_t per_min,
                       const SentMessage& sent) {
  std::vector<Spent>& spent = spent_[limit];
  const bool counted = std::ranges::find(spent, sent.seq, &Spent::message) != spent.end();
  if (per_min == 0 || counted) {
    return;
  }
  spent.push_back({sent.seq, sent.accepted, half_tokens_of(sent.priority)});
  std::ranges::sort(spent, {}, &Spent::message);
  if (spent.size() > spent_max) {
    spent.erase(spent.begin());
  }
  uint64_t half_tokens = 0;
  for (auto at = spent.rbegin(); at != spent.rend(); ++at) {
    half_tokens += at->half_tokens;
    const auto since = static_cast<uint64_t>((model_.now - at->accepted).us);
    // The bucket, what has come in since, and one more that may cost more than a whole bucket.
    const uint64_t most = 2 * per_min + 2 * per_min * since / minute_us + 4;
    if (half_tokens > most) {
      model_.fail(Check::pace, step,
                  text("{} let {} half tokens through of what came since {}, at most {}", limit,
                       half_tokens, at->message.n, most));
    }
  }
}

// When limits change or a principal comes or goes, the limits begin anew.
void RateChecks::forget_spent(const Step& step) {
  const bool changes = done<core::SetRules>(step) != nullptr ||
                       done<core::Unregister>(step) != nullptr ||
                       done<core::Register>(step) != nullptr;
  if (changes) {
    spent_.clear();
  }
}

}  // namespace parley::sim
