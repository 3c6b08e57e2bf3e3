// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/machine/machine.h"

namespace parley::bench {

// Feeds a machine with entries as a node would: encoded, then decoded and applied.
class Feeder {
 public:
  explicit Feeder(core::Machine& machine) : machine_(machine) {
    limit("0");
    // All is said in one conversation, so that may be long.
    apply(core::broker_name, core::SetRules{{{"thread_messages_max", "1000000000"}}});
  }

  // What agents may send: `0` is as much as they like. Else the breakers and guards are on, too.
  static core::SetRules limits(std::string_view value) {
    const bool off = value == "0";
    return {.values = {{"flow.rate.agent_in_per_min", value},
                       {"flow.rate.agent_out_per_min", value},
                       {"flow.rate.pair_per_min", value},
                       {"flow.rate.topic_per_min", value},
                       {"breaker.queue_percent", off ? "0" : "90"},
                       {"guard.bytes_per_day", off ? "0" : "1000000000000"},
                       {"guard.bytes_per_min", off ? "0" : "1000000000000"},
                       {"guard.fan_out_per_min", value},
                       {"guard.messages_per_day", off ? "0" : "1000000000000"},
                       {"guard.ping_pong_max", value}}};
  }
  void limit(std::string_view value) { apply(core::broker_name, limits(value)); }

  // Registers a flow agent.
  void agent(std::string_view name) { apply(core::broker_name, core::Register{.name = name}); }

  // A direct message; its id is its place.
  static core::Send send(std::string_view from, std::string_view to, base::Seq seq,
                         std::string_view body) {
    core::Send command;
    command.envelope.id = id_of(seq);
    command.envelope.sender = from;
    command.envelope.receivers = {to};
    command.envelope.type = "notification";
    command.envelope.thread = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    command.envelope.body = body;
    return command;
  }

  static base::MessageId id_of(base::Seq seq) {
    base::MessageId id;
    std::memcpy(id.bytes.data(), &seq.n, sizeof seq.n);
    id.bytes[15] = 1;
    return id;
  }

  base::Seq next() const { return machine_.seq().next(); }

  // `ahead` entries after the next one.
  std::string encode(std::string_view actor, core::Command command, uint64_t ahead = 0) {
    core::Entry entry;
    entry.id = {1, next().n + ahead};
    entry.actor = actor;
    entry.command = std::move(command);
    std::string payload;
    core::encode(entry, payload);
    return payload;
  }

  core::Outcome apply(std::string_view actor, core::Command command) {
    return apply(encode(actor, std::move(command)));
  }

  core::Outcome apply(std::string_view payload) {
    effects_.clear();
    // A hundred thousand entries a second.
    const base::Time time{start_us + static_cast<int64_t>(next().n) * 10};
    const auto entry = core::decode_entry(next(), time, payload);
    return machine_.apply(*entry, effects_);
  }

  const std::vector<core::Effect>& effects() const { return effects_; }

 private:
  static constexpr int64_t start_us = 1'800'000'000'000'000;

  core::Machine& machine_;
  std::vector<core::Effect> effects_;
};

}  // namespace parley::bench
