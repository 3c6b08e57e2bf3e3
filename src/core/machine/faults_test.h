// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/machine/tables.h"

namespace parley::core::testing {

// What must be true of the tables after every entry; empty when it is.
inline std::string fault_in(const Tables& t) {
  std::map<AgentRef, uint64_t> unsettled;
  std::map<Seq, uint32_t> pending;
  std::set<MessageRef> remembered;
  for (const auto& [id, letter] : t.dead_letters.all()) {
    pending[letter.message] += letter.is_open() ? 1 : 0;
  }
  for (uint32_t at = t.remembered.first(); at != none; at = t.remembered.next(at)) {
    if (!remembered.insert(t.remembered[at].message).second) {
      return "remembered twice";
    }
  }
  std::string fault;
  t.messages.each([&](MessageRef ref, const Message& message) {
    uint32_t open = 0;
    for (DeliveryRef d = message.deliveries; d != none; d = t.messages.delivery(d).sibling) {
      const Delivery& delivery = t.messages.delivery(d);
      open += is_final(delivery.state) ? 0 : 1;
      unsettled[delivery.receiver] += is_final(delivery.state) ? 0 : 1;
      const bool timed = is_held(delivery.state) || delivery.state == State::delayed;
      fault = timed == (delivery.timer != none) ? fault : "lease or delay without its deadline";
    }
    const bool needed = open > 0 || message.retained || message.watched || pending[message.seq] > 0;
    fault = open == message.open ? fault : "wrong count of open deliveries";
    fault = pending[message.seq] == message.dead_letters ? fault : "wrong count of dead letters";
    fault = needed != remembered.contains(ref) ? fault : "remembered and needed, or neither";
  });
  for (const AgentRef ref : t.agents.sorted()) {
    const Agent& agent = t.agents[ref];
    fault = agent.inbox.unsettled == unsettled[ref] ? fault : "wrong count of unsettled";
    for (const StreamRef stream : agent.streams) {
      const Stream& s = t.streams[stream];
      // Nothing waits that could be handed out while a stream has room.
      fault = s.held >= s.window || agent.inbox.first() == none ? fault : "a stream starves";
    }
  }
  fault = t.remembered.shares().total() <= t.rules.settled_max ? fault : "settled_max exceeded";
  fault = t.dead_letters.size() <= t.rules.dead_letters_max ? fault : "dead_letters_max exceeded";
  return fault;
}

}  // namespace parley::core::testing
