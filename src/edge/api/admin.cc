// SPDX-License-Identifier: Apache-2.0
// Dead letters, rules, health.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "edge/api/api.h"
#include "edge/api/openapi.h"
#include "edge/render.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t list_max = 1'000;

uint64_t parse_id(const std::string& text) {
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc{} && end == text.data() + text.size() ? id : 0;
}

base::Error no_such_letter(std::string_view id) {
  return {Code::not_found,
          "there is no dead letter \"" + std::string(base::cut(id, 64)) +
              "\"; they have numbers, as GET /v1/dead-letters lists them",
          {}};
}

}  // namespace

void Api::list_dead_letters(Call& call) {
  const auto limit = call.count("limit", 100, list_max);
  if (!limit) {
    refuse(call.exchange, limit.error());
    return;
  }
  if (!require(call, call.caller.is_maintainer(), "only a maintainer or an admin")) {
    return;
  }
  const core::Tables& t = tables(call);
  const auto state = call.parameter("state");
  const bool pending_only = state == "pending";
  if (state && !pending_only) {
    refuse(call.exchange, Error{Code::bad_request, "the parameter state must be pending", {}});
    return;
  }
  const auto count = std::ranges::count_if(t.dead_letters.all(), [pending_only](const auto& item) {
    return !pending_only || item.second.resolution == core::Resolution::pending;
  });
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(static_cast<uint64_t>(count));
  out.key("dropped").number(t.dead_letters_dropped).key("dead_letters").array();
  uint64_t listed = 0;
  for (auto at = t.dead_letters.all().rbegin(); at != t.dead_letters.all().rend(); ++at) {
    if (listed == *limit) {
      break;
    }
    if (!pending_only || at->second.resolution == core::Resolution::pending) {
      render_dead_letter(t, at->second, out);
      ++listed;
    }
  }
  out.end_array().end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

void Api::show_dead_letter(Call& call) {
  if (!require(call, call.caller.is_maintainer(), "only a maintainer or an admin")) {
    return;
  }
  const auto& letters = tables(call).dead_letters.all();
  const auto at = letters.find(parse_id(call.arguments[0]));
  if (at == letters.end()) {
    refuse(call.exchange, no_such_letter(call.arguments[0]));
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("dead_letter");
  render_dead_letter(tables(call), at->second, out);
  const auto original =
      !at->second.has_original
          ? std::unexpected(Error{Code::not_found, "it was too large to be kept", {}})
      : at->second.reason == core::Reason::malformed
          ? malformed_text(broker_, call.caller.workspace, at->second.message)
          : message_text(broker_, call.caller.workspace, at->second.message, call.caller.dialect,
                         {.recipient = at->second.receiver});
  if (original) {
    out.key("original_message").raw(*original);
  }
  out.end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

void Api::retry_dead_letter(Call& call) { resolve_dead_letter(call, core::Resolution::retried); }

void Api::discard_dead_letter(Call& call) {
  resolve_dead_letter(call, core::Resolution::discarded);
}

void Api::escalate_dead_letter(Call& call) {
  resolve_dead_letter(call, core::Resolution::escalated);
}

void Api::resolve_dead_letter(Call& call, core::Resolution resolution) {
  const uint64_t id = parse_id(call.arguments[0]);
  if (id == 0 && call.caller.is_maintainer()) {
    refuse(call.exchange, no_such_letter(call.arguments[0]));
    return;
  }
  broker_.ask(call.caller.workspace, call.caller.name,
              core::ResolveDeadLetter{.id = id, .resolution = resolution},
              reply_done(call.exchange));
}

void Api::show_rules(Call& call) {
  const core::Rules defaults;
  std::string text;
  JsonWriter out(text);
  out.object().key("rules").array();
  for (const core::RuleInfo& info : core::all_rules()) {
    out.object().key("name").text(info.name);
    out.key("value").text(core::rule_value(tables(call).rules, info));
    out.key("default").text(core::rule_value(defaults, info));
    out.key("help").text(info.help).end_object();
  }
  out.end_array().end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

void Api::change_rules(Call& call) {
  const auto body = body_object(call);
  if (!body) {
    refuse(call.exchange, body.error());
    return;
  }
  core::SetRules command;
  for (const lib::JsonMember member : body->members()) {
    // A number may be written as one, and several texts as a list.
    std::string& text = texts_.emplace_back(member.value.as_string().value_or(member.value.raw()));
    if (member.value.kind() == lib::JsonKind::array) {
      text.clear();
      for (const Json element : member.value.elements()) {
        text.append(text.empty() ? "" : ",").append(element.as_string().value_or(element.raw()));
      }
    }
    command.values.emplace_back(member.key, text);
  }
  broker_.ask(call.caller.workspace, call.caller.name, std::move(command),
              reply_done(call.exchange));
}

void Api::describe(Call& call) {
  respond(call.exchange, json_response(200, std::string(openapi())));
}

void Api::alive(Call& call) { respond(call.exchange, json_response(200, R"({"status":"alive"})")); }

void Api::ready(Call& call) {
  if (broker_.trouble()) {
    refuse(call.exchange, *broker_.trouble());
  } else {
    respond(call.exchange, json_response(200, R"({"status":"ready"})"));
  }
}

// The figures are of all workspaces, so they are for those who look after the broker.
void Api::show_metrics(Call& call) {
  const bool allowed =
      call.caller.is_maintainer() && call.caller.workspace == core::workspace_first;
  if (!require(call, allowed, "only a maintainer or an admin of the first workspace")) {
    return;
  }
  net::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics_.text(broker_.machine(), options_.gauges, clock_.now());
  respond(call.exchange, std::move(response));
}

// What only the parts around this know.
void Api::add_gauges() {
  const auto add = [this](std::string name, std::string help, std::function<double()> value) {
    options_.gauges.push_back({std::move(name), std::move(help), std::move(value)});
  };
  add("parley_connections", "Open connections.",
      [this] { return static_cast<double>(server_->connections()); });
  add("parley_calls_waiting", "Calls that wait for mail, an answer or a lock.",
      [this] { return static_cast<double>(waiting_.size()); });
  add("parley_storage_trouble", "1 while commands are refused because storage fails.",
      [this] { return broker_.trouble() ? 1.0 : 0.0; });
  add("parley_snapshot_trouble", "1 while the newest snapshot could not be stored.",
      [this] { return broker_.snapshot_trouble() ? 1.0 : 0.0; });
  add("parley_records_read_by_loop_total", "Records that the loop itself read from the disk.",
      [this] { return static_cast<double>(broker_.cold_reads()); });
  add("parley_records_read_behind_total", "Records that a thread beside the loop read for it.",
      [this] { return static_cast<double>(broker_.warmed()); });
  add("parley_webhook_sent_total", "Agents told of mail by their webhooks.",
      [this] { return static_cast<double>(webhooks_.sent()); });
  add("parley_webhook_failures_total", "Requests to webhooks that were not taken.",
      [this] { return static_cast<double>(webhooks_.failures()); });
  add("parley_webhooks_disabled", "Webhooks that failed so often that they rest.",
      [this] { return static_cast<double>(webhooks_.disabled()); });
  if (options_.view == nullptr) {
    return;
  }
  view::Feed& feed = options_.view->feed();
  add("parley_history_seq", "The newest entry in the history.",
      [&feed] { return static_cast<double>(feed.position().n); });
  add("parley_history_lag_entries", "Entries that are not in the history yet.",
      [&feed] { return static_cast<double>(feed.lag()); });
  add("parley_history_lag_bytes", "Bytes of messages that are not in the history yet.",
      [&feed] { return static_cast<double>(feed.lag_bytes()); });
  add("parley_history_trouble", "1 while the history cannot be written.",
      [&feed] { return feed.trouble() ? 1.0 : 0.0; });
}

void Api::health(Call& call) {
  const core::Tables& t = tables(call);
  uint64_t pending = 0;
  for (const auto& [id, letter] : t.dead_letters.all()) {
    pending += letter.resolution == core::Resolution::pending ? 1 : 0;
  }
  std::string text;
  JsonWriter out(text);
  const bool alarmed = t.dead_letters.alerts() > 0 &&
                       t.dead_letters.alerted() + t.rules.dead_letter_alert_window > clock_.now();
  out.object().key("status");
  const bool degraded = alarmed || broker_.snapshot_trouble();
  out.plain(broker_.trouble() ? "failing" : degraded ? "degraded" : "healthy");
  if (broker_.trouble()) {
    out.key("trouble").text(broker_.trouble()->detail);
  }
  if (broker_.snapshot_trouble()) {
    out.key("snapshot_trouble").text(broker_.snapshot_trouble()->detail);
  }
  out.key("version").text(options_.version).key("time").time(clock_.now());
  out.key("seq").number(broker_.machine().seq().n);
  out.key("agents").number(uint64_t{t.agents.registered()});
  out.key("messages").number(uint64_t{t.messages.size()});
  out.key("streams").number(uint64_t{t.streams.size()});
  out.key("dead_letters").object();
  out.key("total").number(uint64_t{t.dead_letters.size()});
  out.key("pending").number(pending);
  out.key("dropped").number(t.dead_letters_dropped);
  out.key("open").number(uint64_t{t.dead_letters.open()});
  out.key("alerts").number(t.dead_letters.alerts());
  if (t.dead_letters.alerts() > 0) {
    out.key("alerted_at").time(t.dead_letters.alerted());
  }
  if (call.caller.is_maintainer()) {
    out.key("newest").array();
    size_t listed = 0;
    for (auto at = t.dead_letters.all().rbegin(); at != t.dead_letters.all().rend() && listed < 10;
         ++at, ++listed) {
      render_dead_letter(t, at->second, out);
    }
    out.end_array();
  }
  out.end_object();
  if (options_.view != nullptr) {
    view::Feed& feed = options_.view->feed();
    out.key("history").object().key("seq").number(feed.position().n);
    out.key("behind").number(feed.lag());
    if (const auto trouble = feed.trouble()) {
      out.key("trouble").text(trouble->detail);
    }
    out.end_object();
  }
  out.end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

}  // namespace parley::edge
