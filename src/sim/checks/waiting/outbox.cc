// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/outbox.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "sim/model/topics.h"
#include "sim/text.h"

namespace parley::sim {

// A summary that grew is another item, and the former one is gone.
void OutboxChecks::learn_summaries(const Step& step) {
  const auto* const send = done<core::Send>(step);
  std::map<std::string, ModelOutbox::Summary> after;
  for (const auto& [id, item] : step.after.tables().outbox.all()) {
    if (item.kind != core::OutboxKind::summary) {
      continue;
    }
    ModelOutbox::Summary& summary = after[item.to];
    summary.outbox_item = id;
    const auto before = model_.outbox.summaries.find(item.to);
    const bool goes_on = before != model_.outbox.summaries.end() &&
                         (send == nullptr || send->outbox_item != before->second.outbox_item);
    for (const core::Fact& fact : item.facts) {
      if (const auto* count = std::get_if<int64_t>(&fact.value)) {
        summary.counts[fact.name] = static_cast<int>(*count);
        summary.added[fact.name] =
            static_cast<int>(*count) - (goes_on ? before->second.counts[fact.name] : 0);
      }
    }
    if (goes_on && before->second.outbox_item != id) {
      model_.outbox.items.erase(before->second.outbox_item);
    }
  }
  model_.outbox.summaries = std::move(after);
}

void OutboxChecks::on_owed(const Step& step, const NamedEffect& effect) {
  model_.coverage.count("outbox", core::outbox_kind_name(effect.outbox_kind));
  const bool is_new = model_.outbox.items.emplace(effect.outbox_item, effect.receiver).second;
  // A summary that grows is told of again: see learn_summaries.
  if (!is_new && effect.outbox_kind != core::OutboxKind::summary) {
    model_.fail(Check::notice, step, text("outbox item {} is told twice", effect.outbox_item));
  }
  if (effect.outbox_kind == core::OutboxKind::published) {
    learn_news(step, effect.outbox_item);
  }
}

// Who is named in the news of a task, of a pipeline or of an act is concerned. Only the outbox says
// what is in them, until they are sent.
void OutboxChecks::learn_news(const Step& step, uint64_t id) {
  const core::OutboxItem* const item = step.after.tables().outbox.find(id);
  if (item == nullptr || !is_for_concerned(item->to)) {
    return;
  }
  ModelOutbox::News& news = model_.outbox.news[id];
  for (const std::string_view role : {"sender", "receiver", "by", "owner", "agent", "subject"}) {
    news.concerned.insert(fact_of<std::string>(*item, role));
  }
  news.about = Seq{static_cast<uint64_t>(fact_of<int64_t>(*item, "seq"))};
  for (const auto& [first, pipeline] : model_.pipelines) {
    if (pipeline.header.sender == fact_of<std::string>(*item, "owner") &&
        base::format_uuid(pipeline.id) == fact_of<std::string>(*item, "pipeline")) {
      news.stages.insert(pipeline.stages.begin(), pipeline.stages.end());
      news.pipeline = first;
    }
  }
}

void OutboxChecks::on_owed_and_sent(const core::Send& send) {
  model_.outbox.items.emplace(send.outbox_item, std::string(send.envelope.receivers.front()));
}

void OutboxChecks::check(const Step& step) {
  if (const auto* send = done<core::Send>(step); send != nullptr && send->outbox_item != 0) {
    if (model_.outbox.items.erase(send->outbox_item) == 0) {
      model_.fail(Check::notice, step, text("outbox item {} is done twice", send->outbox_item));
    }
    model_.coverage.count("case", "notice");
  }
  // An item that could not be sent is dropped: what it was for has ended.
  if (const auto* send = asked<core::Send>(step);
      send != nullptr && step.entry.actor == core::broker_name && !step.outcome &&
      model_.outbox.items.erase(send->outbox_item) > 0) {
    model_.coverage.count("case", "refused");
  }
  if (const auto* gone = done<core::Unregister>(step)) {
    // Gone with it: what it was to be told, and the next stage of its pipelines.
    std::erase_if(model_.outbox.items, [&](const auto& item) {
      return item.second == gone->name || step.after.tables().outbox.find(item.first) == nullptr;
    });
  }
  std::erase_if(model_.outbox.news,
                [this](const auto& item) { return !model_.outbox.items.contains(item.first); });
  if (!std::ranges::equal(std::views::keys(step.after.tables().outbox.all()),
                          std::views::keys(model_.outbox.items))) {
    model_.fail(Check::notice, step,
                text("{} outbox items are kept, told of {}", step.after.tables().outbox.size(),
                     model_.outbox.items.size()));
  }
}

}  // namespace parley::sim
