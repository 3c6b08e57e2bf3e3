// SPDX-License-Identifier: Apache-2.0
// Rate limits, as properties that do not depend on how the core keeps them: of what was accepted
// since any moment, no limit has let more through than its bucket and what came in since; and what
// no limit binds is never held up.

#include <algorithm>
#include <utility>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr size_t booked_max = 64;
constexpr int64_t minute_us = 60'000'000;

uint64_t halves_of(core::Priority priority) {
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

bool Ledger::is_paced(const std::string& sender, core::Priority priority) const {
  const auto at = members_.find(sender);
  return at != members_.end() && at->second.kind == core::PrincipalKind::agent &&
         at->second.dialect == core::Dialect::flow && priority != core::Priority::critical;
}

void Ledger::check_rate(const Step& step) {
  core::Duration longest;
  for (auto& [seq, sent] : sent_) {
    for (Pair& pair : sent.pairs) {
      const bool is_new = seq == step.entry.seq;
      if (is_new && pair.state == State::delayed) {
        coverage_.count("told", pair.tried ? "tried" : "throttled");
        longest = std::max(longest, pair.due - now_);
        if (!pair.paced && !pair.tried) {
          fail(Check::pace, step, text("{} to {} is held up unbound", seq.n, pair.receiver));
        }
      }
      pair.paced = pair.paced && !pair.tried;  // it has its own pauses
      if (pair.paced && pair.state != State::delayed) {
        pair.paced = false;
        check_passed(step, sent, pair);
      }
    }
  }
  const auto* send = done<core::Send>(step);
  if (send != nullptr && !step.outcome->duplicate && step.outcome->delay != longest) {
    fail(Check::pace, step,
         text("told a delay of {} us, has {} us", step.outcome->delay.us, longest.us));
  }
  forget_booked(step);
}

// What a collab agent sends by name, and its receiver cannot take, is tried again: when and how
// often the rules say, as long as that one is away or has no room. CO-08
void Ledger::note_try(const Step& step, const Sent& sent, Pair& pair,
                      const core::Delivery& delivery) {
  const bool was_tried = std::exchange(pair.tried, core::is_tried(delivery.gate));
  if (!pair.tried || (was_tried && pair.due == delivery.due)) {
    return;
  }
  pair.retries = was_tried ? pair.retries + 1 : 0;
  const core::Delays& delays = rules_.collab_retry_delays;
  const bool full = was_tried
                        ? was_full(step, sent, pair)
                        : step.after.tables().load_of(delivery.receiver) >= rules_.queue_max ||
                              sizes_.queues[pair.receiver] >= rules_.queue_max;
  const bool may_be = sent.dialect == core::Dialect::collab && sent.topic.empty() &&
                      (full || (delivery.gate == core::Gate::presence &&
                                (is_away(pair.receiver) || pair.receiver == step.entry.actor)));
  if (!may_be || pair.retries >= delays.count ||
      delivery.due != now_ + delays.pauses[pair.retries]) {
    fail(
        Check::care, step,
        text("{} to {} is tried again, and should not be, or not then", sent.seq.n, pair.receiver));
  }
}

void Ledger::keep_before() {
  for (auto& [seq, sent] : sent_) {
    for (Pair& pair : sent.pairs) {
      pair.state_before = pair.state;
      pair.due_before = pair.due;
      pair.tried_before = pair.tried;
    }
  }
}

// Whether the inbox had no room when `pair` was tried at its time. What is due is done by its time,
// and at one time by the message's place; so an entry may fill an inbox and empty it again after
// the try. Where the order does not follow from what is told, the inbox counts as the fuller one.
bool Ledger::was_full(const Step& step, const Sent& tried, const Pair& pair) const {
  const auto before = sizes_.queues.find(pair.receiver);
  uint64_t load = before == sizes_.queues.end() ? 0 : before->second;
  uint64_t freed = 0;
  for (const auto& [seq, sent] : sent_) {
    for (const Pair& other : sent.pairs) {
      if (seq != tried.seq && other.receiver == pair.receiver) {
        load += went_in(step, sent, other, tried, pair.due_before) ? 1 : 0;
        freed += went_out(step, sent, other, tried, pair.due_before) ? 1 : 0;
      }
    }
  }
  return load >= rules_.queue_max + freed;
}

// Whether `pair`, which was tried as well, may have taken its place before `tried` was, due at
// `due`. It goes in when it is due, or before its time with a newer message of its sender: what an
// agent sends is not to overtake what it sent before.
bool Ledger::went_in(const Step& step, const Sent& sent, const Pair& pair, const Sent& tried,
                     Time due) const {
  if (!pair.tried_before) {
    return false;
  }
  const core::Tables& t = step.after.tables();
  const core::MessageRef message = t.messages.find(sent.seq);
  const core::DeliveryRef ref = message == core::none
                                    ? core::none
                                    : t.messages.delivery_to(message, t.agents.find(pair.receiver));
  const State state = ref == core::none ? pair.state : t.messages.delivery(ref).state;
  const bool still_tried = ref != core::none && core::is_tried(t.messages.delivery(ref).gate);
  const bool handed_out = ref != core::none && t.messages.delivery(ref).attempts > 0;
  if (still_tried || (state == State::dead && !handed_out)) {
    return false;
  }
  return std::ranges::any_of(sent_, [&](const auto& item) {
    const Sent& newer = item.second;
    const auto same = std::ranges::find(newer.pairs, pair.receiver, &Pair::receiver);
    return newer.seq >= sent.seq && newer.sender == sent.sender && same != newer.pairs.end() &&
           same->tried_before &&
           std::pair(same->due_before, newer.seq) <= std::pair(due, tried.seq) &&
           (state != State::expired || same->due_before < sent.expires_before);
  });
}

// Whether `pair`, which had a place, has certainly left it before `tried` was, due at `due`: it
// expired while it waited, or its last lease ended.
bool Ledger::went_out(const Step& step, const Sent& sent, const Pair& pair, const Sent& tried,
                      Time due) const {
  if (pair.tried_before || core::is_final(pair.state_before)) {
    return false;
  }
  const bool was_held = core::is_held(pair.state_before);
  const bool by_command =
      done<core::Nack>(step) != nullptr || done<core::CloseStream>(step) != nullptr;
  const bool given_up = pair.state == State::dead && was_held && pair.due_before <= now_ &&
                        !by_command && std::ranges::any_of(letters_, [&](const auto& item) {
                          const Letter& letter = item.second;
                          return letter.message == sent.seq && letter.receiver == pair.receiver &&
                                 letter.reason == core::Reason::receiver_unavailable &&
                                 letter.failed == now_;
                        });
  if (pair.state != State::expired && !given_up) {
    return false;
  }
  const Time left = given_up   ? pair.due_before
                    : was_held ? std::max(pair.due_before, sent.expires_before)
                               : sent.expires_before;
  return std::pair(left, sent.seq) < std::pair(due, tried.seq);
}

// A critical message takes those before it in its channel along.
bool Ledger::is_hurried(const Step& step, const Sent& sent, const Pair& pair) const {
  return std::ranges::any_of(sent_, [&](const auto& item) {
    const Sent& other = item.second;
    const auto same = std::ranges::find(other.pairs, pair.receiver, &Pair::receiver);
    return other.seq > sent.seq && other.priority == core::Priority::critical &&
           other.sender == sent.sender && other.topic == sent.topic && same != other.pairs.end() &&
           (!core::is_final(same->state) || same->touched == step.entry.seq);
  });
}

void Ledger::check_passed(const Step& step, const Sent& sent, Pair& pair) {
  const auto* read = done<core::Read>(step);
  const bool by_name = read != nullptr && is_target(step, read->target, sent, pair);
  if (core::is_final(pair.state) || by_name || is_hurried(step, sent, pair) ||
      done<core::SetRules>(step) != nullptr) {
    return;
  }
  coverage_.count("told", "passed");
  book(step, "in " + pair.receiver, rules_.flow_rate_in, sent);
  if (sent.topic.empty()) {
    book(step, "pair " + sent.sender + " " + pair.receiver, rules_.flow_rate_pair, sent);
  } else {
    book(step, "topic " + sent.topic,
         sent.topic == "*" ? rules_.flow_rate_broadcast : rules_.flow_rate_topic, sent);
  }
  book(step, "out " + sent.sender, rules_.flow_rate_out, sent);
}

void Ledger::book(const Step& step, const std::string& limit, uint64_t per_min, const Sent& sent) {
  std::vector<Booked>& booked = booked_[limit];
  const bool counted = std::ranges::find(booked, sent.seq, &Booked::message) != booked.end();
  if (per_min == 0 || counted) {
    return;
  }
  booked.push_back({sent.seq, sent.accepted, halves_of(sent.priority)});
  std::ranges::sort(booked, {}, &Booked::message);
  if (booked.size() > booked_max) {
    booked.erase(booked.begin());
  }
  uint64_t halves = 0;
  for (auto at = booked.rbegin(); at != booked.rend(); ++at) {
    halves += at->halves;
    const auto since = static_cast<uint64_t>((now_ - at->accepted).us);
    // The bucket, what has come in since, and one more: what is dearer than a whole bucket.
    const uint64_t most = 2 * per_min + 2 * per_min * since / minute_us + 4;
    if (halves > most) {
      fail(Check::pace, step,
           text("{} let {} half tokens through of what came since {}, at most {}", limit, halves,
                at->message.n, most));
    }
  }
}

// Where limits change or a principal comes anew, they begin anew.
void Ledger::forget_booked(const Step& step) {
  const bool changes = done<core::SetRules>(step) != nullptr ||
                       done<core::Unregister>(step) != nullptr ||
                       done<core::Register>(step) != nullptr;
  if (changes) {
    booked_.clear();
  }
}

}  // namespace parley::sim
