// SPDX-License-Identifier: Apache-2.0
#include "view/traces.h"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "base/trace.h"
#include "core/outbox/outbox.h"
#include "core/topics/topics.h"
#include "lib/json.h"

namespace parley::view {

namespace {

using core::Envelope;

std::optional<Envelope> envelope_of(const StoredMessage& message) {
  auto entry = message.entry();
  auto* send = entry ? std::get_if<core::Send>(&entry->command) : nullptr;
  return send == nullptr ? std::nullopt : std::optional(std::move(send->envelope));
}

base::MessageId cause_of(const Envelope& e) {
  return !e.in_reply_to.is_none() ? e.in_reply_to
                                  : base::parse_uuid(e.causation).value_or(base::MessageId{});
}

using Links = std::map<Seq, TracedMessage::Link>;  // by the message that has the cause

// Adds what caused the messages that are there, and what caused that, as far as it is not there and
// the viewer may see it; what is not for the viewer is a link.
std::expected<Links, Error> add_causes(Reader& reader, const Reader::Viewer& viewer,
                                       std::vector<StoredMessage>& messages) {
  Links links;
  std::set<Seq> known;
  for (const StoredMessage& message : messages) {
    known.insert(message.seq);
  }
  size_t added = 0;
  for (size_t n = 0; n < messages.size() && added < Trace::causes_max; ++n) {
    const auto e = envelope_of(messages[n]);
    const base::MessageId cause = e ? cause_of(*e) : base::MessageId{};
    if (!e || (cause.is_none() && e->causation.empty())) {
      continue;
    }
    const Reader::Viewer sender{viewer.workspace, e->sender};
    auto found = cause.is_none() ? reader.find(sender, e->causation) : reader.find(sender, cause);
    if (!found) {
      return std::unexpected(found.error());
    }
    const auto before = *found ? envelope_of(**found) : std::nullopt;
    if (!before || before->kind == core::Kind::private_flag || known.contains((*found)->seq)) {
      continue;
    }
    const auto visible = reader.find(viewer, (*found)->seq);
    if (!visible) {
      return std::unexpected(visible.error());
    }
    if (*visible) {
      known.insert((*found)->seq);
      messages.push_back(std::move(**found));
    } else {
      links[messages[n].seq] = {trace_of(*before), base::message_span(before->id, before->sender)};
    }
    ++added;
  }
  std::ranges::sort(messages, {}, &StoredMessage::seq);
  return links;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

bool is_published(const Envelope& e) {
  return e.kind == core::Kind::broadcast ||
         (e.receivers.size() == 1 &&
          (e.receivers.front() == "*" || e.receivers.front().starts_with("topic:")));
}

bool has_failed(core::State state) { return state >= core::State::expired; }

// How often the request was sent again. The body of the broker's own message is a JSON object with
// a member for each fact.
uint64_t retries_in(std::string_view body) {
  lib::JsonDocument document;
  const auto facts = document.parse(body);
  if (!facts) {
    return 0;
  }
  const auto retries = facts->find(core::retries_fact);
  return (retries ? retries : facts->find(core::retry_count_fact)).as_uint64().value_or(0);
}

// Whether the broker says that nobody answered in time: a failed task may have other reasons.
bool says_timeout(const Envelope& e) {
  if (e.action == core::outbox_kind_name(core::OutboxKind::request_timed_out)) {
    return true;
  }
  lib::JsonDocument document;
  const auto facts = e.action == core::outbox_kind_name(core::OutboxKind::task_failed)
                         ? document.parse(e.body)
                         : std::unexpected(Error{});
  return facts && facts->find("code").as_string().value_or("") == "TIMEOUT";
}

// What a later message says of the request `asked`: nothing, or why it came to nothing.
std::optional<TracedMessage::Failure> failure_in(const StoredMessage& later,
                                                 const base::MessageId& asked) {
  const auto e = envelope_of(later);
  if (!e || e->in_reply_to != asked) {
    return std::nullopt;
  }
  if (e->sender == core::broker_sender && says_timeout(*e)) {
    return TracedMessage::Failure{later.time, "TIMEOUT", "", 1 + retries_in(e->body)};
  }
  if (e->kind == core::Kind::response &&
      (e->status == core::Status::error || e->status == core::Status::declined)) {
    return TracedMessage::Failure{later.time,
                                  e->status == core::Status::error ? "error" : "declined",
                                  std::string(e->sender)};
  }
  return std::nullopt;
}

std::expected<TracedMessage, Error> with_receivers(Reader& reader, const Reader::Viewer& viewer,
                                                   StoredMessage message) {
  auto receivers = reader.receivers(viewer, message.seq, TracedMessage::receivers_max);
  if (!receivers) {
    return std::unexpected(receivers.error());
  }
  return TracedMessage{std::move(message), std::move(*receivers)};
}

// All spans of one message, made one after the other.
class Maker {
 public:
  Maker(const TracedMessage& traced, const Envelope& envelope)
      : traced_(traced), e_(envelope), own_(base::message_span(e_.id, e_.sender)) {}

  std::vector<Span> run() {
    add_message();
    for (const StoredDelivery& delivery : traced_.receivers.listed) {
      add_delivery(delivery);
    }
    return std::move(spans_);
  }

 private:
  Span& add(Span::Kind kind, uint64_t id, uint64_t parent, std::string_view name,
            std::string_view type, const std::string& destination) {
    Span& span = spans_.emplace_back();
    span.kind = kind;
    span.trace = trace_of(e_);
    span.id = id;
    span.parent = parent;
    span.message = e_.id;
    span.operation =
        std::string(name) +
        (e_.receivers.size() > 1 && kind == Span::Kind::message ? "" : " " + destination);
    span.start = traced_.message.time;
    span.tracestate = e_.tracestate;
    span.sampled = e_.trace_sampled;
    tag(span, "messaging.system", "parley");
    tag(span, "messaging.operation.name", name);
    if (!type.empty()) {
      tag(span, "messaging.operation.type", type);
    }
    tag(span, "messaging.destination.name", destination);
    tag(span, "messaging.message.id", base::format_uuid(e_.id));
    return span;
  }

  static void tag(Span& span, std::string_view key, std::string_view text) {
    span.tags.push_back({std::string(key), std::string(text)});
  }
  static void tag(Span& span, std::string_view key, uint64_t number) {
    span.tags.push_back({std::string(key), std::to_string(number), true});
  }

  void add_message() {
    Span& span = add(Span::Kind::message, own_, e_.parent_span_id,
                     is_published(e_) ? "publish" : "send", "send", destination());
    span.cause = cause_of(e_);
    span.link = traced_.link;
    if (!e_.thread.empty()) {
      tag(span, "messaging.message.conversation_id", e_.thread);
    }
    tag(span, "messaging.message.body.size", e_.body.size());
    tag(span, "messaging.client.id", e_.sender);
    tag(span, "parley.type", e_.type);
    tag(span, "parley.priority", word_of(e_.priority));
    tag(span, "parley.seq", traced_.message.seq.n);
    tag(span, "parley.receivers", traced_.receivers.count);
    if (!e_.correlation.empty()) {
      tag(span, "parley.correlation_id", e_.correlation);
    }
    span.logs.push_back({traced_.message.time, "accepted", {}});
    for (const StoredDelivery& delivery : traced_.receivers.listed) {
      if (has_failed(delivery.state)) {
        fail(span, delivery);
        span.logs.push_back(
            {delivery.time,
             std::string(core::state_name(delivery.state)) + " for " + delivery.receiver,
             delivery.last_error});
      }
    }
    if (traced_.receivers.open == 0) {
      span.end = std::max(span.start, traced_.receivers.last);
    }
    for (const TracedMessage::Failure& failure : traced_.failures) {
      fail(span, failure);
      if (failure.receiver.empty() && !span.end) {
        span.end = std::max(span.start, failure.time);  // nobody waits for it any more
      }
    }
    std::ranges::stable_sort(span.logs, {}, &Span::Log::time);
  }

  // Not in time, after so many tries; or as the one who answered says.
  void fail(Span& span, const TracedMessage::Failure& failure) const {
    std::string detail;
    if (failure.receiver.empty()) {
      detail = "no answer in time";
      if (failure.tries > 1) {
        detail += ", asked " + std::to_string(failure.tries) + " times";
      }
    } else {
      detail = failure.receiver + " answered with " + failure.word;
    }
    span.logs.push_back({failure.time,
                         failure.receiver.empty() ? "timed out" : "answered with " + failure.word,
                         detail});
    if (!span.failed) {
      tag(span, "error.type", failure.word);
      span.error = detail;
    }
    span.failed = true;
  }

  // A topic has one name, however its publisher writes it.
  std::string destination() const {
    return is_published(e_) && e_.receivers.size() == 1
               ? std::string(core::topic_name(e_.receivers.front()))
               : joined(e_.receivers);
  }

  static void fail(Span& span, const StoredDelivery& delivery) {
    if (!span.failed) {
      tag(span, "error.type", core::state_name(delivery.state));
      span.error = delivery.last_error;
    }
    span.failed = true;
  }

  void add_delivery(const StoredDelivery& delivery) {
    const bool is_final = core::is_final(delivery.state);
    const bool taken = delivery.offered.us != 0;
    Span& queue = add(Span::Kind::queue, base::part_span(own_, delivery.receiver, "queue"), own_,
                      "queue", "", delivery.receiver);
    tag(queue, "messaging.client.id", delivery.receiver);
    if (taken) {
      queue.end = delivery.offered;
      queue.logs.push_back({delivery.offered, "offered", {}});
    } else if (is_final) {
      end(queue, delivery);
    }
    if (!taken) {
      return;
    }
    Span& process = add(Span::Kind::process, base::part_span(own_, delivery.receiver, "process"),
                        own_, "process", "process", delivery.receiver);
    process.start = delivery.offered;
    tag(process, "messaging.client.id", delivery.receiver);
    tag(process, "parley.state", core::state_name(delivery.state));
    tag(process, "parley.attempts", uint64_t{delivery.attempts});
    if (is_final) {
      end(process, delivery);
    }
    for (const TracedMessage::Failure& failure : traced_.failures) {
      if (failure.receiver == delivery.receiver) {
        fail(process, failure);
      } else if (failure.receiver.empty() && !is_final) {
        fail(process, failure);
        process.end = std::max(process.start, failure.time);
      }
    }
  }

  static void end(Span& span, const StoredDelivery& delivery) {
    span.end = std::max(span.start, delivery.time);
    span.logs.push_back(
        {delivery.time, std::string(core::state_name(delivery.state)), delivery.last_error});
    if (has_failed(delivery.state)) {
      fail(span, delivery);
    }
  }

  const TracedMessage& traced_;
  const Envelope& e_;
  const uint64_t own_;
  std::vector<Span> spans_;
};

}  // namespace

base::Id128 trace_of(const Envelope& envelope) {
  return envelope.trace_id.is_none() ? envelope.id : envelope.trace_id;
}

bool is_on_topic(const Envelope& e, std::span<const StoredDelivery> deliveries) {
  if (e.receivers.size() != 1 || e.receivers.front() == "*") {
    return false;
  }
  const std::string_view name = e.receivers.front();
  const bool is_named =
      std::ranges::find(deliveries, name, &StoredDelivery::receiver) != deliveries.end();
  return name.starts_with("topic:") || (name.find('.') != name.npos && !is_named);
}

std::expected<TracedMessage, Error> traced(Reader& reader, StoredMessage message) {
  const Reader::Viewer everyone{message.workspace, std::nullopt};
  auto made = with_receivers(reader, everyone, std::move(message));
  const auto e = made ? envelope_of(made->message) : std::nullopt;
  if (!e || !asks(e->kind)) {
    return made;
  }
  const auto later =
      reader.of_trace(everyone, trace_of(*e), TracedMessage::answers_max, made->message.seq);
  if (!later) {
    return std::unexpected(later.error());
  }
  for (const StoredMessage& one : *later) {
    if (auto failure = failure_in(one, e->id)) {
      made->failures.push_back(std::move(*failure));
    }
  }
  return made;
}

std::expected<std::optional<Trace>, Error> find_trace(Reader& reader, const Reader::Viewer& viewer,
                                                      const base::Id128& id) {
  auto messages = reader.of_trace(viewer, id, Trace::messages_max + 1);
  if (!messages) {
    return std::unexpected(messages.error());
  }
  if (messages->empty()) {
    return std::nullopt;
  }
  Trace trace{.id = id, .messages = {}, .more = messages->size() > Trace::messages_max};
  messages->resize(std::min(messages->size(), Trace::messages_max));
  const auto links = add_causes(reader, viewer, *messages);
  if (!links) {
    return std::unexpected(links.error());
  }
  std::map<base::MessageId, size_t> asked;
  for (StoredMessage& message : *messages) {
    const auto e = envelope_of(message);
    if (const auto question = e ? asked.find(e->in_reply_to) : asked.end();
        question != asked.end()) {
      if (auto failure = failure_in(message, e->in_reply_to)) {
        trace.messages[question->second].failures.push_back(std::move(*failure));
      }
    }
    if (e && asks(e->kind)) {
      asked[e->id] = trace.messages.size();
    }
    const auto link = links->find(message.seq);
    auto one = with_receivers(reader, viewer, std::move(message));
    if (!one) {
      return std::unexpected(one.error());
    }
    if (link != links->end()) {
      one->link = link->second;
    }
    trace.messages.push_back(std::move(*one));
  }
  return trace;
}

std::expected<std::optional<Trace>, Error> find_trace(Reader& reader, const Reader::Viewer& viewer,
                                                      const core::Target& message) {
  const auto found =
      message.seq.n != 0 ? reader.find(viewer, message.seq) : reader.find(viewer, message.id);
  if (!found) {
    return std::unexpected(found.error());
  }
  const auto envelope = *found ? envelope_of(**found) : std::nullopt;
  return envelope ? find_trace(reader, viewer, trace_of(*envelope))
                  : std::expected<std::optional<Trace>, Error>(std::nullopt);
}

std::vector<Span> spans_of(const TracedMessage& traced) {
  const auto envelope = envelope_of(traced.message);
  // What is for moderators alone is in no trace.
  return !envelope || envelope->kind == core::Kind::private_flag ? std::vector<Span>{}
                                                                 : Maker(traced, *envelope).run();
}

std::vector<Branch> tree_of(const std::vector<Span>& spans) {
  constexpr size_t none = SIZE_MAX;
  std::map<uint64_t, size_t> by_span;
  std::map<base::MessageId, size_t> by_message;
  std::vector<std::vector<size_t>> children(spans.size());
  std::vector<size_t> roots;
  // Only what came before can be a cause, so there is no circle whatever the senders say.
  for (size_t n = 0; n < spans.size(); ++n) {
    const auto parent = by_span.find(spans[n].parent);
    const auto cause = by_message.find(spans[n].cause);
    const size_t above = spans[n].parent != 0 && parent != by_span.end() ? parent->second
                         : cause != by_message.end()                     ? cause->second
                                                                         : none;
    (above == none ? roots : children[above]).push_back(n);
    by_span[spans[n].id] = n;
    if (spans[n].kind == Span::Kind::message) {
      by_message[spans[n].message] = n;
    }
  }
  std::vector<Branch> tree;
  std::vector<std::pair<size_t, size_t>> stack;  // span, depth
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
    stack.emplace_back(*root, 0);
  }
  while (!stack.empty()) {
    const auto [span, depth] = stack.back();
    stack.pop_back();
    for (auto child = children[span].rbegin(); child != children[span].rend(); ++child) {
      stack.emplace_back(*child, depth + 1);
    }
    tree.push_back({span, depth, std::move(children[span])});
  }
  return tree;
}

}  // namespace parley::view
