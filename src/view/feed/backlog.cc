// SPDX-License-Identifier: Apache-2.0
#include "view/feed/backlog.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace parley::view {

namespace {

// So many parts may be committed before new ones are needed again. More would hold memory that only
// a long burst has a use for.
constexpr size_t spare_max = 8;

}  // namespace

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
  const bool first = parts_.empty();
  if (first || parts_.back().facts.size() >= options_.part_facts ||
      parts_.back().record_bytes >= options_.part_bytes) {
    parts_.emplace_back();
    if (!spare_.empty()) {
      parts_.back().facts = std::move(spare_.back());
      spare_.pop_back();
    } else if (!first) {
      // A second part means a burst, which will fill it. A first part mostly stays small.
      parts_.back().facts.reserve(options_.part_facts + options_.part_facts / 4);
    }
  }
  return parts_.back();
}

void Backlog::take(Part& part) {
  CHECK(!parts_.empty());
  part = std::move(parts_.front());
  parts_.pop_front();
  entries_ -= part.entries;
}

void Backlog::committed(Part& part) {
  bytes_ -= part.facts.bytes();
  record_bytes_ -= part.record_bytes;
  logged_bytes_ += part.record_bytes;
  // A part that was cut short by few large messages has little memory to give.
  if (spare_.size() < spare_max && part.facts.size() >= options_.part_facts / 2) {
    part.facts.clear();
    spare_.push_back(std::move(part.facts));
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

bool Backlog::is_half_full() const {
  return bytes_ >= options_.bytes_max / 2 || record_bytes_ >= options_.record_bytes_max / 2;
}

}  // namespace parley::view
