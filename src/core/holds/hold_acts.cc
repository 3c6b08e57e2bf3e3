// SPDX-License-Identifier: Apache-2.0
#include "core/holds/hold_acts.h"

#include <map>
#include <vector>

#include "core/delivery/stream_acts.h"

namespace parley::core {

namespace {

// The deliveries of one receiver, oldest first.
struct Moved {
  AgentRef receiver = none;
  std::vector<DeliveryRef> deliveries;
};

// Those that wait for their receivers in line and are to be held, or are on hold and nothing holds
// them any more.
std::vector<Moved> deliveries_to_move(const Tables& t, std::span<const Seq> messages,
                                      bool to_hold) {
  std::vector<Moved> moved;
  std::map<AgentRef, size_t> places;
  for (const Seq seq : messages) {
    for (const DeliveryRef ref : open_of(t, t.messages.find(seq))) {
      const Delivery& delivery = t.messages.delivery(ref);
      if (is_held(delivery.state) || delivery.on_hold == to_hold ||
          t.holds.contains(seq, delivery.receiver) != to_hold) {
        continue;
      }
      const auto [at, is_new] = places.try_emplace(delivery.receiver, moved.size());
      if (is_new) {
        moved.push_back({delivery.receiver, {}});
      }
      moved[at->second].deliveries.push_back(ref);
    }
  }
  return moved;
}

}  // namespace

void hold_messages(Dispatch& dispatch, std::span<const Seq> messages, const Hold& hold) {
  Tables& t = dispatch.t;
  for (const Seq message : messages) {
    t.holds.add(message, hold);
  }
  for (const Moved& moved : deliveries_to_move(t, messages, true)) {
    Agent& agent = t.agents[moved.receiver];
    for (const DeliveryRef ref : moved.deliveries) {
      agent.inbox.take(t.messages, agent.discipline(), ref);
      t.messages.delivery(ref).on_hold = true;
    }
    dispatch.pump(moved.receiver);
  }
}

void release_messages(Dispatch& dispatch, std::span<const Seq> messages, const Hold& hold) {
  Tables& t = dispatch.t;
  for (const Seq message : messages) {
    t.holds.remove(message, hold);
  }
  for (const Moved& moved : deliveries_to_move(t, messages, false)) {
    Agent& agent = t.agents[moved.receiver];
    for (const DeliveryRef ref : moved.deliveries) {
      t.messages.delivery(ref).on_hold = false;
    }
    agent.inbox.put_all(t.messages, agent.discipline(), moved.deliveries);
    hand_out_seen(dispatch, moved.deliveries, agent.streams);  // who came back while it was held
    dispatch.pump(moved.receiver);
  }
}

}  // namespace parley::core
