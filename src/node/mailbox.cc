// SPDX-License-Identifier: Apache-2.0
#include "node/mailbox.h"

#include <algorithm>
#include <utility>

namespace parley::node {

std::expected<void, base::Error> Mailbox::put(const core::Entry& entry, bool needs_sync) {
  // One command may be larger than the rest of the room, so that a limit set too low stops none.
  if (collecting_.commands >= limits_.commands_max || collecting_.bytes >= limits_.bytes_max) {
    return std::unexpected(base::Error{
        base::Code::overloaded,
        "the broker has " + std::to_string(collecting_.commands) + " commands (" +
            std::to_string(collecting_.bytes) +
            " bytes) waiting to be stored; send again after a pause",
        {}});
  }
  collecting_.add(entry, needs_sync);
  return {};
}

void Mailbox::take(Batch& batch) {
  std::swap(batch, collecting_);
  collecting_.clear();
}

void Mailbox::Batch::add(const core::Entry& entry, bool entry_needs_sync) {
  if (parts.empty() || parts.back().bytes.size() >= part_bytes) {
    parts.emplace_back();
  }
  Part& part = parts.back();
  const size_t before = part.bytes.size();
  core::encode(entry, part.bytes);
  part.ends.push_back(part.bytes.size());
  bytes += part.bytes.size() - before;
  first = empty() ? entry.id.number : first;
  last = entry.id.number;
  needs_sync |= entry_needs_sync;
  ++commands;
}

void Mailbox::Batch::clear() {
  // A rare huge batch must not hold its memory for ever.
  constexpr size_t keep_bytes = 4 * part_bytes;
  parts.resize(std::min<size_t>(parts.size(), 1));
  for (Part& part : parts) {
    if (part.bytes.capacity() > keep_bytes) {
      std::string().swap(part.bytes);  // to assign an empty one keeps the room
    }
    part.bytes.clear();
    part.ends.clear();
  }
  commands = 0;
  bytes = 0;
  first = 0;
  last = 0;
  needs_sync = false;
}

std::vector<std::string_view> Mailbox::Batch::payloads() const {
  std::vector<std::string_view> views;
  views.reserve(commands);
  for (const Part& part : parts) {
    size_t begin = 0;
    for (const size_t end : part.ends) {
      views.push_back(std::string_view(part.bytes).substr(begin, end - begin));
      begin = end;
    }
  }
  return views;
}

}  // namespace parley::node
