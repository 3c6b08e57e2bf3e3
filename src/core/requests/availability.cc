// SPDX-License-Identifier: Apache-2.0
// What becomes of a message to one who is away, and of a request that would let several wait for
// each other for ever.
#include <algorithm>

#include "core/agents/presence.h"
#include "core/machine/workspace.h"
#include "core/model/refusal.h"
#include "core/model/sizes.h"

namespace parley::core {

namespace {

using base::Code;

OnUnavailable policy_of(const Rules& rules, const Send& command) {
  if (command.on_unavailable != OnUnavailable::by_rules) {
    return command.on_unavailable;
  }
  return command.envelope.dialect == Dialect::collab
             ? static_cast<OnUnavailable>(rules.collab_on_unavailable + 1)
             : OnUnavailable::queue;
}

}  // namespace

// Finds those of the named receivers who are away, and who stands in for them. An answer goes to
// who asked, and no one else.
void Workspace::check_availability(const Asking& turn, const Send& command, Route& route) const {
  const OnUnavailable policy = policy_of(t_.rules, command);
  if (policy == OnUnavailable::queue || turn.actor == none || route.everyone ||
      !route.topic.empty() || command.envelope.kind == Kind::response) {
    return;
  }
  // What is said in a session stays among those who take part.
  const Session* const session = t_.sessions.find(command.envelope.session);
  for (AgentRef& receiver : route.agents) {
    if (t_.agents[receiver].is_available()) {
      continue;
    }
    if (policy == OnUnavailable::fail) {
      route.absent.push_back(receiver);
      continue;
    }
    const AgentRef other = presence::stand_in(t_, receiver, turn.actor, command.envelope.action,
                                              session, route.agents);
    if (other != none &&
        size_fault(t_.rules, t_.agents[other], command.envelope.dialect, sizes_of(command.envelope))
            .empty()) {
      route.redirected.emplace_back(other, receiver);
      receiver = other;
    }
  }
}

// It was sent before and refused because its receiver was away. Is that one back, or does its
// sender say now what else is to become of it, that is done; else it hears the same again.
Outcome Workspace::repeat_refused(Turn& turn, const Send& command, MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  const DeliveryRef delivery = message.deliveries;
  const AgentRef away = t_.messages.delivery(delivery).receiver;
  const OnUnavailable policy = policy_of(t_.rules, command);
  if (!t_.agents[away].is_available() && policy == OnUnavailable::fail) {
    return refuse(Code::receiver_unavailable, presence::why_away(t_.agents[away]), "/receiver");
  }
  AgentRef other = none;
  if (!t_.agents[away].is_available() && policy == OnUnavailable::redirect) {
    other = presence::stand_in(t_, away, turn.actor, command.envelope.action,
                               t_.sessions.find(command.envelope.session), {});
  }
  for (const auto& [id, letter] : t_.dead_letters.all()) {
    if (letter.message == message.seq && letter.is_open()) {
      Outcome retried = retry(turn, *t_.dead_letters.find(id), other);
      if (retried) {
        t_.messages.message(ref).refused = false;
      }
      return retried;
    }
  }
  return refuse(Code::receiver_unavailable, presence::why_away(t_.agents[away]), "/receiver");
}

// Who goes on only when this request is answered: the sender of collab's commands and queries, and
// who blocks for it. One who asks several goes on with the first. Where the answer goes to another,
// its sender waits for nothing; but if it passes a request on, who waits for that waits for this.
std::optional<WaitGraph::Edge> Workspace::wait_of(const Asking& turn, const Send& command,
                                                  const Route& route, MessageRef cause) const {
  const Envelope& e = command.envelope;
  const bool refused =
      !route.absent.empty() && !Dispatch::is_tried_again(t_, e.dialect, route.absent.front());
  if (!asks(e.kind) || turn.actor == none || !route.is_one() || refused || command.gathering ||
      !command.later_stages.empty()) {
    return std::nullopt;
  }
  WaitGraph::Edge edge{.message = turn.entry.seq, .from = turn.actor, .to = route.agents.front()};
  if (!e.reply_to.empty() && e.reply_to != e.sender) {
    const WaitGraph::Edge* const first =
        cause == none ? nullptr : t_.waits.find(t_.messages.message(cause).seq);
    if (first == nullptr || first->from == edge.to || first->until <= turn.now() ||
        t_.agents[t_.messages.message(cause).answers_to()].name != e.reply_to) {
      return std::nullopt;
    }
    edge.from = first->from;
    edge.until = first->until;
    edge.carries = first->carries.n == 0 ? first->message : first->carries;
    return edge;
  }
  if (e.dialect == Dialect::collab) {
    edge.until = base::time_max;
  } else if (command.wait.us > 0) {
    edge.until = turn.now() + command.wait;
    edge.node = turn.entry.id.origin;
  } else {
    return std::nullopt;
  }
  edge.asks_back = cause != none && t_.messages.message(cause).answers_to() == edge.to;
  return edge;
}

// The request that the sender works on with this one: it got it, has not answered it, and someone
// still waits for that. none: there is no such.
MessageRef Workspace::cause_of(const Asking& turn, const Send& command, const Route& route) const {
  const Envelope& e = command.envelope;
  const MessageId& id = e.in_reply_to.is_none() ? command.cause : e.in_reply_to;
  if (!asks(e.kind) || id.is_none() || turn.actor == none) {
    return none;
  }
  // Several may have used the id: who is asked back is meant, or who is to get the answer.
  MessageRef found = none;
  if (route.is_one()) {
    found = t_.messages.find_received(turn.actor, id, route.agents.front());
  }
  if (const AgentRef other = t_.agents.find(e.reply_to); found == none && other != none) {
    found = t_.messages.find_received(turn.actor, id, other);
  }
  if (found == none) {
    found = t_.messages.find_received(turn.actor, id);
  }
  const bool is_open =
      found != none && asks(t_.messages.message(found).kind) &&
      !t_.messages.message(found).timed_out &&
      t_.messages.delivery(t_.messages.delivery_to(found, turn.actor)).state <= State::acked;
  return is_open ? found : none;
}

// The circle that the edge would close: who waits for whom, the sender first. Empty: none. A
// question to the one whose request it works on closes none.
std::vector<WaitGraph::Edge> Workspace::circle(const WaitGraph::Edge& edge) const {
  if (edge.asks_back) {
    return {};
  }
  std::vector<WaitGraph::Edge> edges;
  if (edge.from != edge.to) {
    edges = t_.waits.path(edge.to, edge.from);
    if (edges.empty()) {
      return {};
    }
  }
  edges.insert(edges.begin(), edge);
  return edges;
}

Error Workspace::deadlock(const std::vector<WaitGraph::Edge>& edges, const Send& command) const {
  Error error{Code::deadlock,
              "this request closes a circle of those who wait for each other: ", "/receiver"};
  for (const WaitGraph::Edge& edge : edges) {
    const MessageRef ref = t_.messages.find(edge.message);
    const MessageId id = ref == none ? command.envelope.id : t_.messages.message(ref).id;
    error.detail += quoted(t_.agents[edge.from].name) + " waits for " +
                    quoted(t_.agents[edge.to].name) + " (" + base::format_uuid(id) + "), ";
    error.cycle.push_back(t_.agents[edge.from].name);
  }
  error.cycle.push_back(t_.agents[edges.front().from].name);
  error.detail +=
      "so none of them could go on; answer what you were asked first, or send a "
      "message that waits for no answer";
  return error;
}

void Workspace::begin_wait(const WaitGraph::Edge& edge, MessageRef ref) {
  Message& message = t_.messages.message(ref);
  if (message.open == 0) {
    return;
  }
  message.blocks = true;
  t_.waits.add(edge);
}

// Sent before, and now its sender blocks for the answer.
std::expected<void, Error> Workspace::wait_again(Turn& turn, const Send& command, MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  t_.waits.expire(t_.now);
  if (const WaitGraph::Edge* const edge = t_.waits.find(message.seq)) {
    if (edge->node != 0) {
      t_.waits.prolong(message.seq, t_.now + command.wait, turn.entry.id.origin);
    }
    return {};
  }
  // By its key it may be another one than it was.
  if (!asks(message.kind) || message.reply_to != none || !message.is_direct() ||
      command.gathering || !command.later_stages.empty() || message.answer.n != 0 ||
      message.timed_out || t_.messages.has_failed(ref)) {
    return {};
  }
  Route route;
  route.agents = {t_.messages.delivery(message.deliveries).receiver};
  auto edge = wait_of(turn, command, route, cause_of(turn, command, route));
  if (!edge || edge->carries.n != 0) {
    return {};
  }
  edge->message = message.seq;
  const std::vector<WaitGraph::Edge> in_circle = circle(*edge);
  if (!in_circle.empty() &&
      static_cast<DeadlockPolicy>(t_.rules.collab_deadlock) == DeadlockPolicy::abort) {
    return std::unexpected(deadlock(in_circle, command));
  }
  t_.messages.message(ref).blocks = true;
  t_.waits.add(*edge);
  return {};
}

// A caller that hung up waits no more. A collab agent's request waits by itself.
Outcome Workspace::on(Turn& turn, const StopWaiting& command) {
  const MessageRef ref = t_.messages.find(command.message);
  if (ref == none || t_.messages.message(ref).sender != turn.actor) {
    return std::unexpected(Error{Code::not_found, "you sent no such message", {}});
  }
  if (t_.messages.message(ref).dialect != Dialect::collab) {
    turn.dispatch.unblock(ref);
  }
  return Receipt{};
}

}  // namespace parley::core
