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
  if (const auto* send = std::get_if<core::Send>(&entry.command)) {
    const size_t bytes = send->envelope.body.size() + send->envelope.extra.size();
    part.record_bytes += bytes;
    record_bytes_ += bytes;
  }
  bytes_ += part.facts.bytes() - before;
  ++entries_;
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
}

void Backlog::drop() {
  parts_.clear();
  entries_ = 0;
  logged_bytes_ = 0;
}

bool Backlog::is_full() const {
  return bytes_ >= options_.bytes_max || record_bytes_ >= options_.record_bytes_max;
}

bool Backlog::is_half_full() const {
  return bytes_ >= options_.bytes_max / 2 || record_bytes_ >= options_.record_bytes_max / 2;
}

}  // namespace parley::view
