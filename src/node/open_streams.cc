// SPDX-License-Identifier: Apache-2.0
#include "node/open_streams.h"

#include <utility>
#include <variant>

namespace parley::node {

core::StreamId OpenStreams::add(Receiver& receiver) {
  const core::StreamId stream{origin_, next_++};
  receivers_.emplace(stream.number, &receiver);
  return stream;
}

void OpenStreams::hear(const core::Entry& entry, const core::Effect& effect) {
  if (const auto* deliver = std::get_if<core::Deliver>(&effect)) {
    if (deliver->stream.origin != origin_ || deliver->seen) {
      return;
    }
    if (const auto at = receivers_.find(deliver->stream.number); at != receivers_.end()) {
      const auto* send = std::get_if<core::Send>(&entry.command);
      at->second->deliver(
          *deliver, send != nullptr && deliver->message == entry.seq ? &send->envelope : nullptr);
    }
  } else if (const auto* closed = std::get_if<core::StreamClosed>(&effect)) {
    if (closed->stream.origin != origin_) {
      return;
    }
    if (const auto node = receivers_.extract(closed->stream.number)) {
      node.mapped()->stream_closed();
    }
  }
}

void OpenStreams::put_off(const Closing& closing, base::Time now) {
  closings_.push_back(closing);
  due_ = now + base::seconds(1);
}

std::vector<OpenStreams::Closing> OpenStreams::take_due(base::Time now) {
  if (due_ > now) {
    return {};
  }
  due_ = base::time_max;
  return std::exchange(closings_, {});
}

}  // namespace parley::node
