// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "core/messages/message.h"
#include "core/model/resume_mark.h"

namespace parley::core {

// A connection that messages are pushed to. What it holds is linked by Delivery::next, in the
// order in which its client saw it: first what was seen before this stream was opened, then what
// it handed out.
struct Stream {
  StreamId id;
  AgentRef agent = none;
  uint32_t window = 0;
  uint32_t held = 0;
  DeliveryRef first = none;
  DeliveryRef last_seen = none;  // of those that were seen before
  DeliveryRef last = none;
  ResumeMark after;         // what its client saw before
  uint32_t number = 0;      // its own in the workspace, in its marks
  uint32_t handed_out = 0;  // counted in its marks

  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("agent", self.agent, SlotOf::agent);
    field("window", self.window);
    field("after", self.after);
    field("number", self.number);
    field("handed_out", self.handed_out);
  }
};

class Streams {
 public:
  Stream& operator[](StreamRef ref) { return streams_[ref]; }
  const Stream& operator[](StreamRef ref) const { return streams_[ref]; }

  StreamRef find(const StreamId& id) const {
    const auto at = by_id_.find(id);
    return at == by_id_.end() ? none : at->second;
  }
  StreamRef add(const Stream& stream) {
    const StreamRef ref = streams_.add(stream);
    by_id_.emplace(stream.id, ref);
    return ref;
  }
  void remove(StreamRef ref) {
    by_id_.erase(streams_[ref].id);
    streams_.remove(ref);
  }

  const std::map<StreamId, StreamRef>& by_id() const { return by_id_; }
  size_t size() const { return by_id_.size(); }

  // A number that no stream of the workspace had.
  uint32_t new_number() { return ++numbered_ == 0 ? ++numbered_ : numbered_; }
  uint32_t numbered() const { return numbered_; }
  void set_numbered(uint32_t numbered) { numbered_ = numbered; }

 private:
  Slots<Stream> streams_;
  std::map<StreamId, StreamRef> by_id_;
  uint32_t numbered_ = 0;  // the newest number
};

}  // namespace parley::core
