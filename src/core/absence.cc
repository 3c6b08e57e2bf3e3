// SPDX-License-Identifier: Apache-2.0
// What becomes of a message to one who is away, and of a request that would let several wait for
// each other for ever.
#include <algorithm>

#include "core/presence.h"
#include "core/refusal.h"
#include "core/workspace.h"

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
void Workspace::mind_absence(const Turn& turn, const Send& command, Route& route) const {
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
    const AgentRef other =
        presence::stand_in(t_, receiver, turn.actor, command.envelope.action, session);
    if (other != none && std::ranges::find(route.agents, other) == route.agents.end()) {
      route.redirected.emplace_back(other, receiver);
      receiver = other;
    }
  }
}

std::string Workspace::why_absent(AgentRef ref) const {
  const Agent& agent = t_.agents[ref];
  const bool offline = agent.is_offline();
  return quoted(agent.name) +
         (offline ? " is offline"
                  : " did not answer its last request, and was not heard of since") +
         (agent.seen.us == 0 ? std::string()
                             : " (last heard of at " + base::format_time(agent.seen) + ")");
}

// It was sent before and refused because its receiver was away. Is that one back, it is delivered;
// else the sender hears the same again.
Outcome Workspace::repeat_refused(Turn& turn, MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  const AgentRef receiver = t_.messages.delivery(message.deliveries).receiver;
  if (t_.agents[receiver].is_available()) {
    for (const auto& [id, letter] : t_.dead_letters.all()) {
      if (letter.message == message.seq && letter.is_open()) {
        Outcome retried = retry(turn, *t_.dead_letters.find(id));
        if (retried) {
          t_.messages.message(ref).refused = false;
        }
        return retried;
      }
    }
  }
  return std::unexpected(Error{Code::receiver_unavailable, why_absent(receiver), "/receiver"});
}

// Whether the sender of this request goes on only when it has an answer: collab's commands and
// queries are such, and what a caller blocks for. One who asks several goes on with the first.
std::optional<WaitGraph::Edge> Workspace::wait_of(const Turn& turn, const Send& command,
                                                  const Route& route) const {
  const Envelope& e = command.envelope;
  const bool waits = e.dialect == Dialect::collab || command.wait.us > 0;
  if (!asks(e.kind) || !waits || turn.actor == none || !route.is_one() || !route.absent.empty() ||
      command.gathering || !command.later_stages.empty()) {
    return std::nullopt;
  }
  WaitGraph::Edge edge{.message = turn.entry.seq,
                       .from = turn.actor,
                       .to = route.agents.front(),
                       .until = e.dialect == Dialect::collab ? base::time_max
                                                             : t_.now + command.wait};
  const auto causation = base::parse_uuid(e.causation);
  const MessageId cause = !e.in_reply_to.is_none() ? e.in_reply_to
                          : causation              ? *causation
                                                   : MessageId{};
  edge.asks_back = !cause.is_none() &&
                   t_.messages.find_received(edge.from, cause, edge.to) != none;
  return edge;
}

// The circle that the edge would close: who waits for whom, the sender first. Empty: none. A
// question to the one whose request it works on closes none.
std::vector<WaitGraph::Edge> Workspace::circle(const WaitGraph::Edge& edge) {
  if (edge.asks_back) {
    return {};
  }
  t_.waits.expire(t_.now);
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
  Error error{Code::deadlock, "this request closes a circle of those who wait for each other: ",
              "/receiver"};
  for (const WaitGraph::Edge& edge : edges) {
    const MessageRef ref = t_.messages.find(edge.message);
    const MessageId id = ref == none ? command.envelope.id : t_.messages.message(ref).id;
    error.detail += quoted(t_.agents[edge.from].name) + " waits for " +
                    quoted(t_.agents[edge.to].name) + " (" + base::format_uuid(id) + "), ";
    error.cycle.push_back(t_.agents[edge.from].name);
  }
  error.cycle.push_back(t_.agents[edges.front().from].name);
  error.detail += "so none of them could go on; answer what you were asked first, or send a "
                  "message that waits for no answer";
  return error;
}

void Workspace::begin_wait(const WaitGraph::Edge& edge, MessageRef ref) {
  Message& message = t_.messages.message(ref);
  if (message.open == 0) {
    return;
  }
  message.blocked_until = edge.until;
  message.asks_back = edge.asks_back;
  t_.waits.add(edge);
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
