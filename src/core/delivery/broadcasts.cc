// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/broadcasts.h"

#include "core/model/wire.h"

namespace parley::core {

std::vector<Seq> Broadcasts::of(uint64_t life) const {
  std::vector<Seq> messages;
  for (const auto& [message, accepted_in] : lives_) {
    if (accepted_in == life) {
      messages.push_back(message);
    }
  }
  return messages;
}

void Broadcasts::encode(Writer& out) const {
  out.varint(unheard);
  out.varint(lives_.size());
  for (const auto& [message, life] : lives_) {
    out.seq(message);
    out.fixed64(life);
  }
}

bool Broadcasts::decode(Reader& in) {
  unheard = in.varint();
  for (size_t left = in.count(8); left > 0 && in.ok(); --left) {
    const Seq message = in.seq();
    if (!lives_.empty() && message <= lives_.rbegin()->first) {
      return false;
    }
    lives_.emplace_hint(lives_.end(), message, in.fixed64());
  }
  return in.ok();
}

}  // namespace parley::core
