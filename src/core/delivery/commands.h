// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/fields.h"
#include "core/model/ids.h"
#include "core/model/policy.h"
#include "core/model/resume_mark.h"
#include "core/model/words.h"
#include "core/requests/commands.h"

namespace parley::core {

// What is asked about messages and their deliveries.

// What becomes of a message to one who is away. Written into journals: never renumber.
enum class OnUnavailable : uint8_t { by_rules = 0, queue = 1, redirect = 2, fail = 3 };
constexpr OnUnavailable on_unavailable_last = OnUnavailable::fail;
constexpr Words<on_unavailable_last> on_unavailable_words("by_rules", "queue", "redirect", "fail");

struct Send {
  Envelope envelope;
  uint64_t outbox_item = 0;  // that this message of the broker settles; 0: none
  // A scatter: the answers of all receivers are gathered.
  std::optional<Gathering> gathering{};
  // A pipeline: what the receiver answers goes to the first of these, and so on.
  std::vector<std::string_view> later_stages{};
  uint64_t tokens = 0;  // that its sender says its model has used since it last said so
  OnUnavailable on_unavailable = OnUnavailable::by_rules;
  Duration wait{};    // how long its sender blocks for the answer; zero: it does not
  MessageId cause{};  // what its sender names as its cause, in whichever form; or none

  static constexpr std::string_view verb = "send";
  bool needs_sync() const { return envelope.durability == Durability::disk; }
  static void fields(auto& self, auto& field) {
    field("envelope", self.envelope);
    field("outbox_item", self.outbox_item);
    field("gathering", self.gathering);
    field("later_stages", self.later_stages, Form::agent);
    field("tokens", self.tokens);
    field("on_unavailable", self.on_unavailable, on_unavailable_last);
    field("wait", self.wait);
    field("cause", self.cause, Form::if_any);
  }
  bool operator==(const Send&) const = default;
};

// Marks a message as read and takes a lease on it. Where the policy of the reader's dialect says
// that reading settles, what needs no answer is settled by it.
struct Read {
  Target target;
  // The dialect that the reader speaks in this call. None: the one that it is registered with, and
  // the message is never settled by reading.
  std::optional<Dialect> as{};

  static constexpr std::string_view verb = "read";
  bool needs_sync() const { return as && policy_of(*as).reading_settles; }
  static void fields(auto& self, auto& field) {
    field("target", self.target);
    field("as", self.as, dialect_last);
  }
  bool operator==(const Read&) const = default;
};

// Hands out the most urgent waiting messages, each with a lease.
struct Take {
  uint32_t count_max = 1;

  static constexpr std::string_view verb = "take";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto& self, auto& field) { field("count_max", self.count_max, Form::fixed); }
  bool operator==(const Take&) const = default;
};

struct Ack {
  Target target{};
  // Not none: everything that this stream handed out up to `upto`, in order of delivery. The target
  // means nothing then.
  StreamId stream{};
  ResumeMark upto{};

  static constexpr std::string_view verb = "ack";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("target", self.target);
    field("stream", self.stream);
    field("upto", self.upto);
  }
  bool operator==(const Ack&) const = default;
};

// Gives a message back, to be handed out again after `delay`.
struct Nack {
  Target target;
  Duration delay;
  std::string_view reason;
  bool failed = true;  // false: it was not tried, or not to the end; not one of attempts_max

  static constexpr std::string_view verb = "nack";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("target", self.target);
    field("delay", self.delay);
    field("reason", self.reason);
    field("failed", self.failed);
  }
  bool operator==(const Nack&) const = default;
};

struct Reject {
  Target target;
  std::string_view reason;

  static constexpr std::string_view verb = "reject";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("target", self.target);
    field("reason", self.reason);
  }
  bool operator==(const Reject&) const = default;
};

// Starts the lease anew.
struct Extend {
  Target target;
  Duration lease;  // zero: the usual one

  static constexpr std::string_view verb = "extend";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto& self, auto& field) {
    field("target", self.target);
    field("lease", self.lease);
  }
  bool operator==(const Extend&) const = default;
};

}  // namespace parley::core
