// SPDX-License-Identifier: Apache-2.0
#include "edge/render.h"

#include <algorithm>
#include <array>

#include "dialect/dialect.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using lib::JsonWriter;

constexpr size_t preview_bytes = 120;

std::string_view resolution_name(core::Resolution resolution) {
  constexpr std::array<std::string_view, 4> names = {"pending", "retried", "discarded",
                                                     "escalated"};
  return names[static_cast<size_t>(resolution)];
}

// The beginning of the body, cut between characters.
std::string_view preview_of(std::string_view body) {
  if (body.size() <= preview_bytes) {
    return body;
  }
  size_t end = preview_bytes;
  while (end > 0 && (static_cast<uint8_t>(body[end]) & 0xc0) == 0x80) {
    --end;
  }
  return body.substr(0, end);
}

}  // namespace

std::string_view kind_name(core::PrincipalKind kind) {
  constexpr std::array<std::string_view, 4> names = {"unknown", "agent", "human", "admin"};
  return names[static_cast<size_t>(kind)];
}

std::string_view priority_name(core::Priority priority) {
  constexpr std::array<std::string_view, 4> names = {"low", "normal", "high", "critical"};
  return names[static_cast<size_t>(priority)];
}

void render_agent(const core::Tables& tables, core::AgentRef ref, JsonWriter& out) {
  const core::Agent& agent = tables.agents[ref];
  out.object().key("id").text(agent.name).key("kind").text(kind_name(agent.kind));
  out.key("dialect").text(dialect::name_of(agent.dialect)).key("role").text(agent.role);
  out.key("capabilities").array();
  for (const std::string& capability : agent.capabilities) {
    out.text(capability);
  }
  out.end_array().key("subscriptions").array();
  for (const std::string& topic : agent.subscriptions) {
    out.text(topic);
  }
  out.end_array();
  if (agent.kind == core::PrincipalKind::human) {
    out.key("rights").array();
    for (const std::string_view right : core::right_words(agent.rights)) {
      out.text(right);
    }
    out.end_array();
  }
  out.key("registered").time(agent.registered);
  out.key("queue_depth").number(agent.inbox.unsettled);
  out.key("streams").number(uint64_t{agent.streams.size()});
  out.end_object();
}

void render_topic(const core::Tables& tables, core::TopicRef ref, JsonWriter& out) {
  const core::Topic& topic = tables.topics[ref];
  out.object().key("name").text(topic.name).key("subscribers").array();
  for (const core::AgentRef subscriber : topic.subscribers) {
    out.text(tables.agents[subscriber].name);
  }
  out.end_array().key("retained").number(uint64_t{topic.retained.size()}).end_object();
}

void render_dead_letter(const core::DeadLetter& letter, JsonWriter& out) {
  out.object().key("id").number(letter.id).key("seq").number(letter.message.n);
  out.key("reason").text(core::reason_name(letter.reason));
  out.key("failed_at").time(letter.failed_at).key("receiver").text(letter.receiver);
  out.key("retry_count").number(letter.retry_count).key("last_error").text(letter.last_error);
  out.key("resolution").object().key("status").text(resolution_name(letter.resolution));
  if (letter.resolution != core::Resolution::pending) {
    out.key("resolved_by").text(letter.resolved_by.empty() ? "system" : letter.resolved_by);
    out.key("resolved_at").time(letter.resolved_at);
  }
  out.end_object().end_object();
}

void render_delivery(const core::Tables& tables, core::DeliveryRef ref, JsonWriter& out) {
  const core::Delivery& delivery = tables.messages.delivery(ref);
  out.object().key("receiver").text(tables.agents[delivery.receiver].name);
  out.key("state").text(core::state_name(delivery.state)).key("since").time(delivery.changed);
  out.key("attempts").number(uint64_t{delivery.attempts});
  if (core::is_held(delivery.state)) {
    out.key("lease_ends").time(delivery.due);
  }
  if (delivery.state == core::State::delayed) {
    out.key("not_before").time(delivery.due);
  }
  const auto error = tables.messages.last_errors().find(ref);
  if (error != tables.messages.last_errors().end()) {
    out.key("last_error").text(error->second);
  }
  out.end_object();
}

void render_deliveries(const core::Tables& tables, core::MessageRef ref, JsonWriter& out) {
  std::vector<core::DeliveryRef> refs;
  for (core::DeliveryRef d = tables.messages.message(ref).deliveries; d != core::none;
       d = tables.messages.delivery(d).sibling) {
    refs.push_back(d);
  }
  std::ranges::reverse(refs);
  out.array();
  for (const core::DeliveryRef d : refs) {
    render_delivery(tables, d, out);
  }
  out.end_array();
}

void render_notification(const core::Envelope& envelope, const core::Message& message,
                         JsonWriter& out) {
  out.object().key("id").uuid(message.id).key("seq").number(message.seq.n);
  out.key("from").text(envelope.sender).key("type").text(envelope.type);
  out.key("priority").text(priority_name(message.priority));
  out.key("preview").text(preview_of(envelope.subject.empty() ? envelope.body : envelope.subject));
  out.key("timestamp").time(message.time).key("thread").text(envelope.thread).end_object();
}

void render_provenance(const core::Envelope& envelope, const core::Message& message,
                       JsonWriter& out) {
  out.object().key("sender").text(envelope.sender);
  out.key("dialect").text(dialect::name_of(message.dialect));
  out.key("accepted").time(message.time).end_object();
}

std::expected<core::Envelope, Error> envelope_at(node::Broker& broker, base::Seq seq) {
  const auto record = broker.record(seq);
  if (!record) {
    return std::unexpected(record.error());
  }
  auto entry = core::decode_entry(seq, base::Time{}, *record);
  if (!entry) {
    return std::unexpected(entry.error());
  }
  auto* send = std::get_if<core::Send>(&entry->command);
  if (send == nullptr) {
    return std::unexpected(Error{Code::not_found, "there is no message at this place", {}});
  }
  return std::move(send->envelope);
}

std::expected<std::string, Error> message_text(node::Broker& broker, base::Seq seq,
                                               core::Dialect dialect, std::string_view recipient) {
  const auto envelope = envelope_at(broker, seq);
  if (!envelope) {
    return std::unexpected(envelope.error());
  }
  const dialect::Codec* codec = dialect::find_codec(dialect);
  if (codec == nullptr) {
    codec = dialect::find_codec(core::Dialect::flow);
  }
  std::string text;
  codec->encode(*envelope, {.recipient = recipient}, text);
  return text;
}

}  // namespace parley::edge
