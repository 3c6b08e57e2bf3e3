// SPDX-License-Identifier: Apache-2.0
// Streams open, close, and keep what their clients have seen.
#include "core/delivery/stream_acts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/agents/presence.h"
#include "core/limits/rate_limit.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

}  // namespace

void hand_out_seen(Dispatch& dispatch, std::span<const DeliveryRef> deliveries,
                   std::span<const StreamRef> streams) {
  const Tables& t = dispatch.t;
  std::map<ResumeMark, StreamRef> came_back;  // by what its client saw last
  for (const StreamRef stream : streams) {
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
    if (delivery.state != State::queued || delivery.on_hold) {
      continue;
    }
    for (const ResumeMark& mark : {delivery.mark, t.messages.marks.former(ref)}) {
      if (const StreamRef stream = stream_of(mark); stream != none) {
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

void close_stream(Dispatch& dispatch, StreamRef ref, bool failed) {
  Tables& t = dispatch.t;
  const StreamId id = t.streams[ref].id;
  const AgentRef agent = t.streams[ref].agent;
  std::erase(t.agents[agent].streams, ref);
  // From the newest to the oldest, so that each goes back to the front of its channel. The oldest
  // is what the receiver works on: if that is what ends it each time, it is not to go on for ever.
  while (t.streams[ref].last != none) {
    const DeliveryRef last = t.streams[ref].last;
    const bool worked_on = failed && last == t.streams[ref].first;
    const ResumeMark mark = t.messages.delivery(last).mark;
    const ResumeMark former = t.messages.marks.former(last);
    const bool may_be_known = t.messages.delivery(last).may_be_known;
    dispatch.give_back(last, Duration{}, worked_on,
                       worked_on ? "the receiver's connection was lost" : "");
    Delivery& delivery = t.messages.delivery(last);
    delivery.may_be_known = may_be_known;
    if (!is_final(delivery.state)) {
      t.messages.marks.set(last, mark, former);
      delivery.lost = worked_on;
    }
  }
  t.streams.remove(ref);
  dispatch.emit(StreamClosed{.stream = id});
  if (t.agents[agent].streams.empty()) {
    presence::expect(t, agent);
  }
  dispatch.pump(agent);
}

Checked check(const ConstContext& context, const OpenStream&) {
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal has an inbox");
  }
  return check_redeliveries(context.t, context.actor, context.now());
}

Outcome on(Context& context, const OpenStream& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  if (command.stream.origin != context.entry.id.origin || command.stream == stream_none) {
    return refuse(Code::bad_request, "a stream belongs to the node that opens it");
  }
  if (command.window == 0 || command.window > t.rules.window_max) {
    return refuse(Code::bad_request,
                  "a window is 1 to " + std::to_string(t.rules.window_max) + " (window_max)");
  }
  if (t.streams.find(command.stream) != none) {
    return refuse(Code::conflict, "the stream is open already");
  }
  const std::vector<StreamRef>& open = t.agents[context.actor].streams;
  // The one that the mark is of, or one that was opened by a mark of the same: whoever names one of
  // these again never heard of the newer ones.
  const auto former = std::ranges::find_if(open, [&](StreamRef ref) {
    const Stream& stream = t.streams[ref];
    return !command.after.is_none() &&
           (stream.number == command.after.stream || stream.after.stream == command.after.stream);
  });
  const StreamRef resumed = former == open.end() ? none : *former;
  if (t.streams.size() - (resumed == none ? 0 : 1) >= t.rules.streams_max) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t.rules.streams_max) +
                                           " open streams already (streams_max)");
  }
  Stream stream;
  stream.id = command.stream;
  stream.agent = context.actor;
  stream.window = command.window;
  stream.after = command.after;
  stream.number = t.streams.new_number();
  const StreamRef opened = t.streams.add(stream);
  t.agents[context.actor].streams.push_back(opened);
  if (t.agents[context.actor].streams.size() == 1) {
    presence::connected(context.dispatch, context.actor);
  }
  if (resumed != none) {  // its connection is lost, and only the client knows yet
    close_stream(context.dispatch, resumed, false);
  }
  if (!command.after.is_none()) {
    hand_out_seen(context.dispatch, unsettled_of(t, context.actor), std::span(&opened, 1));
  }
  context.dispatch.pump(context.actor);
  return Receipt{};
}

Outcome on(Context& context, const CloseStream& command) {
  Tables& t = context.t;
  const StreamRef stream = t.streams.find(command.stream);
  if (stream == none || (context.actor != none && t.streams[stream].agent != context.actor)) {
    return refuse(Code::not_found, "there is no such stream of yours");
  }
  close_stream(context.dispatch, stream, true);
  return Receipt{};
}

}  // namespace parley::core
