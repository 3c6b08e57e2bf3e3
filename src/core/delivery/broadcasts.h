// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"

namespace parley::core {

using base::Seq;

class Reader;
class Writer;

// Broadcasts that are kept in memory only, while a receiver has not settled them; with the life of
// the node that accepted each. Such a message ends with its time to live or with that life, and
// leaves no dead letter: nobody was promised more.
class Broadcasts {
 public:
  void add(Seq message, uint64_t life) { lives_.emplace(message, life); }
  void remove(Seq message) { lives_.erase(message); }
  bool contains(Seq message) const { return lives_.contains(message); }
  // Those that this life of a node accepted, oldest first. Walks all there are.
  std::vector<Seq> of(uint64_t life) const;
  const std::map<Seq, uint64_t>& all() const { return lives_; }

  void encode(Writer& out) const;
  // False when the bytes are no such table.
  bool decode(Reader& in);

  uint64_t unheard = 0;  // deliveries of such messages that ended, and were not acknowledged

 private:
  std::map<Seq, uint64_t> lives_;
};

}  // namespace parley::core
