// SPDX-License-Identifier: Apache-2.0
#include "core/requests/wait_graph.h"

#include <algorithm>
#include <deque>
#include <ranges>

#include "core/machine/tables.h"
#include "core/requests/wait_graph_snapshot.h"

namespace parley::core {

namespace {

// One of the two searches that meet: from the one end along the edges, from the other against them.
struct Search {
  std::map<AgentRef, Seq> reached;  // by which edge; 0: it began there
  std::deque<AgentRef> frontier;

  explicit Search(AgentRef start) : reached{{start, Seq{}}}, frontier{start} {}
};

}  // namespace

// An edge that asks back is left out of the order: it closes no circle, so it may lead to an
// earlier agent.
void WaitGraph::add(const Edge& edge) {
  remove(edge.message);
  const bool fits = !edge.asks_back && put_in_order(edge.from, edge.to);
  edges_.emplace(edge.message, edge);
  join_pair(edge, fits);
  if (edge.until != base::time_max) {
    ends_.emplace(edge.until, edge.message);
  }
  if (edge.carries.n != 0) {
    carried_.emplace(edge.carries, edge.message);
  }
  if (!fits) {
    unordered_.insert(edge.message);
  }
  ++place_of(edge.from, false).edges;
  ++place_of(edge.to, false).edges;
}

// The indexes know a pair by its oldest edge, so that the order of a search follows from the
// messages and not from the slots of agents.
void WaitGraph::join_pair(const Edge& edge, bool fits) {
  Pair& pair = pairs_[{edge.from, edge.to}];
  if (pair.edges.empty() || edge.message < *pair.edges.begin()) {
    if (!pair.edges.empty()) {
      out_.erase({edge.from, *pair.edges.begin(), edge.to});
      in_.erase({edge.to, *pair.edges.begin(), edge.from});
    }
    out_.emplace(edge.from, edge.message, edge.to);
    in_.emplace(edge.to, edge.message, edge.from);
  }
  pair.edges.insert(edge.message);
  if (!edge.asks_back) {
    pair.waiting.insert(edge.message);
  }
  pair.in_order += fits ? 1 : 0;
}

// Call it while `unordered_` still has the edge.
void WaitGraph::leave_pair(const Edge& edge) {
  const auto at = pairs_.find({edge.from, edge.to});
  Pair& pair = at->second;
  const bool was_first = *pair.edges.begin() == edge.message;
  pair.edges.erase(edge.message);
  pair.waiting.erase(edge.message);
  pair.in_order -= unordered_.contains(edge.message) ? 0 : 1;
  if (!was_first) {
    return;
  }
  out_.erase({edge.from, edge.message, edge.to});
  in_.erase({edge.to, edge.message, edge.from});
  if (pair.edges.empty()) {
    pairs_.erase(at);
    return;
  }
  out_.emplace(edge.from, *pair.edges.begin(), edge.to);
  in_.emplace(edge.to, *pair.edges.begin(), edge.from);
}

WaitGraph::Place& WaitGraph::place_of(AgentRef agent, bool before_all) {
  const auto [at, is_new] = places_.try_emplace(agent);
  if (is_new) {
    at->second.rank = before_all ? --least_ : ++most_;
  }
  return at->second;
}

void WaitGraph::remove(Seq message) {
  const auto at = edges_.find(message);
  if (at == edges_.end()) {
    return;
  }
  const Edge edge = at->second;
  leave_pair(edge);
  ends_.erase({edge.until, message});
  unordered_.erase(message);
  carried_.erase({edge.carries, message});
  edges_.erase(at);
  leave(edge.from);
  leave(edge.to);
  for (auto next = carried_.lower_bound({message, Seq{}});
       next != carried_.end() && next->first == message;
       next = carried_.lower_bound({message, Seq{}})) {
    remove(next->second);
  }
}

void WaitGraph::prolong(Seq message, Time until, uint64_t life) {
  const auto extend = [&](Edge& edge) {
    ends_.erase({edge.until, edge.message});
    edge.until = std::max(edge.until, until);
    if (edge.until != base::time_max) {
      ends_.emplace(edge.until, edge.message);
    }
  };
  Edge& edge = edges_.at(message);
  edge.life = life;
  extend(edge);
  for (auto next = carried_.lower_bound({message, Seq{}});
       next != carried_.end() && next->first == message; ++next) {
    extend(edges_.at(next->second));
  }
}

const WaitGraph::Edge* WaitGraph::find(Seq message) const {
  const auto at = edges_.find(message);
  return at == edges_.end() ? nullptr : &at->second;
}

void WaitGraph::leave(AgentRef agent) {
  const auto at = places_.find(agent);
  if (--at->second.edges == 0) {
    places_.erase(at);
  }
}

void WaitGraph::expire(Time now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    remove(ends_.begin()->second);
  }
}

bool WaitGraph::has_some(const std::set<Key>& index, AgentRef agent) {
  const auto at = index.lower_bound({agent, Seq{}, AgentRef{}});
  return at != index.end() && std::get<0>(*at) == agent;
}

// Where all edges are in order, only from an earlier one to a later one, by way of those between.
bool WaitGraph::may_lead(AgentRef from, AgentRef to) const {
  if (!has_some(out_, from) || !has_some(in_, to)) {
    return false;
  }
  if (!unordered_.empty()) {
    return true;
  }
  const int64_t last = places_.at(to).rank;
  if (places_.at(from).rank > last) {
    return false;
  }
  const std::vector<AgentRef> found = collect(from, true, last);
  return std::ranges::find(found, to) != found.end();
}

std::vector<WaitGraph::Edge> WaitGraph::path(AgentRef from, AgentRef to) const {
  return may_lead(from, to) ? search(from, to) : std::vector<Edge>{};
}

// The algorithm of Pearce and Kelly for a topological order that edges are added to: only agents
// between the two ranks change places.
bool WaitGraph::put_in_order(AgentRef from, AgentRef to) {
  const int64_t first = place_of(from, places_.contains(to)).rank;
  const int64_t second = place_of(to, false).rank;
  if (first < second) {
    return true;
  }
  std::vector<AgentRef> behind = collect(to, true, first);  // with `to` itself
  if (std::ranges::find(behind, from) != behind.end()) {
    return false;
  }
  std::vector<AgentRef> ahead = collect(from, false, second);
  // They share their ranks: first who leads to `from`, then whom `to` leads to.
  const auto by_rank = [this](AgentRef agent) { return places_.at(agent).rank; };
  std::ranges::sort(behind, {}, by_rank);
  std::ranges::sort(ahead, {}, by_rank);
  ahead.insert(ahead.end(), behind.begin(), behind.end());
  std::vector<int64_t> ranks(ahead.size());
  std::ranges::transform(ahead, ranks.begin(), by_rank);
  std::ranges::sort(ranks);
  for (size_t n = 0; n < ahead.size(); ++n) {
    places_.at(ahead[n]).rank = ranks[n];
  }
  return true;
}

bool WaitGraph::is_in_order() const {
  std::set<int64_t> ranks;
  for (const auto& [agent, place] : places_) {
    ranks.insert(place.rank);
  }
  return ranks.size() == places_.size() && std::ranges::all_of(edges_, [this](const auto& item) {
           const auto& [seq, edge] = item;
           return unordered_.contains(seq) || places_.at(edge.from).rank < places_.at(edge.to).rank;
         });
}

// Who waits for whom follows from the messages.
void WaitGraph::encode(Time now, Writer& out) const {
  const auto lasts = [now](const auto& item) { return item.second.until > now; };
  out.varint(static_cast<uint64_t>(std::ranges::count_if(edges_, lasts)));
  for (const auto& [seq, edge] : edges_ | std::views::filter(lasts)) {
    put(edge, out);
  }
}

bool WaitGraph::decode(Messages& messages, Reader& in) {
  get_rows<Edge>(in, [&](Edge edge) {
    const MessageRef ref = messages.find(edge.message);
    const auto first = edges_.find(edge.carries);
    if (ref == none || edges_.contains(edge.message) ||
        (edge.carries.n != 0 && (first == edges_.end() || first->second.carries.n != 0)) ||
        !messages.message(ref).is_direct() || !asks(messages.message(ref).kind)) {
      return false;
    }
    Message& message = messages.message(ref);
    message.blocks = true;
    edge.from = edge.carries.n == 0 ? message.sender : first->second.from;
    edge.to = messages.delivery(message.deliveries).receiver;
    add(edge);
    return true;
  });
  return in.ok();
}

std::vector<AgentRef> WaitGraph::collect(AgentRef start, bool along, int64_t limit) const {
  const std::set<Key>& index = along ? out_ : in_;
  std::set<AgentRef> reached = {start};
  std::vector<AgentRef> found = {start};
  for (size_t next = 0; next < found.size(); ++next) {
    const AgentRef agent = found[next];
    for (auto at = index.lower_bound({agent, Seq{}, AgentRef{}});
         at != index.end() && std::get<0>(*at) == agent; ++at) {
      const AgentRef other = std::get<2>(*at);
      if (pairs_.at(along ? std::pair(agent, other) : std::pair(other, agent)).in_order == 0) {
        continue;
      }
      const int64_t rank = places_.at(other).rank;
      const bool within = along ? rank <= limit : rank >= limit;
      if (within && reached.insert(other).second) {
        found.push_back(other);
      }
    }
  }
  return found;
}

// From both ends in turn, so that it costs the smaller side: one who asked thousands, or whom
// thousands ask, does not make every other request dear.
std::vector<WaitGraph::Edge> WaitGraph::search(AgentRef from, AgentRef to) const {
  if (const auto at = pairs_.find({from, to}); at != pairs_.end() && !at->second.waiting.empty()) {
    return {edges_.at(*at->second.waiting.begin())};
  }
  Search ahead(from);
  Search behind(to);
  AgentRef met = none;
  // Goes on by one agent. False when there is nothing left on this side.
  const auto step = [&](Search& mine, const Search& other, const std::set<Key>& index, bool along) {
    if (mine.frontier.empty()) {
      return false;
    }
    const AgentRef agent = mine.frontier.front();
    mine.frontier.pop_front();
    for (auto at = index.lower_bound({agent, Seq{}, AgentRef{}});
         at != index.end() && std::get<0>(*at) == agent && met == none; ++at) {
      const auto& [self, message, next] = *at;
      // What goes straight from the one end to the other only asks back.
      const bool is_whole = along ? agent == from && next == to : next == from && agent == to;
      if (is_whole || !mine.reached.emplace(next, message).second) {
        continue;
      }
      mine.frontier.push_back(next);
      met = other.reached.contains(next) ? next : none;
    }
    return true;
  };
  while (met == none && step(ahead, behind, out_, true) && met == none &&
         step(behind, ahead, in_, false)) {
  }
  std::vector<Edge> edges;
  if (met == none) {
    return edges;
  }
  for (AgentRef at = met; ahead.reached.at(at).n != 0; at = edges.back().from) {
    edges.push_back(edges_.at(ahead.reached.at(at)));
  }
  std::ranges::reverse(edges);
  for (AgentRef at = met; behind.reached.at(at).n != 0; at = edges.back().to) {
    edges.push_back(edges_.at(behind.reached.at(at)));
  }
  return edges;
}

void encode_wait_graph(const Tables& t, Writer& out) { t.wait_graph.encode(t.now, out); }

void decode_wait_graph(Tables& t, Reader& in) {
  if (!t.wait_graph.decode(t.messages, in)) {
    in.fail();
  }
}

}  // namespace parley::core
