// SPDX-License-Identifier: Apache-2.0
#include "core/holds/hold_acts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace parley::core {

namespace {

// The deliveries of one receiver, oldest first.
struct Moved {
  AgentRef receiver = none;
  std::vector<DeliveryRef> deliveries;
};

// Those that wait for their receivers, and are not on hold as they should be.
std::vector<Moved> waiting_deliveries(const Tables& t, std::span<const Seq> messages, bool held) {
  std::vector<Moved> moved;
  std::map<AgentRef, size_t> places;
  for (const Seq seq : messages) {
    for (DeliveryRef ref = t.messages.message(t.messages.find(seq)).deliveries; ref != none;
         ref = t.messages.delivery(ref).sibling) {
      const Delivery& delivery = t.messages.delivery(ref);
      if (is_final(delivery.state) || is_held(delivery.state) || delivery.on_hold == held) {
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

// Of what waits again for the agent: a client that came back meanwhile has what it saw before. That
// waits neither for room in its window nor for what stands before it.
void keep_seen_of(Dispatch& dispatch, AgentRef agent, const std::vector<DeliveryRef>& deliveries) {
  const Tables& t = dispatch.t;
  std::map<ResumeMark, StreamRef> came_back;  // by what its client saw last
  for (const StreamRef stream : t.agents[agent].streams) {
    if (const ResumeMark after = t.streams[stream].after; !after.is_none()) {
      came_back.try_emplace(after, stream);
    }
  }
  const auto stream_of = [&](const ResumeMark& mark) {
    const auto at = came_back.lower_bound(mark);
    return at != came_back.end() && at->first.covers(mark) ? at->second : none;
  };
  std::vector<std::tuple<ResumeMark, Seq, DeliveryRef, StreamRef>> seen;
  for (const DeliveryRef ref : deliveries) {
    const Delivery& delivery = t.messages.delivery(ref);
    for (const ResumeMark& mark : {delivery.mark, t.messages.marks.former(ref)}) {
      const StreamRef stream = stream_of(mark);
      if (delivery.state == State::queued && stream != none) {
        seen.emplace_back(mark, t.messages.message_of(ref).seq, ref, stream);
        break;
      }
    }
  }
  std::ranges::sort(seen);
  for (const auto& [mark, seq, ref, stream] : seen) {
    if (!dispatch.dead_letter_unfit(ref)) {
      dispatch.hand_out(ref, stream, State::offered);
    }
  }
}

}  // namespace

void hold_messages(Dispatch& dispatch, std::span<const Seq> messages, const Hold& hold) {
  Tables& t = dispatch.t;
  for (const Seq message : messages) {
    t.holds.add(message, hold);
  }
  for (const Moved& moved : waiting_deliveries(t, messages, true)) {
    Agent& agent = t.agents[moved.receiver];
    for (const DeliveryRef ref : moved.deliveries) {
      agent.inbox.take(t.messages, agent.discipline(), ref);
      t.messages.delivery(ref).on_hold = true;
    }
    dispatch.pump(moved.receiver);
  }
}

void release_messages(Dispatch& dispatch, std::span<const Seq> messages) {
  Tables& t = dispatch.t;
  for (const Seq message : messages) {
    t.holds.remove(message);
  }
  for (const Moved& moved : waiting_deliveries(t, messages, false)) {
    Agent& agent = t.agents[moved.receiver];
    for (const DeliveryRef ref : moved.deliveries) {
      t.messages.delivery(ref).on_hold = false;
    }
    agent.inbox.put_all(t.messages, agent.discipline(), moved.deliveries);
    keep_seen_of(dispatch, moved.receiver, moved.deliveries);
    dispatch.pump(moved.receiver);
  }
}

}  // namespace parley::core
