// SPDX-License-Identifier: Apache-2.0
#include "view/feed/backlog.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace parley::view {

void Backlog::add(const core::Machine& machine, const core::Entry& entry,
                  const core::Outcome& outcome, std::span<const core::Effect> effects) {
  Part& part = open_part();
  const size_t before = part.facts.bytes();
  part.facts.add(machine, entry, outcome, effects);
  part.upto = entry.seq;
  ++part.entries;
  Held more{.bytes = part.facts.bytes() - before};
  if (const auto* send = std::get_if<core::Send>(&entry.command)) {
    more.record_bytes = send->envelope.body.size() + send->envelope.extra.size();
  }
  part.record_bytes += more.record_bytes;
  record_bytes_ += more.record_bytes;
  bytes_ += more.bytes;
  ++entries_;
  add(part.holders, entry, more);
  add(holders_, entry, more);
}

void Backlog::add(Holders& holders, const core::Entry& entry, const Held& more) {
  auto at = holders.find(std::pair(entry.workspace, entry.actor));
  if (at == holders.end()) {
    at = holders.try_emplace({entry.workspace, std::string(entry.actor)}).first;
  }
  at->second.bytes += more.bytes;
  at->second.record_bytes += more.record_bytes;
}

// The part that collects: the last one, or another when that is large enough.
Backlog::Part& Backlog::open_part() {
  if (parts_.empty()) {
    parts_.emplace_back();
  } else if (parts_.back().facts.size() >= options_.part_facts ||
             parts_.back().record_bytes >= options_.part_bytes) {
    parts_.back().facts.shrink();
    parts_.emplace_back();
  }
  return parts_.back();
}

void Backlog::take(Part& part) {
  CHECK(!parts_.empty());
  part = std::move(parts_.front());
  parts_.pop_front();
  entries_ -= part.entries;
}

void Backlog::committed(const Part& part) {
  bytes_ -= part.facts.bytes();
  record_bytes_ -= part.record_bytes;
  logged_bytes_ += part.record_bytes;
  for (const auto& [who, less] : part.holders) {
    const auto at = holders_.find(who);
    at->second.bytes -= less.bytes;
    at->second.record_bytes -= less.record_bytes;
    if (at->second.bytes == 0 && at->second.record_bytes == 0) {
      holders_.erase(at);
    }
  }
}

void Backlog::drop() {
  parts_.clear();
  entries_ = 0;
  logged_bytes_ = 0;
}

bool Backlog::is_full() const {
  return bytes_ >= options_.bytes_max || record_bytes_ >= options_.record_bytes_max;
}

bool Backlog::is_full_for(WorkspaceId workspace, std::string_view actor) const {
  if (is_full()) {
    return true;
  }
  const auto at = holders_.find(std::pair(workspace, actor));
  return at != holders_.end() &&
         (at->second.bytes > options_.bytes_max - bytes_ ||
          at->second.record_bytes > options_.record_bytes_max - record_bytes_);
}

bool Backlog::is_half_full() const {
  return bytes_ >= options_.bytes_max / 2 || record_bytes_ >= options_.record_bytes_max / 2;
}

}  // namespace parley::view
