// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "core/machine/machine.h"

// What tests of the core and of the node share. Part of no program.
namespace parley::core::testing {

// A moment on a whole minute.
constexpr Time start_time{1'767'225'600'000'000};

// The same id for the same name, and another for another.
inline Id128 id_of(std::string_view name) {
  const uint64_t words[2] = {base::hash64(name, 1), base::hash64(name, 2)};
  Id128 id;
  std::memcpy(id.bytes.data(), words, sizeof words);
  return id;
}

inline TokenHash token_of(std::string_view name) {
  TokenHash token{};
  const Id128 id = id_of(name);
  std::ranges::copy(id.bytes, token.begin());
  std::ranges::copy(id.bytes, token.begin() + 16);
  return token;
}

// The same numbers for the same seed, on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(base::mix64(seed, 0x5eed)) {}

  // From 0 to `end` - 1.
  uint32_t below(size_t end) {
    state_ += 0x9e3779b97f4a7c15;
    return static_cast<uint32_t>((base::mix64(state_, 0) >> 32) * end >> 32);
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  uint64_t state_;
};

// a_send("ana", "m1").to("bo").urgent(Priority::high): texts are views, so give it literals.
struct SendBuilder {
  Send send;

  SendBuilder to(std::string_view name) && {
    send.envelope.receivers.push_back(name);
    return std::move(*this);
  }
  SendBuilder urgent(Priority priority) && {
    send.envelope.priority = priority;
    return std::move(*this);
  }
  SendBuilder ttl(Duration ttl) && {
    send.envelope.ttl = ttl;
    return std::move(*this);
  }
  SendBuilder key(std::string_view name) && {
    send.envelope.idempotency_key = id_of(name);
    return std::move(*this);
  }
  SendBuilder body(std::string_view body) && {
    send.envelope.body = body;
    return std::move(*this);
  }
  SendBuilder in_session(std::string_view session) && {
    send.envelope.session = session;
    return std::move(*this);
  }
  SendBuilder answers(std::string_view name) && {
    send.envelope.kind = Kind::response;
    send.envelope.in_reply_to = id_of(name);
    return std::move(*this);
  }
  // Implicit, so that a builder stands wherever a command is wanted.
  operator Command() const { return send; }  // NOLINT(google-explicit-constructor)
};

inline SendBuilder a_send(std::string_view sender, std::string_view name) {
  SendBuilder builder;
  builder.send.envelope.id = id_of(name);
  builder.send.envelope.sender = sender;
  return builder;
}

inline Register an_agent(std::string_view name, Dialect dialect = Dialect::flow) {
  Register command;
  command.name = name;
  command.dialect = dialect;
  return command;
}

inline Target target(std::string_view name) { return {.seq = {}, .id = id_of(name)}; }

// A machine with a time of its own: gives entries their places, and keeps the newest effects.
struct Bench {
  Machine machine;
  Time now = start_time;
  uint64_t origin = 7;
  uint64_t number = 0;
  std::vector<Effect> effects;

  explicit Bench(uint64_t hash_seed = 0) : machine(hash_seed) {}

  Outcome apply(std::string_view actor, Command command, WorkspaceId workspace = workspace_first) {
    return apply(
        Entry{machine.seq().next(), now, {origin, ++number}, workspace, actor, std::move(command)});
  }
  Outcome apply(const Entry& entry) {
    effects.clear();
    return machine.apply(entry, effects);
  }
  Outcome set(std::string_view rule, std::string_view value) {
    return apply(broker_name, SetRules{{{rule, value}}});
  }
  void wait(Duration d) {
    now = now + d;
    apply(broker_name, Tick{});
  }
  const Tables& tables() const { return machine.find(workspace_first)->tables(); }

  template <class E>
  std::vector<E> seen() const {
    std::vector<E> found;
    for (const Effect& effect : effects) {
      if (const E* one = std::get_if<E>(&effect)) {
        found.push_back(*one);
      }
    }
    return found;
  }
};

}  // namespace parley::core::testing
