// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "core/model/effect.h"
#include "core/model/entry.h"

namespace parley::node {

// Where the messages of one stream go.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // One that its client has not seen. `envelope` is the message when it is at hand, because it was
  // sent just now; else null, and its record has it. Good during the call.
  virtual void deliver(const core::Deliver& delivery, const core::Envelope* envelope) = 0;
  // The machine closed the stream: its agent was removed, or another stream took its place.
  virtual void stream_closed() = 0;
};

// The streams that one life of a node has opened: who receives what is handed out to each, and
// which are still to be closed in the machine. Belongs to the node's thread.
class OpenStreams {
 public:
  explicit OpenStreams(uint64_t origin) : origin_(origin) {}

  // A stream with a number of its own. The receiver stays until `remove`, or until it hears that
  // the machine closed the stream.
  core::StreamId add(Receiver& receiver);
  // False when it was not there any more.
  bool remove(const core::StreamId& stream) { return receivers_.erase(stream.number) > 0; }

  // Tells the receiver of the stream that the effect is about, if that is one of these.
  void hear(const core::Entry& entry, const core::Effect& effect);

  // A stream that nobody receives goes on to be handed messages, each for the time of its lease. So
  // a close that there was no room for is tried again after a second.
  struct Closing {
    core::WorkspaceId workspace;
    core::StreamId stream;
  };
  void put_off(const Closing& closing, base::Time now);
  // Those that are to be tried again by now; they are forgotten here.
  std::vector<Closing> take_due(base::Time now);
  // When there are some; time_max: none.
  base::Time due() const { return due_; }

 private:
  uint64_t origin_;
  uint64_t next_ = 1;
  std::unordered_map<uint64_t, Receiver*> receivers_;  // by stream number
  std::vector<Closing> closings_;
  base::Time due_ = base::time_max;
};

}  // namespace parley::node
