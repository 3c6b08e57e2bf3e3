// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/receipts.h"

#include <algorithm>
#include <utility>

#include "sim/text.h"

namespace parley::sim {

namespace {

// The receivers that acknowledged or answered, by name.
std::vector<std::string> acknowledged_by(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> names;
  for (const Delivery& delivery : deliveries) {
    if (delivery.is_acknowledged()) {
      names.push_back(delivery.receiver);
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

void ReceiptChecks::begin_roll_call(const Step& step, const core::Envelope& e) {
  roll_calls_[step.entry.seq] = {std::string(e.sender),
                                 model_.now + model_.rules.flow_roll_call_window};
}

// There is one report, when all have answered or the time is over. It says who did.
void ReceiptChecks::on_roll_called(const Step& step, const core::OutboxItem& item) {
  const auto at = roll_calls_.find(item.about);
  if (at == roll_calls_.end() || at->second.sender != item.to) {
    model_.fail(Check::wait, step, "a roll call is reported that was not made, or twice");
    return;
  }
  std::vector<Delivery> deliveries = model_.messages.at(item.about).deliveries;
  // Time passes first: an agent that subscribes with this entry was not called.
  std::erase_if(deliveries, [&](const Delivery& delivery) {
    return delivery.made == step.entry.seq && item.about != step.entry.seq;
  });
  const bool all_final = std::ranges::all_of(deliveries, &Delivery::is_final);
  if (!all_final && at->second.due > model_.now) {
    model_.fail(Check::wait, step, text("roll call {} is reported too early", item.about.n));
  }
  const std::vector<std::string> there = acknowledged_by(deliveries);
  const auto called = static_cast<size_t>(fact_of<int64_t>(item, "called"));
  const auto others =
      fact_of<int64_t>(item, "silent_count") + fact_of<int64_t>(item, "offline_count");
  // Only principals that look after the topics are told who subscribes to one.
  const auto names = fact_of<std::vector<std::string>>(item, "acknowledged");
  const bool may_be_hidden = !model_.messages.at(item.about).topic.empty();
  if (called != deliveries.size() ||
      static_cast<size_t>(others) != deliveries.size() - there.size() ||
      static_cast<size_t>(fact_of<int64_t>(item, "acknowledged_count")) != there.size() ||
      (names != there && !(may_be_hidden && names.empty()))) {
    model_.fail(Check::wait, step, text("roll call {} is not reported as it was", item.about.n));
  }
  roll_calls_.erase(at);
}

void ReceiptChecks::begin_receipt(const Step& step, const core::Envelope& e) {
  const core::Duration patience =
      e.response_timeout.us > 0 ? e.response_timeout : model_.messages.at(step.entry.seq).ttl;
  receipts_[step.entry.seq] = {std::string(e.sender),
                               patience.us > 0 ? model_.now + patience : base::time_max};
  model_.coverage.count("pattern", "receipt");
}

void ReceiptChecks::remove_sender(std::string_view name) {
  for (auto& [seq, roll_call] : roll_calls_) {
    roll_call.gone = roll_call.gone || roll_call.sender == name;
  }
}

void ReceiptChecks::stop_timer(Seq message) {
  const auto stop = [&](auto& items) {
    if (const auto at = items.find(message); at != items.end()) {
      at->second.left = at->second.due - model_.now;
      at->second.due = base::time_max;
    }
  };
  stop(roll_calls_);
  stop(receipts_);
}

void ReceiptChecks::start_timer(Seq message) {
  const auto start = [&](auto& items) {
    const auto at = items.find(message);
    if (at != items.end() && at->second.left) {
      at->second.due = model_.now + *std::exchange(at->second.left, {});
    }
  };
  start(roll_calls_);
  start(receipts_);
}

void ReceiptChecks::check(const Step& step) {
  if (passes_time(step)) {
    check_roll_calls(step);
    check_receipts(step);
  }
}

void ReceiptChecks::check_roll_calls(const Step& step) {
  for (auto at = roll_calls_.begin(); at != roll_calls_.end();) {
    const auto sent = model_.messages.find(at->first);
    const bool over =
        at->second.due <= model_.now || sent == model_.messages.end() || sent->second.is_final();
    if (over && !at->second.gone) {
      model_.fail(Check::wait, step, text("roll call {} should be reported", at->first.n));
    }
    at = over ? roll_calls_.erase(at) : std::next(at);
  }
}

// The receipt comes once: when all have acknowledged that can, or when it is too late. FL-01
void ReceiptChecks::on_receipt(const Step& step, const core::OutboxItem& item) {
  const auto at = receipts_.find(item.about);
  if (at == receipts_.end() || at->second.sender != item.to) {
    model_.fail(Check::wait, step,
                text("{} is told of, and should not be, or twice", item.about.n));
    return;
  }
  const SentMessage& sent = model_.messages.at(item.about);
  const std::vector<std::string> there = acknowledged_by(sent.deliveries);
  const bool in_time = item.kind == core::OutboxKind::acknowledged;
  const bool due = at->second.due <= model_.now;
  const bool is_so = in_time ? sent.is_final() && !there.empty() : due;
  // An acknowledgement of the same entry came after the time was over.
  const auto names = fact_of<std::vector<std::string>>(item, "acknowledged");
  if (!is_so || (in_time ? names != there : !std::ranges::includes(there, names))) {
    model_.fail(Check::wait, step, text("{} is not told of as it is", item.about.n));
  }
  receipts_.erase(at);
}

void ReceiptChecks::check_receipts(const Step& step) {
  for (auto at = receipts_.begin(); at != receipts_.end();) {
    const auto sent = model_.messages.find(at->first);
    if (sent == model_.messages.end()) {
      at = receipts_.erase(at);
      continue;
    }
    const bool ended = step.after.tables().pending.find_request(at->first) == nullptr;
    const bool over = at->second.due <= model_.now || sent->second.is_final();
    const bool is_summed_up =
        model_.outbox.summed_up(at->second.sender, core::OutboxKind::acknowledged) > 0 ||
        model_.outbox.summed_up(at->second.sender, core::OutboxKind::not_acknowledged) > 0;
    const bool is_unreported =
        std::ranges::any_of(sent->second.deliveries, &Delivery::is_acknowledged) &&
        model_.was_sender(at->second.sender, at->first) && !is_summed_up;
    if (ended ? is_unreported : over) {
      model_.fail(Check::wait, step, text("what became of {} should be told", at->first.n));
    }
    at = ended ? receipts_.erase(at) : std::next(at);
  }
}

}  // namespace parley::sim
