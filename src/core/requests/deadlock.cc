// SPDX-License-Identifier: Apache-2.0
// Who waits for whom, and a request that would let several wait for each other for ever.
#include "core/requests/deadlock.h"

#include <algorithm>

#include "core/delivery/redelivery.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

}  // namespace

void unblock(Tables& t, MessageRef ref) {
  Message& message = t.messages.message(ref);
  if (message.blocks) {
    t.wait_graph.remove(message.seq);
    message.blocks = false;
  }
}

void unblock_callers(Tables& t, uint64_t life) {
  std::vector<Seq> gone;
  for (const auto& [seq, edge] : t.wait_graph.edges()) {
    if (edge.life == life) {
      gone.push_back(seq);
    }
  }
  std::ranges::for_each(gone, [&t](Seq seq) { unblock(t, t.messages.find(seq)); });
}

void unblock_all(Tables& t, AgentRef agent) {
  t.wait_graph.expire(t.now);  // a machine from a snapshot does not have those any more
  std::vector<MessageRef> waiting;
  for (const auto& [seq, edge] : t.wait_graph.edges()) {
    if (edge.from == agent || edge.to == agent) {
      waiting.push_back(t.messages.find(seq));
    }
  }
  std::ranges::for_each(waiting, [&t](MessageRef ref) { unblock(t, ref); });
}

// Where the answer goes to another, its sender waits for nothing; but if it passes a request on,
// who waits for that waits for this.
std::optional<WaitGraph::Edge> wait_of(const ConstContext& context, const Send& command,
                                       const Route& route, MessageRef cause) {
  const Tables& t = context.t;
  const Envelope& e = command.envelope;
  const bool refused =
      !route.absent.empty() && !will_be_retried(t, e.dialect, route.absent.front());
  if (!asks(e.kind) || context.actor == none || !route.is_one() || refused || command.gathering ||
      !command.later_stages.empty()) {
    return std::nullopt;
  }
  WaitGraph::Edge edge{
      .message = context.entry.seq, .from = context.actor, .to = route.agents.front()};
  if (!e.reply_to.empty() && e.reply_to != e.sender) {
    const WaitGraph::Edge* const first =
        cause == none ? nullptr : t.wait_graph.find(t.messages.message(cause).seq);
    if (first == nullptr || first->from == edge.to || first->until <= context.now() ||
        t.agents[t.messages.message(cause).answers_to()].name != e.reply_to) {
      return std::nullopt;
    }
    edge.from = first->from;
    edge.until = first->until;
    edge.carries = first->carries.n == 0 ? first->message : first->carries;
    return edge;
  }
  if (policy_of(e.dialect).requests_block) {
    edge.until = base::time_max;
  } else if (command.wait.us > 0) {
    edge.until = context.now() + command.wait;
    edge.life = context.entry.id.origin;
  } else {
    return std::nullopt;
  }
  edge.asks_back = cause != none && t.messages.message(cause).answers_to() == edge.to;
  return edge;
}

MessageRef cause_of(const ConstContext& context, const Send& command, const Route& route) {
  const Tables& t = context.t;
  const Envelope& e = command.envelope;
  const MessageId& id = e.in_reply_to.is_none() ? command.cause : e.in_reply_to;
  if (!asks(e.kind) || id.is_none() || context.actor == none) {
    return none;
  }
  // Several may have used the id: who is asked back is meant, or who is to get the answer.
  MessageRef found = none;
  if (route.is_one()) {
    found = t.messages.find_received(context.actor, id, route.agents.front());
  }
  if (const AgentRef other = t.agents.find(e.reply_to); found == none && other != none) {
    found = t.messages.find_received(context.actor, id, other);
  }
  if (found == none) {
    found = t.messages.find_received(context.actor, id);
  }
  const bool is_open =
      found != none && asks(t.messages.message(found).kind) &&
      !t.messages.message(found).timed_out &&
      t.messages.delivery(t.messages.delivery_to(found, context.actor)).state <= State::acked;
  return is_open ? found : none;
}

std::vector<WaitGraph::Edge> find_circle(const Tables& t, const WaitGraph::Edge& edge) {
  if (edge.asks_back) {
    return {};
  }
  std::vector<WaitGraph::Edge> edges;
  if (edge.from != edge.to) {
    edges = t.wait_graph.path(edge.to, edge.from);
    if (edges.empty()) {
      return {};
    }
  }
  edges.insert(edges.begin(), edge);
  return edges;
}

Error deadlock_error(const Tables& t, const std::vector<WaitGraph::Edge>& edges,
                     const Send& command) {
  Error error{Code::deadlock, {}, "/receiver"};
  for (const WaitGraph::Edge& edge : edges) {
    const MessageRef ref = t.messages.find(edge.message);
    error.cycle.push_back(
        {t.agents[edge.from].name, ref == none ? command.envelope.id : t.messages.message(ref).id});
  }
  error.detail = circle_text(
      error.cycle, [](const base::WaitInCycle& each) { return base::format_uuid(each.message); });
  return error;
}

std::string circle_text(std::span<const base::WaitInCycle> cycle,
                        const std::function<std::string(const base::WaitInCycle&)>& id) {
  std::string text = "this request closes a circle of those who wait for each other: ";
  for (size_t n = 0; n < cycle.size(); ++n) {
    const base::WaitInCycle& next = cycle[n + 1 == cycle.size() ? 0 : n + 1];
    text +=
        quoted(cycle[n].agent) + " waits for " + quoted(next.agent) + " (" + id(cycle[n]) + "), ";
  }
  return text +
         "so none of them could go on; answer what you were asked first, or send a message that "
         "waits for no answer";
}

void block(Tables& t, const WaitGraph::Edge& edge, MessageRef ref) {
  Message& message = t.messages.message(ref);
  if (message.open == 0) {
    return;
  }
  message.blocks = true;
  t.wait_graph.add(edge);
}

std::expected<void, Error> block_again(Context& context, const Send& command, MessageRef ref) {
  Tables& t = context.t;
  const Message& message = t.messages.message(ref);
  t.wait_graph.expire(t.now);
  if (const WaitGraph::Edge* const edge = t.wait_graph.find(message.seq)) {
    if (edge->life != 0) {
      t.wait_graph.prolong(message.seq, t.now + command.wait, context.entry.id.origin);
    }
    return {};
  }
  // By its key it may be another one than it was.
  if (!asks(message.kind) || message.reply_to != none || !message.is_direct() ||
      command.gathering || !command.later_stages.empty() || message.answer.n != 0 ||
      message.timed_out || t.messages.has_failed(ref)) {
    return {};
  }
  Route route;
  route.agents = {t.messages.delivery(message.deliveries).receiver};
  auto edge = wait_of(context, command, route, cause_of(context, command, route));
  if (!edge || edge->carries.n != 0) {
    return {};
  }
  edge->message = message.seq;
  const std::vector<WaitGraph::Edge> in_circle = find_circle(t, *edge);
  if (!in_circle.empty() &&
      static_cast<DeadlockPolicy>(t.rules.collab_deadlock) == DeadlockPolicy::abort) {
    return std::unexpected(deadlock_error(t, in_circle, command));
  }
  t.messages.message(ref).blocks = true;
  t.wait_graph.add(*edge);
  return {};
}

// A caller that hung up waits no more. A request that blocks by its dialect waits by itself.
Outcome on(Context& context, const StopWaiting& command) {
  Tables& t = context.t;
  const MessageRef ref = t.messages.find(command.message);
  if (ref == none || t.messages.message(ref).sender != context.actor) {
    return std::unexpected(Error{Code::not_found, "you sent no such message", {}});
  }
  if (!policy_of(t.messages.message(ref).dialect).requests_block) {
    unblock(t, ref);
  }
  return Receipt{};
}

}  // namespace parley::core
