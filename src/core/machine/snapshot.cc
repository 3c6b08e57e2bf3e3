// SPDX-License-Identifier: Apache-2.0
#include "core/machine/snapshot.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/conversation/session_acts.h"
#include "core/machine/tables.h"
#include "core/model/entry.h"
#include "core/model/wire.h"
#include "core/requests/requests.h"

namespace parley::core {

namespace {

// The place of each slot in the canonical order, and the slot of each place.
class Places {
 public:
  explicit Places(std::vector<uint32_t> slots) : slots_(std::move(slots)) {
    for (size_t place = 0; place < slots_.size(); ++place) {
      if (slots_[place] >= places_.size()) {
        places_.resize(size_t{slots_[place]} + 1);
      }
      places_[slots_[place]] = place;
    }
  }
  const std::vector<uint32_t>& slots() const { return slots_; }
  uint64_t of(uint32_t slot) const { return places_[slot]; }

 private:
  std::vector<uint32_t> slots_;
  std::vector<uint64_t> places_;
};

// The slot at a place read from a snapshot; fails the reader when there is no such place.
uint32_t slot_at(Reader& in, const std::vector<uint32_t>& slots) {
  const uint64_t place = in.varint();
  if (place >= slots.size()) {
    in.fail();
    return none;
  }
  return slots[place];
}

void encode_rules(const Rules& rules, Writer& out) {
  out.varint(all_rules().size());
  for (const RuleInfo& info : all_rules()) {
    out.text(info.name);
    out.text(rule_value(rules, info));
  }
}

// By name, so that a version with other rules can read it: what it does not know is left out.
void decode_rules(Rules& rules, Reader& in) {
  for (size_t left = in.count(2); left > 0; --left) {
    const std::string_view name = in.text();
    const std::string_view value = in.text();
    if (const auto set = set_rule(rules, name, value);
        !set && set.error().code != base::Code::unknown_rule) {
      in.fail();
    }
  }
}

void encode_limits(const Agent& agent, Writer& out) {
  out.time(agent.buckets.out.full());
  out.time(agent.buckets.in.full());
  out.time(agent.fan_out.full());
  out.enumerator(agent.backpressure.level);
  out.varint(agent.backpressure.depth);
  out.time(agent.backpressure.until);
  for (const Time told : agent.backpressure.told) {
    out.time(told);
  }
  out.enumerator(agent.breaker.raw_state());
  out.enumerator(agent.breaker.reason());
  out.varint(agent.breaker.failures());
  out.time(agent.breaker.since());
  out.varint(static_cast<uint64_t>(agent.budget.day));
  out.varint(agent.budget.messages);
  out.varint(agent.budget.tokens);
}

void decode_limits(Agent& agent, Reader& in) {
  agent.buckets.out.restore(in.time());
  agent.buckets.in.restore(in.time());
  agent.fan_out.restore(in.time());
  agent.backpressure.level = in.enumerator(backpressure_last);
  agent.backpressure.depth = in.varint();
  agent.backpressure.until = in.time();
  for (Time& told : agent.backpressure.told) {
    told = in.time();
  }
  const auto state = in.enumerator(Breaker::state_last);
  const auto reason = in.enumerator(Breaker::reason_last);
  const auto failures = static_cast<uint32_t>(in.varint());
  agent.breaker.restore(state, reason, failures, in.time());
  agent.budget.day = static_cast<int64_t>(in.varint());
  agent.budget.messages = in.varint();
  agent.budget.tokens = in.varint();
}

void encode_agents(const Tables& t, const Places& agents, Writer& out) {
  out.varint(agents.slots().size());
  for (const AgentRef ref : agents.slots()) {
    const Agent& agent = t.agents[ref];
    out.text(agent.name);
    out.enumerator(agent.kind);
    out.enumerator(agent.dialect);
    out.u8(agent.rights);
    out.text(agent.role);
    out.time(agent.registered);
    out.time(agent.seen);
    out.text(agent.profile);
    agent.webhook.encode(out);
    out.text(agent.status);
    out.text(agent.task);
    out.time(agent.busy_until);
    out.enumerator(agent.presence.standing);
    out.time(agent.presence.since);
    out.time(agent.presence.due);
    out.time(agent.instructed);
    out.time(agent.malformed_since);
    out.varint(agent.malformed);
    encode_limits(agent, out);
    out.varint(agent.numbers.size());
    for (const auto& [channel, number] : agent.numbers) {
      out.fixed64(channel);
      out.varint(number);
    }
    out.varint(agent.capabilities.size());
    for (const std::string& capability : agent.capabilities) {
      out.text(capability);
    }
    out.varint(agent.tokens.size());
    for (const TokenHash& token : agent.tokens) {
      out.text({reinterpret_cast<const char*>(token.data()), token.size()});
    }
  }
}

std::vector<AgentRef> decode_agents(Tables& t, Reader& in) {
  std::vector<AgentRef> refs(in.count());
  for (AgentRef& ref : refs) {
    const std::string_view name = in.text();
    const auto kind = in.enumerator(principal_kind_last);
    if (!in.ok() || t.agents.find(name) != none) {
      in.fail();
      return {};
    }
    ref = t.agents.intern(name);
    if (kind != PrincipalKind::unknown) {
      t.agents.set_kind(ref, kind);
    }
    Agent& agent = t.agents[ref];
    agent.dialect = in.enumerator(dialect_last);
    t.agents.set_rights(ref, in.u8());
    t.agents.set_role(ref, in.text());
    agent.registered = in.time();
    agent.seen = in.time();
    agent.profile = in.text();
    agent.webhook.decode(in);
    agent.status = in.text();
    agent.task = in.text();
    agent.busy_until = in.time();
    agent.presence.standing = in.enumerator(Presence::standing_last);
    agent.presence.since = in.time();
    agent.presence.due = in.time();
    if (agent.presence.due.us != 0) {
      t.silences.emplace(agent.presence.due, agent.name);
    }
    agent.instructed = in.time();
    agent.malformed_since = in.time();
    agent.malformed = in.varint();
    decode_limits(agent, in);
    for (size_t left = in.count(9); left > 0; --left) {
      const uint64_t channel = in.fixed64();
      agent.numbers[channel] = in.varint();
    }
    agent.capabilities.resize(in.count());
    for (std::string& capability : agent.capabilities) {
      capability = in.text();
    }
    for (size_t left = in.count(); left > 0; --left) {
      const std::string_view bytes = in.text();
      TokenHash token{};
      if (bytes.size() != token.size() || kind == PrincipalKind::unknown) {
        in.fail();
        return {};
      }
      std::ranges::copy(bytes, reinterpret_cast<char*>(token.data()));
      t.agents.add_token(ref, token, std::numeric_limits<size_t>::max());
    }
  }
  return refs;
}

void encode_topics(const Tables& t, const Places& agents, Writer& out) {
  out.varint(t.topics.size());
  for (const auto& [name, ref] : t.topics.by_name()) {
    out.text(name);
    out.time(t.topics[ref].published);
    out.varint(t.topics[ref].subscribers.size());
    for (const AgentRef subscriber : t.topics[ref].subscribers) {
      out.varint(agents.of(subscriber));
    }
  }
}

std::vector<TopicRef> decode_topics(Tables& t, const std::vector<AgentRef>& agents, Reader& in) {
  std::vector<TopicRef> refs(in.count());
  for (TopicRef& ref : refs) {
    const std::string_view name = in.text();
    if (!in.ok() || t.topics.find(name) != none || is_pattern(name)) {
      in.fail();
      return {};
    }
    ref = t.topics.intern(name);
    t.topics[ref].published = in.time();
    for (size_t left = in.count(); left > 0; --left) {
      const AgentRef subscriber = slot_at(in, agents);
      if (!in.ok() || !t.agents[subscriber].is_registered() ||
          !t.agents[subscriber].subscriptions.emplace(name).second) {
        in.fail();
        return {};
      }
      t.topics.subscribe(ref, subscriber);
    }
  }
  return refs;
}

void encode_streams(const Tables& t, const Places& agents, Writer& out) {
  // By agent and, for each, in the order they were opened: the order decides who gets a message.
  out.fixed32(t.streams.numbered());
  out.varint(t.streams.size());
  for (const AgentRef agent : agents.slots()) {
    for (const StreamRef ref : t.agents[agent].streams) {
      const Stream& stream = t.streams[ref];
      out.fixed64(stream.id.origin);
      out.varint(stream.id.number);
      out.varint(agents.of(agent));
      out.varint(stream.window);
      put(stream.after, out);
      put({stream.number, stream.handed_out}, out);
    }
  }
}

std::vector<StreamRef> decode_streams(Tables& t, const std::vector<AgentRef>& agents, Reader& in) {
  t.streams.set_numbered(in.fixed32());
  std::vector<StreamRef> refs(in.count());
  for (StreamRef& ref : refs) {
    Stream stream;
    stream.id.origin = in.fixed64();
    stream.id.number = in.varint();
    stream.agent = slot_at(in, agents);
    stream.window = static_cast<uint32_t>(in.varint());
    get(stream.after, in);
    ResumeMark last;
    get(last, in);
    stream.number = last.stream;
    stream.handed_out = last.number;
    if (!in.ok() || !t.agents[stream.agent].is_registered() || t.streams.find(stream.id) != none) {
      in.fail();
      return {};
    }
    ref = t.streams.add(stream);
    t.agents[stream.agent].streams.push_back(ref);
  }
  return refs;
}

std::vector<ThreadRef> threads_by_root(const Tables& t) {
  std::vector<ThreadRef> refs;
  refs.reserve(t.threads.size());
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    for (ThreadRef ref = t.threads.first(static_cast<Threads::Standing>(n)); ref != none;
         ref = t.threads.next(ref)) {
      refs.push_back(ref);
    }
  }
  std::ranges::sort(refs, {}, [&](ThreadRef ref) { return t.threads[ref].root; });
  return refs;
}

void encode_threads(const Tables& t, const Places& agents, const Places& threads, Writer& out) {
  out.varint(threads.slots().size());
  for (const ThreadRef ref : threads.slots()) {
    const Thread& thread = t.threads[ref];
    out.text(thread.name);
    out.seq(thread.root);
    out.id(thread.root_id);
    out.time(thread.created);
    out.time(thread.changed);
    out.time(thread.closed);
    out.text(thread.closed_by);
    out.varint(thread.messages);
    out.varint(thread.requests);
    out.varint(thread.pending);
    out.boolean(thread.ages);
    out.boolean(thread.overdue);
    out.boolean(thread.is_public);
    out.varint(thread.participants.size());
    for (const AgentRef agent : thread.participants) {
      out.varint(agents.of(agent));
    }
    out.varint(thread.correlations.size());
    for (const std::string& correlation : thread.correlations) {
      out.text(correlation);
    }
  }
  // The order in each standing decides who is forgotten first.
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    const auto standing = static_cast<Threads::Standing>(n);
    out.varint(t.threads.count(standing));
    for (ThreadRef ref = t.threads.first(standing); ref != none; ref = t.threads.next(ref)) {
      out.varint(threads.of(ref));
    }
  }
}

ThreadRef decode_thread(Tables& t, const std::vector<AgentRef>& agents, Seq root_before,
                        Reader& in) {
  Thread thread;
  thread.name = in.text();
  thread.root = in.seq();
  thread.root_id = in.id();
  thread.created = in.time();
  thread.changed = in.time();
  thread.closed = in.time();
  thread.closed_by = in.text();
  thread.messages = static_cast<uint32_t>(in.varint());
  thread.requests = static_cast<uint32_t>(in.varint());
  thread.pending = static_cast<uint32_t>(in.varint());
  thread.ages = in.boolean();
  thread.overdue = in.boolean();
  thread.is_public = in.boolean();
  thread.participants.resize(in.count());
  for (AgentRef& agent : thread.participants) {
    agent = slot_at(in, agents);
  }
  thread.correlations.resize(in.count());
  for (std::string& correlation : thread.correlations) {
    correlation = in.text();
  }
  if (!in.ok() || thread.root <= root_before || thread.participants.empty() ||
      t.threads.find(thread.name) != none) {
    in.fail();
    return none;
  }
  for (const AgentRef agent : thread.participants) {
    t.agents.use(agent);
  }
  return t.threads.add(std::move(thread));
}

std::vector<ThreadRef> decode_threads(Tables& t, const std::vector<AgentRef>& agents, Reader& in) {
  std::vector<ThreadRef> refs(in.count());
  Seq root;
  for (ThreadRef& ref : refs) {
    ref = decode_thread(t, agents, root, in);
    if (!in.ok()) {
      return {};
    }
    root = t.threads[ref].root;
  }
  std::set<ThreadRef> placed;
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    const auto standing = static_cast<Threads::Standing>(n);
    size_t left = in.count();
    if (left != t.threads.count(standing)) {
      in.fail();
    }
    for (; left > 0 && in.ok(); --left) {
      const ThreadRef ref = slot_at(in, refs);
      if (!in.ok() || t.threads.standing_of(ref) != standing || !placed.insert(ref).second) {
        in.fail();
        return {};
      }
      t.threads.move_to_end(ref);
    }
  }
  return refs;
}

std::vector<MessageRef> messages_by_seq(const Tables& t) {
  std::vector<MessageRef> refs;
  refs.reserve(t.messages.size());
  t.messages.each([&](MessageRef ref, const Message&) { refs.push_back(ref); });
  std::ranges::sort(refs, {}, [&](MessageRef ref) { return t.messages.message(ref).seq; });
  return refs;
}

void encode_delivery(const Tables& t, const Places& agents, DeliveryRef ref, Writer& out) {
  const Delivery& delivery = t.messages.delivery(ref);
  out.varint(agents.of(delivery.receiver));
  out.enumerator(delivery.state);
  out.time(delivery.changed);
  if (delivery.timer != none) {
    out.time(delivery.due);
  }
  if (delivery.state == State::delayed) {
    out.enumerator(delivery.gate);
  }
  out.varint(delivery.attempts);
  out.u8(delivery.failures);
  out.u8(delivery.revivals);
  out.boolean(delivery.may_be_known);
  if (!is_final(delivery.state)) {
    t.messages.marks.encode(ref, out);
    out.boolean(delivery.lost);
  }
  const std::string* const error = t.messages.notes.last_error(ref);
  out.text(error == nullptr ? std::string_view{} : *error);
  const std::string* const away = t.messages.notes.redirected_from(ref);
  out.text(away == nullptr ? std::string_view{} : *away);
}

void encode_messages(const Tables& t, const Places& agents, const Places& topics,
                     const Places& threads, Writer& out) {
  const std::vector<MessageRef> refs = messages_by_seq(t);
  std::vector<DeliveryRef> deliveries;
  out.varint(refs.size());
  for (const MessageRef ref : refs) {
    const Message& message = t.messages.message(ref);
    out.seq(message.seq);
    out.time(message.time);
    out.time(message.expires);
    out.duration(message.ttl);
    out.boolean(message.timer != none);
    out.id(message.id);
    out.id(message.key);
    out.seq(message.answer);
    out.varint(message.number);
    out.fixed64(message.content);
    out.varint(agents.of(message.sender));
    out.varint(message.reply_to == none ? 0 : agents.of(message.reply_to) + 1);
    out.varint(message.topic == none ? 0 : topics.of(message.topic) + 1);
    out.varint(message.thread == none ? 0 : threads.of(message.thread) + 1);
    out.varint(message.whole_bytes);
    out.varint(message.content_bytes);
    out.enumerator(message.priority);
    out.enumerator(message.kind);
    out.enumerator(message.dialect);
    out.enumerator(message.durability);
    out.boolean(message.retained);
    out.boolean(message.watched);
    out.boolean(message.timed_out);
    out.enumerator(message.mark);
    out.boolean(message.everyone);
    out.boolean(message.refused);
    out.boolean(message.named);
    out.boolean(message.is_task);
    out.seq(message.cause);
    out.varint(message.links);
    deliveries.clear();
    for (DeliveryRef d = message.deliveries; d != none; d = t.messages.delivery(d).sibling) {
      deliveries.push_back(d);
    }
    out.varint(deliveries.size());
    for (auto at = deliveries.rbegin(); at != deliveries.rend(); ++at) {
      encode_delivery(t, agents, *at, out);
    }
  }
}

void decode_delivery(Tables& t, MessageRef message, const std::vector<AgentRef>& agents,
                     Reader& in) {
  const AgentRef receiver = slot_at(in, agents);
  const State state = in.enumerator(state_last);
  const Time changed = in.time();
  if (!in.ok() || t.messages.delivery_to(message, receiver) != none) {
    in.fail();
    return;
  }
  const DeliveryRef ref = t.messages.add_delivery(message, receiver, changed);
  Delivery& delivery = t.messages.delivery(ref);
  delivery.state = state;
  if (is_held(state) || state == State::delayed) {
    t.messages.deadlines.start_due(ref, in.time());
  }
  if (const Gate gate = state == State::delayed ? in.enumerator(gate_last) : Gate::open;
      gate != Gate::open) {
    t.messages.gates.hold_up(ref, gate, delivery.due);
  }
  if (!is_final(state) && delivery.gate != Gate::removed && !t.agents[receiver].is_registered()) {
    in.fail();
  }
  delivery.attempts = static_cast<uint16_t>(in.varint());
  delivery.failures = in.u8();
  delivery.revivals = in.u8();
  delivery.may_be_known = in.boolean();
  if (!is_final(state)) {
    t.messages.marks.decode(ref, in);
    delivery.lost = in.boolean();
  }
  if (const std::string_view error = in.text(); !error.empty()) {
    t.messages.notes.set_last_error(ref, std::string(error));
  }
  if (const std::string_view away = in.text(); !away.empty()) {
    t.messages.notes.set_redirected_from(ref, std::string(away));
  }
  Agent& agent = t.agents[receiver];
  ++agent.uses;
  if (is_final(state)) {
    t.messages.open.remove(ref);
    return;
  }
  ++agent.inbox.unsettled;
  if (!is_held(state)) {
    delivery.on_hold = t.holds.contains(t.messages.message(message).seq);
    agent.inbox.put(t.messages, agent.discipline(), ref);
  }
}

void decode_message(Tables& t, const std::vector<AgentRef>& agents,
                    const std::vector<TopicRef>& topics, const std::vector<ThreadRef>& threads,
                    Reader& in) {
  Message message;
  message.seq = in.seq();
  message.time = in.time();
  message.expires = in.time();
  message.ttl = in.duration();
  const bool has_timer = in.boolean();
  message.id = in.id();
  message.key = in.id();
  message.answer = in.seq();
  message.number = in.varint();
  message.content = in.fixed64();
  message.sender = slot_at(in, agents);
  const uint64_t reply_to = in.varint();
  const uint64_t topic = in.varint();
  const uint64_t thread = in.varint();
  message.whole_bytes = static_cast<uint32_t>(in.varint());
  message.content_bytes = static_cast<uint32_t>(in.varint());
  message.priority = in.enumerator(priority_last);
  message.kind = in.enumerator(kind_last);
  message.dialect = in.enumerator(dialect_last);
  message.durability = in.enumerator(durability_last);
  message.retained = in.boolean();
  message.watched = in.boolean();
  message.timed_out = in.boolean();
  message.mark = in.enumerator(mark_last);
  message.everyone = in.boolean();
  message.refused = in.boolean();
  message.named = in.boolean();
  message.is_task = in.boolean();
  message.cause = in.seq();
  message.links = static_cast<uint16_t>(in.varint());
  if (!in.ok() || reply_to > agents.size() || topic > topics.size() || thread > threads.size() ||
      message.seq.n == 0 || (message.retained && topic == 0) ||
      (!message.is_task && t.tasks.find(message.seq) != nullptr) ||
      t.messages.find(message.seq) != none) {
    in.fail();
    return;
  }
  message.reply_to = reply_to == 0 ? none : agents[reply_to - 1];
  message.topic = topic == 0 ? none : topics[topic - 1];
  message.is_own = t.agents[message.sender].name == broker_sender;
  message.thread = thread == 0 ? none : threads[thread - 1];
  const MessageRef ref = t.messages.add(message);
  t.agents.use(message.sender);
  if (message.reply_to != none) {
    t.agents.use(message.reply_to);
  }
  if (message.topic != none) {
    t.topics.use(message.topic);
  }
  if (message.retained) {
    t.topics.retain(t.messages, message.topic, ref);
  }
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    decode_delivery(t, ref, agents, in);
  }
  if (has_timer) {
    t.messages.deadlines.start_expiry(ref);
  }
}

void encode_held(const Tables& t, const Places& agents, Writer& out) {
  for (const AgentRef agent : agents.slots()) {
    for (const StreamRef ref : t.agents[agent].streams) {
      out.varint(t.streams[ref].held);
      for (DeliveryRef d = t.streams[ref].first; d != none; d = t.messages.delivery(d).next) {
        out.seq(t.messages.message_of(d).seq);
      }
    }
  }
}

void decode_held(Tables& t, const std::vector<StreamRef>& streams, Reader& in) {
  for (const StreamRef ref : streams) {
    Stream& stream = t.streams[ref];
    for (size_t left = in.count(); left > 0; --left) {
      const MessageRef message = t.messages.find(in.seq());
      const DeliveryRef d = message == none ? none : t.messages.delivery_to(message, stream.agent);
      if (d == none || !is_held(t.messages.delivery(d).state) ||
          t.messages.delivery(d).stream != none) {
        return in.fail();
      }
      t.messages.delivery(d).stream = ref;
      if (t.messages.delivery(d).mark.number == 0) {
        stream.last_seen = d;
      }
      t.messages.delivery(d).prev = stream.last;
      (stream.last == none ? stream.first : t.messages.delivery(stream.last).next) = d;
      stream.last = d;
      ++stream.held;
    }
  }
}

void encode_remembered(const Tables& t, Writer& out) {
  out.varint(t.remembered.size());
  for (const Remembered& item : t.remembered) {
    out.seq(t.messages.message(item.message).seq);
    out.time(item.since);
  }
}

void decode_remembered(Tables& t, Reader& in) {
  for (size_t left = in.count(); left > 0; --left) {
    const MessageRef message = t.messages.find(in.seq());
    if (message == none) {
      return in.fail();
    }
    t.remembered.push_back({message, in.time()});
  }
}

void encode_dead_letters(const Tables& t, Writer& out) {
  out.varint(t.dead_letters_dropped);
  t.dead_letters.encode_counts(out);
  out.varint(t.dead_letters.size());
  for (const auto& [id, letter] : t.dead_letters.all()) {
    out.varint(id);
    out.seq(letter.message);
    out.text(letter.sender);
    out.varint(letter.notice);
    out.text(letter.receiver);
    out.enumerator(letter.reason);
    out.time(letter.failed_at);
    out.varint(letter.retry_count);
    out.text(letter.last_error);
    out.enumerator(letter.resolution);
    out.text(letter.resolved_by);
    out.time(letter.resolved_at);
    out.varint(letter.tries);
    out.boolean(letter.inspected);
    out.boolean(letter.has_original);
    out.time(letter.due);
  }
}

void decode_dead_letters(Tables& t, Reader& in) {
  t.dead_letters_dropped = in.varint();
  t.dead_letters.decode_counts(in);
  std::map<uint64_t, DeadLetter> letters;
  std::set<DeliveryRef> pending;  // each has one letter at most
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    DeadLetter letter;
    letter.id = in.varint();
    letter.message = in.seq();
    letter.sender = in.text();
    letter.notice = in.varint();
    letter.receiver = in.text();
    letter.reason = in.enumerator(reason_last);
    letter.failed_at = in.time();
    letter.retry_count = static_cast<uint32_t>(in.varint());
    letter.last_error = in.text();
    letter.resolution = in.enumerator(resolution_last);
    letter.resolved_by = in.text();
    letter.resolved_at = in.time();
    letter.tries = static_cast<uint32_t>(in.varint());
    letter.inspected = in.boolean();
    letter.has_original = in.boolean();
    letter.due = in.time();
    if (letter.is_open() && letter.reason != Reason::malformed) {
      const MessageRef message = t.messages.find(letter.message);
      const AgentRef receiver = t.agents.find(letter.receiver);
      const DeliveryRef delivery =
          message == none || receiver == none ? none : t.messages.delivery_to(message, receiver);
      if (delivery == none || t.messages.delivery(delivery).state <= State::answered ||
          !pending.insert(delivery).second) {
        in.fail();
        return;
      }
      ++t.messages.message(message).dead_letters;
    }
    const bool lost = !letter.has_original && letter.reason != Reason::malformed;
    if (lost || !letters.emplace(letter.id, std::move(letter)).second) {
      in.fail();
      return;
    }
  }
  if (!t.dead_letters.restore(std::move(letters))) {
    in.fail();
  }
}

void encode_buckets(const Tables& t, Writer& out) {
  const auto taken = t.buckets.taken(t.now);
  out.varint(taken.size());
  for (const auto& [key, full] : taken) {
    out.fixed64(key);
    out.time(full);
  }
  const std::vector<Exchange> exchanges = t.exchanges.in_line();
  out.varint(exchanges.size());
  for (const Exchange& exchange : exchanges) {
    encode(exchange, out);
  }
  out.varint(t.pressed.size());
  for (const auto& [until, name] : t.pressed) {
    out.time(until);
    out.text(name);
  }
}

void decode_buckets(Tables& t, Reader& in) {
  for (size_t left = in.count(9); left > 0; --left) {
    const uint64_t key = in.fixed64();
    t.buckets.at(key, t.now).restore(in.time());
  }
  for (size_t left = in.count(29); left > 0; --left) {
    const Exchange exchange = decode_exchange(in);
    // None of them makes room for another.
    t.exchanges.put(exchange, exchange.since, Duration{std::numeric_limits<int64_t>::max()},
                    std::numeric_limits<uint64_t>::max());
  }
  for (size_t left = in.count(2); left > 0; --left) {
    const Time until = in.time();
    t.pressed.emplace(until, in.text());
  }
}

}  // namespace

void encode(const Tables& t, Writer& out) {
  const Places agents(t.agents.sorted());
  std::vector<TopicRef> topic_refs;
  for (const auto& [name, ref] : t.topics.by_name()) {
    topic_refs.push_back(ref);
  }
  const Places topics(std::move(topic_refs));
  const Places threads(threads_by_root(t));
  out.time(t.now);
  encode_rules(t.rules, out);
  encode_agents(t, agents, out);
  encode_topics(t, agents, out);
  encode_streams(t, agents, out);
  encode_threads(t, agents, threads, out);
  t.topics.wildcards().encode(t.agents, out);
  t.sessions.encode(out);
  t.tasks.encode(out);
  encode_messages(t, agents, topics, threads, out);
  encode_held(t, agents, out);
  encode_remembered(t, out);
  encode_dead_letters(t, out);
  encode_buckets(t, out);
  t.outbox.encode(out);
  t.escalations.encode(out);
  t.patterns.encode(out);
  t.locks.encode(out);
  t.waits.encode(t.now, out);
  t.broadcasts.encode(out);
}

bool decode(Tables& t, Reader& in) {
  t.now = in.time();
  decode_rules(t.rules, in);
  const std::vector<AgentRef> agents = decode_agents(t, in);
  const std::vector<TopicRef> topics = decode_topics(t, agents, in);
  const std::vector<StreamRef> streams = decode_streams(t, agents, in);
  const std::vector<ThreadRef> threads = decode_threads(t, agents, in);
  // Before the messages: those in a paused session are in no inbox, and some give tasks.
  if (!t.topics.wildcards().decode(t.agents, in) || !t.sessions.decode(in) || !t.tasks.decode(in)) {
    return false;
  }
  restore_session_holds(t);
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    decode_message(t, agents, topics, threads, in);
  }
  if (in.ok()) {
    decode_held(t, streams, in);
    decode_remembered(t, in);
    decode_dead_letters(t, in);
    decode_buckets(t, in);
  }
  return in.ok() && t.outbox.decode(in) && t.escalations.decode(in) && t.patterns.decode(in) &&
         t.locks.decode(in) && t.waits.decode(t.messages, in) && t.broadcasts.decode(in) &&
         is_consistent(t);
}

}  // namespace parley::core
