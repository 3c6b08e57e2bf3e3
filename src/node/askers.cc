// SPDX-License-Identifier: Apache-2.0
#include "node/askers.h"

#include <utility>

namespace parley::node {

void Askers::add(Ticket ticket, Actor actor, Changes changes, uint64_t bytes, Done done) {
  Untold& untold = untold_[actor];
  untold.newest = changes == Changes::something ? ticket : untold.newest;
  untold.bytes += bytes;
  while (first_ + waiting_.size() < ticket) {
    waiting_.emplace_back();
  }
  waiting_.push_back({std::move(done), actor, bytes});
}

Askers::Done Askers::take(Ticket ticket) {
  // What was refused before is gone already.
  Done done;
  while (!waiting_.empty() && first_ <= ticket) {
    Asker& asker = waiting_.front();
    if (asker.bytes > 0) {
      untold_[asker.actor].bytes -= asker.bytes;
    }
    done = std::move(asker.done);
    waiting_.pop_front();
    ++first_;
  }
  if (waiting_.empty()) {
    untold_.clear();
  }
  return done;
}

}  // namespace parley::node
