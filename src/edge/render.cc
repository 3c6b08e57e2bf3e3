// SPDX-License-Identifier: Apache-2.0
#include "edge/render.h"

#include <algorithm>

#include "base/text.h"
#include "base/trace.h"
#include "core/handoffs/handoff_acts.h"
#include "core/model/words.h"
#include "core/topics/broker_topics.h"
#include "edge/gate.h"
#include "edge/scope.h"
#include "lib/json.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;

constexpr size_t preview_bytes = 120;

std::string_view resolution_name(core::Resolution resolution) {
  constexpr core::Words<core::resolution_last> words("pending", "retried", "discarded",
                                                     "escalated");
  return words[resolution];
}

}  // namespace

// A subject was written to be read first, so it is the preview where there is one.
std::string preview_of(const core::Envelope& envelope) {
  if (!envelope.subject.empty()) {
    return std::string(base::cut(envelope.subject, preview_bytes));
  }
  if (envelope.content_type == core::ContentType::text) {
    lib::JsonDocument document;
    if (const auto parsed = document.parse(envelope.body)) {
      return std::string(base::cut(parsed->as_string().value_or(envelope.body), preview_bytes));
    }
  }
  return std::string(base::cut(envelope.body, preview_bytes));
}

// The broker's own messages have no principal as their sender.
static std::string_view sender_kind_name(const core::Envelope& envelope) {
  return envelope.sender == core::broker_sender ? "broker" : word_of(envelope.sender_kind);
}

// The breaker, which says whether the agent gets messages, and what it used of its budget today.
static void render_limits(const core::Rules& rules, const core::Agent& agent, base::Time now,
                          JsonWriter& out) {
  const core::Breaker::State state = agent.breaker.state(now, rules.breaker_pause);
  out.key("breaker").object().key("state").text(core::breaker_name(state));
  out.key("failures").number(uint64_t{agent.breaker.failures()});
  if (state != core::Breaker::State::closed) {
    out.key("reason").text(core::breaker_name(agent.breaker.reason()));
    out.key("since").time(agent.breaker.since());
  }
  out.end_object();
  const core::Budget today = agent.budget.on(now);
  out.key("budget").object().key("messages").number(today.messages);
  out.key("messages_max").number(rules.guard_messages);
  out.key("tokens").number(today.tokens).key("tokens_max").number(rules.guard_tokens);
  out.key("bytes").number(today.bytes).key("bytes_max").number(rules.guard_bytes);
  out.key("resets").time(core::Budget::day_ends(now)).end_object();
}

// An agent that is there again may still have "offline" as its last status: that is not shown.
std::string_view agent_status(const core::Agent& agent) {
  if (agent.is_offline()) {
    return "offline";
  }
  return agent.status == "offline" ? std::string_view{} : agent.status;
}

void render_agent(const core::Tables& tables, core::AgentRef ref, base::Time now,
                  const AgentParts& shown, JsonWriter& out,
                  const std::function<void(const core::Agent&)>& rest) {
  const core::Agent& agent = tables.agents[ref];
  out.object().key("id").text(agent.name).key("kind").text(word_of(agent.kind));
  out.key("dialect").text(dialect::name_of(agent.dialect)).key("role").text(agent.role);
  out.key("capabilities").array();
  for (const std::string& capability : agent.capabilities) {
    out.text(capability);
  }
  out.end_array();
  if (!agent.claims.empty()) {
    out.key("claimed_capabilities").array();
    for (const std::string& claim : agent.claims) {
      out.text(claim);
    }
    out.end_array();
  }
  if (shown.subscriptions) {
    out.key("subscriptions").array();
    for (const std::string& topic : agent.subscriptions) {
      out.text(topic);
    }
    out.end_array();
  }
  if (agent.kind == core::PrincipalKind::human) {
    out.key("rights").array();
    for (const std::string_view right : core::right_words(agent.rights)) {
      out.text(right);
    }
    out.end_array();
  }
  if (!agent.spawner.empty()) {
    out.key("spawner").text(agent.spawner);
  }
  render_scope(agent, out);
  // The members of the profile are copied as the client wrote them.
  lib::JsonSlice member;
  for (lib::JsonSlices members(agent.profile); members.next(member);) {
    out.raw_key(member.key).raw(member.value);
  }
  if (rest) {
    rest(agent);
  }
  out.key("registered").time(agent.registered);
  if (agent.seen.us != 0) {
    out.key("last_seen").time(agent.seen);
  }
  out.key("connected").boolean(!agent.streams.empty());
  out.key("availability");
  out.plain(agent.is_offline() ? "offline" : agent.is_available() ? "available" : "unavailable");
  if (const std::string_view status = agent_status(agent); !status.empty()) {
    out.key("status").text(status);
  }
  if (!agent.task.empty()) {
    out.key("currentTask").text(agent.task);
  }
  out.key("queue_depth").number(agent.inbox.unsettled);
  out.key("inbox").object().key("unsettled").number(agent.inbox.unsettled).end_object();
  const uint64_t unsettled = tables.messages.open.messages_of(ref);
  out.key("outbox").object().key("unsettled").number(unsettled).end_object();
  out.key("throttled").number(tables.messages.gates.throttled_of(ref));
  out.key("violations").number(agent.violations.count);
  out.key("violations_by_code").object();
  for (const auto& [code, count] : agent.violations.kinds) {
    out.key(code).number(count);
  }
  out.end_object();
  render_limits(tables.rules, agent, now, out);
  out.key("streams").number(uint64_t{agent.streams.size()});
  out.end_object();
}

void render_topic(const core::Tables& tables, std::string_view name, core::AgentRef viewer,
                  JsonWriter& out) {
  const core::TopicRef ref = tables.topics.find(name);
  // A pattern of names has no entry of its own.
  const core::Topic none;
  const core::Topic& topic = ref == core::none ? none : tables.topics[ref];
  const auto& patterns = tables.topics.wildcards().by_pattern();
  const auto pattern = patterns.find(name);
  const std::vector<core::AgentRef> listeners =
      pattern == patterns.end() ? tables.topics.listeners(name) : pattern->second;
  out.object().key("name").text(name);
  if (pattern != patterns.end()) {
    out.key("pattern").boolean(true);
  }
  out.key("subscribers").array();
  for (const core::AgentRef subscriber : listeners) {
    if (viewer == core::none || subscriber == viewer) {
      out.text(tables.agents[subscriber].name);
    }
  }
  out.end_array().key("subscriber_count").number(uint64_t{listeners.size()});
  out.key("retained").number(uint64_t{topic.retained.size()});
  if (topic.published.us != 0) {
    out.key("last_published").time(topic.published);
  }
  if (core::broker_topics::is_own_topic(name)) {
    out.key("publisher").text(core::broker_sender);
  }
  const std::vector<core::AgentRef> owners = tables.agents.stewards();
  out.key("owner").text(owners.empty() ? "" : tables.agents[owners.front()].name).end_object();
}

void render_dead_letter(const core::Tables& tables, const core::DeadLetter& letter,
                        JsonWriter& out) {
  out.object().key("id").number(letter.id).key("seq").number(letter.message.n);
  out.key("reason").text(core::reason_name(letter.reason));
  out.key("failed_at").time(letter.failed_at).key("sender").text(letter.sender);
  out.key("receiver").text(letter.receiver);
  // The notice leaves the outbox when it is sent.
  const bool is_owed = tables.outbox.find(letter.notice) != nullptr;
  out.key("sender_told").boolean(letter.notice != 0 && !is_owed);
  out.key("retry_count").number(letter.retry_count).key("last_error").text(letter.last_error);
  if (!letter.has_original) {
    out.key("original_kept").boolean(false);
  }
  out.key("system_retries").number(letter.tries);
  if (letter.due != base::time_max) {
    out.key("next_look").time(letter.due);
  }
  out.key("resolution").object().key("status").text(resolution_name(letter.resolution));
  if (letter.resolution != core::Resolution::pending) {
    out.key("resolved_by").text(core::by_whom(letter.resolved_by));
    out.key("resolved_at").time(letter.resolved_at);
  }
  out.end_object().end_object();
}

void render_delivery(const core::Tables& tables, core::DeliveryRef ref, JsonWriter& out,
                     bool shows_status) {
  const core::Delivery& delivery = tables.messages.delivery(ref);
  out.object().key("receiver").text(tables.agents[delivery.receiver].name);
  out.key("state").text(core::state_name(delivery.state)).key("since").time(delivery.changed);
  if (shows_status) {
    out.key("status").plain(core::handoff_status(tables, delivery));
  }
  out.key("attempts").number(uint64_t{delivery.attempts});
  if (core::is_held(delivery.state)) {
    out.key("lease_ends").time(delivery.due);
  }
  if (delivery.state == core::State::delayed) {
    out.key("not_before").time(delivery.due);
  }
  if (const core::Hold* const hold =
          tables.holds.find(tables.messages.message_of(ref).seq, delivery.receiver);
      hold != nullptr && delivery.on_hold) {
    out.key("held").plain(core::word_of(hold->reason));
  }
  if (tables.messages.message_of(ref).durability == core::Durability::memory) {
    out.key("not_persisted").boolean(true);
  }
  const core::DeliveryNotes& notes = tables.messages.notes;
  if (const std::string* const away = notes.redirected_from(ref); away != nullptr) {
    out.key("redirected_from").text(*away);
  }
  if (const std::string* const error = notes.last_error(ref); error != nullptr) {
    out.key("last_error").text(*error);
  }
  out.end_object();
}

void render_counts(const core::Tables& tables, core::MessageRef ref, JsonWriter& out) {
  const core::Message& message = tables.messages.message(ref);
  std::map<std::string_view, uint64_t> states;
  for (core::DeliveryRef d = message.deliveries; d != core::none;
       d = tables.messages.delivery(d).sibling) {
    ++states[core::state_name(tables.messages.delivery(d).state)];
  }
  out.key("recipient_count").number(uint64_t{message.delivery_count});
  render_states(states, out);
  if (message.durability == core::Durability::memory) {
    out.key("not_persisted").boolean(true);
  }
}

void render_states(const std::map<std::string_view, uint64_t>& states, JsonWriter& out) {
  out.key("states").object();
  for (const auto& [state, count] : states) {
    out.key(state).number(count);
  }
  out.end_object();
}

void render_deliveries(const core::Tables& tables, const Principal& caller, core::MessageRef ref,
                       JsonWriter& out) {
  std::vector<core::DeliveryRef> refs;
  const core::Message& message = tables.messages.message(ref);
  const bool shown = sees_receivers(tables, caller, message);
  for (core::DeliveryRef d = shown ? message.deliveries : core::none; d != core::none;
       d = tables.messages.delivery(d).sibling) {
    refs.push_back(d);
  }
  std::ranges::reverse(refs);  // the newest delivery is the first of its message
  // In the words of squad, for who speaks it, or asked in it.
  const auto has_status = [](core::Dialect dialect) {
    return core::policy_of(dialect).response_times.value.front() != nullptr;
  };
  const bool shows_status =
      has_status(tables.agents[caller.ref].dialect) || has_status(message.dialect);
  out.array();
  for (const core::DeliveryRef d : refs) {
    render_delivery(tables, d, out, shows_status);
  }
  out.end_array();
}

void render_request(const core::Tables& tables, core::MessageRef ref, JsonWriter& out) {
  const core::Message& message = tables.messages.message(ref);
  if (!core::asks(message.kind)) {
    return;
  }
  const core::PendingRequest* const wait = tables.pending.find_request(message.seq);
  out.key("request").object().key("state");
  out.plain(wait != nullptr                   ? "waiting"
            : message.answer.n != 0           ? "answered"
            : message.timed_out               ? "timed_out"
            : tables.messages.has_failed(ref) ? "failed"
                                              : "open");
  if (wait != nullptr) {
    if (wait->held.n != 0) {  // its timer stands still
      out.key("held").plain(core::word_of(core::HoldReason::approval));
    } else {
      out.key("due").time(wait->due);
    }
    out.key("retries").number(uint64_t{wait->retries});
  }
  if (message.answer.n != 0) {
    out.key("answer").number(message.answer.n);
  }
  out.end_object();
}

void render_summary(const core::Envelope& envelope, const core::Message& message,
                    core::Dialect reader, JsonWriter& out) {
  out.key("id").text(dialect::id_in(reader, envelope)).key("seq").number(message.seq.n);
  out.key("from").text(envelope.sender).key("sender_kind");
  out.plain(sender_kind_name(envelope));
  const dialect::Codec& codec = dialect::codec_of(reader);
  out.key("type").text(codec.type(envelope));
  out.key("priority")
      .text(word_of(
          std::min<core::Priority>(message.priority, core::policy_of(reader).priority_max)));
  out.key("preview");
  if (codec.title != nullptr && core::asks(envelope.kind)) {
    out.text(base::cut(codec.title(envelope), preview_bytes));
  } else {
    out.text(preview_of(envelope));
  }
  out.key("timestamp").time(message.time).key("thread").text(envelope.thread);
}

void render_notification(const core::Envelope& envelope, const core::Message& message,
                         core::Dialect reader, std::string_view redirected_from, JsonWriter& out) {
  out.object();
  render_summary(envelope, message, reader, out);
  if (!dialect::codec_of(reader).tells_questions_apart && message.kind == core::Kind::query &&
      !message.is_task) {
    out.key("question").boolean(true);
  }
  if (message.mark != core::Mark::plain) {
    out.key("mark").plain(core::word_of(message.mark));
  }
  if (!redirected_from.empty()) {
    out.key("redirected_from").text(redirected_from);
  }
  out.end_object();
}

namespace {

std::string traceparent_of(const core::Envelope& envelope) {
  return base::format_traceparent({envelope.trace_id,
                                   base::message_span(envelope.id, envelope.sender),
                                   envelope.trace_sampled});
}

}  // namespace

std::string_view redirected_from(const core::Tables& tables, core::MessageRef message,
                                 core::AgentRef receiver) {
  // Redirected deliveries are rare: mostly no look-up is needed.
  return tables.messages.notes.redirected().empty()
             ? std::string_view{}
             : redirected_from(tables, tables.messages.delivery_to(message, receiver));
}

std::string_view redirected_from(const core::Tables& tables, core::DeliveryRef delivery) {
  const std::string* const from = tables.messages.notes.redirected_from(delivery);
  return from == nullptr ? std::string_view{} : *from;
}

void render_provenance(const core::Envelope& envelope, const core::Message& message,
                       std::string_view redirected_from, JsonWriter& out) {
  out.object().key("sender").text(envelope.sender);
  out.key("sender_kind").plain(sender_kind_name(envelope));
  out.key("via").plain(word_of(envelope.via));
  out.key("dialect").plain(dialect::name_of(message.dialect));
  out.key("on_behalf_of").array();
  for (const std::string_view name : envelope.on_behalf_of) {
    out.text(name);
  }
  out.end_array().key("accepted").time(message.time);
  if (!envelope.trace_id.is_none()) {
    out.key("traceparent").plain(traceparent_of(envelope));
    if (!envelope.tracestate.empty()) {
      out.key("tracestate").text(envelope.tracestate);
    }
  }
  if (message.mark != core::Mark::plain) {
    out.key("mark").plain(core::word_of(message.mark));
  }
  if (!redirected_from.empty()) {
    out.key("redirected_from").text(redirected_from);
  }
  out.end_object();
}

void add_provenance(const core::Envelope& envelope, const core::Message& message,
                    std::string_view redirected_from, net::Response& response) {
  std::string provenance;
  JsonWriter out(provenance);
  render_provenance(envelope, message, redirected_from, out);
  response.headers.emplace_back("Parley-Provenance", std::move(provenance));
  if (!envelope.trace_id.is_none()) {
    response.headers.emplace_back("traceparent", traceparent_of(envelope));
    if (!envelope.tracestate.empty()) {
      response.headers.emplace_back("tracestate", envelope.tracestate);
    }
  }
}

void add_delivery(const core::Tables& tables, core::MessageRef message, core::AgentRef receiver,
                  net::Response& response) {
  const core::DeliveryRef ref =
      message == core::none ? core::none : tables.messages.delivery_to(message, receiver);
  if (ref == core::none) {
    return;
  }
  const core::State state = tables.messages.delivery(ref).state;
  if (!core::is_final(state) || state == core::State::acked || state == core::State::answered) {
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("state").plain(core::state_name(state));
  if (const std::string* const error = tables.messages.notes.last_error(ref); error != nullptr) {
    out.key("note").text(*error);
  }
  out.end_object();
  response.headers.emplace_back("Parley-Delivery", std::move(text));
}

}  // namespace parley::edge
