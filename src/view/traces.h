// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/envelope.h"
#include "view/reader.h"

namespace parley::view {

// Traces are not stored: they are made of the messages and deliveries that the history has, when
// someone asks.

// The trace that a message is part of; one that no edge took in is a trace of its own.
base::Id128 trace_of(const core::Envelope& envelope);

// A message and how it went on to its receivers. With more than receivers_max of them they are
// counted and not listed.
struct TracedMessage {
  static constexpr size_t receivers_max = 100;
  static constexpr size_t answers_max = 64;  // that are looked for in what followed

  // Why a request came to nothing: an answer that says so, or that none came in time.
  struct Failure {
    Time time;
    std::string word;      // `error`, `declined`, `TIMEOUT`
    std::string receiver;  // who answered; empty: nobody did
    uint64_t tries = 1;    // how often it was asked
  };

  // The cause of the message, where it is not for the viewer: that there is one, and nothing of it.
  struct Link {
    base::Id128 trace;
    uint64_t span = 0;
  };

  StoredMessage message;
  Reader::Receivers receivers;  // as far as the viewer may know how it stands with them
  std::vector<Failure> failures{};
  std::optional<Link> link{};
};

struct Trace {
  static constexpr size_t messages_max = 1'000;
  static constexpr size_t causes_max = 100;

  base::Id128 id;
  std::vector<TracedMessage> messages;  // oldest first
  bool more = false;                    // there are more than messages_max
};

// What the viewer may see of the trace with this id, or of that of a message: what it sent or
// received itself, with what caused that even where a sender began another trace. A cause that is
// not for the viewer is a bare link. So who goes on with another's trace, whose id anyone may
// write, sees no more of it than before. None when the viewer may see nothing.
std::expected<std::optional<Trace>, Error> find_trace(Reader& reader, const Reader::Viewer& viewer,
                                                      const base::Id128& id);
std::expected<std::optional<Trace>, Error> find_trace(Reader& reader, const Reader::Viewer& viewer,
                                                      const core::Target& message);

// Whether the message went to the subscribers of a topic. A receiver with a dot in its name is a
// topic, unless an agent of that name got the message.
bool is_on_topic(const core::Envelope& envelope, std::span<const StoredDelivery> deliveries);

std::expected<TracedMessage, Error> traced(Reader& reader, StoredMessage message);

// What took its time, and whether it came to something: a message from its acceptance to its last
// receiver; below it, for each receiver, its wait in the queue and then the receiver's work on it.
struct Span {
  enum class Kind : uint8_t { message, queue, process };
  struct Tag {
    std::string key;
    std::string text;
    bool is_number = false;
  };
  struct Log {
    Time time;
    std::string event;
    std::string detail;
  };

  Kind kind = Kind::message;
  base::Id128 trace;
  uint64_t id = 0;
  uint64_t parent = 0;  // 0: none
  base::MessageId message;
  base::MessageId cause;  // the message that this one answers or names, if it does
  std::string operation;  // `send bo`
  Time start;
  std::optional<Time> end;  // none: it goes on
  bool failed = false;
  std::string error;
  std::optional<TracedMessage::Link> link;  // to a cause that is not shown
  std::string tracestate;
  bool sampled = true;
  std::vector<Tag> tags;  // named as OpenTelemetry names them where it does
  std::vector<Log> logs;  // oldest first
};

// The message's span, then those of its receivers. None when the record is of another version.
std::vector<Span> spans_of(const TracedMessage& traced);

// The spans in the order of the tree, each after its parent. One whose parent is unknown here, as
// when that is a span of another program's, is below the message that caused it.
struct Branch {
  size_t span = 0;
  size_t depth = 0;
  std::vector<size_t> children;  // places in the spans
};
std::vector<Branch> tree_of(const std::vector<Span>& spans);

}  // namespace parley::view
