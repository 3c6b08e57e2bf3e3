// SPDX-License-Identifier: Apache-2.0
#include "node/askers.h"

#include <utility>

namespace parley::node {

void Askers::add(Ticket ticket, Actor actor, Changes changes, Done done) {
  if (changes == Changes::something) {
    newest_[actor] = ticket;
  }
  while (first_ + waiting_.size() < ticket) {
    waiting_.emplace_back();
  }
  waiting_.push_back(std::move(done));
}

Askers::Done Askers::take(Ticket ticket) {
  // What was refused before is gone already.
  Done done;
  while (!waiting_.empty() && first_ <= ticket) {
    done = std::move(waiting_.front());
    waiting_.pop_front();
    ++first_;
  }
  if (waiting_.empty()) {
    newest_.clear();
  }
  return done;
}

}  // namespace parley::node
