// SPDX-License-Identifier: Apache-2.0
#include "node/mailbox.h"

#include <utility>

namespace parley::node {

std::expected<void, base::Error> Mailbox::put(const core::Entry& entry, bool needs_sync) {
  // One command may be larger than the rest of the room, so that a limit set too low stops none.
  if (commands_ >= limits_.commands_max || bytes_ >= limits_.bytes_max) {
    return std::unexpected(base::Error{
        base::Code::overloaded,
        "the broker has " + std::to_string(commands_) + " commands (" + std::to_string(bytes_) +
            " bytes) waiting to be stored; send again after a pause",
        {}});
  }
  if (collecting_.bytes.size() >= limits_.batch_bytes) {
    full_.push_back(std::exchange(collecting_, {}));
  }
  Batch& batch = collecting_;
  const size_t before = batch.bytes.size();
  core::encode(entry, batch.bytes);
  batch.ends.push_back(batch.bytes.size());
  batch.first = batch.first == 0 ? entry.id.number : batch.first;
  batch.last = entry.id.number;
  batch.needs_sync |= needs_sync;
  ++commands_;
  bytes_ += batch.bytes.size() - before;
  return {};
}

void Mailbox::take(Batch& batch) {
  if (full_.empty()) {
    std::swap(batch, collecting_);
    collecting_.clear();
  } else {
    batch = std::move(full_.front());
    full_.pop_front();
  }
  commands_ -= batch.ends.size();
  bytes_ -= batch.bytes.size();
}

void Mailbox::Batch::clear() {
  // A rare huge batch must not hold its memory for ever.
  constexpr size_t keep_bytes = 4 * 1024 * 1024;
  if (bytes.capacity() > keep_bytes) {
    std::string().swap(bytes);
  }
  bytes.clear();
  ends.clear();
  first = 0;
  last = 0;
  needs_sync = false;
}

std::vector<std::string_view> Mailbox::Batch::payloads() const {
  std::vector<std::string_view> views;
  views.reserve(ends.size());
  size_t begin = 0;
  for (const size_t end : ends) {
    views.push_back(std::string_view(bytes).substr(begin, end - begin));
    begin = end;
  }
  return views;
}

}  // namespace parley::node
