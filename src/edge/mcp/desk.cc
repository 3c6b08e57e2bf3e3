// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/desk.h"

#include <utility>

#include "edge/call.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr uint64_t wait_seconds_max = 300;
constexpr uint64_t wait_seconds = 30;
constexpr uint64_t inbox_limit = 20;
constexpr uint64_t tell_every = 5;  // seconds

// What a model reads of a refusal.
std::string refusal(Json problem) {
  std::string text = text_of(problem, "code") + ": " + text_of(problem, "detail");
  if (const std::string field = text_of(problem, "field"); !field.empty()) {
    text.append(" (at ").append(field).append(")");
  }
  if (const std::string advice = text_of(problem, "advice"); !advice.empty()) {
    text.append(". ").append(advice);
  }
  return text;
}

void copy_members(Json from, std::initializer_list<std::string_view> keys, JsonWriter& out) {
  for (const std::string_view key : keys) {
    if (const Json value = from.find(key)) {
      out.key(key).raw(value.raw());
    }
  }
}

std::string path_to(std::string_view collection, std::string_view id, std::string_view below = {}) {
  return "/v1/" + std::string(collection) + "/" + percent_encoded(id) + std::string(below);
}

std::string wait_query(uint64_t seconds) { return "wait=" + std::to_string(seconds) + "s"; }

// id, threadId, state and, where they say something, receivers and warnings.
std::string receipt_text(Json receipt) {
  std::string text;
  JsonWriter out(text);
  out.object();
  copy_members(receipt, {"id"}, out);
  if (const Json thread = receipt.find("thread")) {
    out.key("threadId").raw(thread.raw());
  }
  copy_members(receipt, {"state", "delay", "duplicate"}, out);
  out.key("recipients").array();
  if (const Json recipients = receipt.find("recipients")) {
    for (const Json each : recipients.elements()) {
      out.object().key("to").text(text_of(each, "receiver"));
      copy_members(each, {"state"}, out);
      out.end_object();
    }
  }
  out.end_array();
  if (const Json warnings = receipt.find("warnings");
      warnings && warnings.elements().begin() != warnings.elements().end()) {
    out.key("warnings").raw(warnings.raw());
  }
  out.end_object();
  return text;
}

// What was answered, of a response in flow.
std::string response_text(Json answered) {
  const Json response = answered.find("response");
  const Json payload = response ? response.find("payload") : Json();
  const Json body = payload ? payload.find("body") : Json();
  std::string text;
  JsonWriter out(text);
  out.object().key("answered").boolean(true);
  copy_members(answered, {"id"}, out);
  out.key("from").text(text_of(response, "sender"));
  if (const std::string status = text_of(response, "status"); !status.empty()) {
    out.key("status").text(status);
  }
  out.key("answer");
  if (body && body.as_string()) {
    out.text(*body.as_string());
  } else {
    out.text(body ? body.raw() : "");
  }
  if (const std::string thread = text_of(response, "conversation_id"); !thread.empty()) {
    out.key("threadId").text(thread);
  }
  out.end_object();
  return text;
}

}  // namespace

std::string text_of(Json object, std::string_view key) {
  const Json value = object ? object.find(key) : Json();
  return value ? std::string(value.as_string().value_or("")) : std::string();
}

bool accepted(const Arguments& arguments, const Run& run) {
  const std::string problem = arguments.problem();
  if (!problem.empty()) {
    run.done(tool_error("BAD_ARGUMENTS: " + problem));
  }
  return problem.empty();
}

std::string composed(const Draft& draft) {
  std::string text;
  JsonWriter out(text);
  out.object().key("type").plain(draft.type).key("receiver").text(draft.to);
  if (!draft.priority.empty()) {
    out.key("priority").text(draft.priority);
  }
  if (!draft.thread.empty()) {
    out.key("conversation_id").text(draft.thread);
  }
  if (!draft.response_timeout.empty()) {
    out.key("response_timeout").plain(draft.response_timeout);
  }
  out.key("payload").object().key("content_type").plain("text").key("body").text(draft.content);
  out.end_object().end_object();
  return text;
}

std::string inbox_text(Json inbox, bool waited) {
  std::string text;
  JsonWriter out(text);
  out.object();
  const Json notifications = inbox.find("notifications");
  uint64_t shown = 0;
  std::string list;
  JsonWriter items(list);
  items.array();
  for (const Json each : notifications ? notifications.elements() : Json::Elements{}) {
    items.object();
    copy_members(each, {"id", "from"}, items);
    if (text_of(each, "sender_kind") == "human") {
      items.key("human").boolean(true);
    }
    copy_members(each, {"type", "priority", "preview", "timestamp"}, items);
    if (const Json thread = each.find("thread")) {
      items.key("threadId").raw(thread.raw());
    }
    items.end_object();
    ++shown;
  }
  items.end_array();
  const Json count = inbox.find("count");
  out.key("count").number(count ? count.as_uint64().value_or(shown) : shown);
  out.key("notifications").raw(list);
  if (waited) {
    out.key("timedOut").boolean(shown == 0);
  }
  out.end_object();
  return text;
}

Desk::Caller Desk::caller_of(const Ask& ask) {
  return {ask.run, ask.client.principal, ask.client.traceparent, ask.client.tracestate};
}

void Desk::call(const Caller& caller, const Inner& inner, Use use, Refused refused) {
  Api::Inner request{
      .method = inner.method, .path = inner.path, .query = inner.query, .body = inner.body};
  const auto add = [&request](std::string_view name, std::string_view value) {
    if (!value.empty()) {
      request.headers.emplace_back(name, value);
    }
  };
  add("parley-dialect", inner.dialect);
  add("if-match", inner.if_match);
  add("traceparent", caller.traceparent);
  add("tracestate", caller.tracestate);
  const uint64_t number =
      api_.ask_inside(caller.principal, request,
                      [run = caller.run, use = std::move(use),
                       refused = std::move(refused)](const net::Response& response) {
                        lib::JsonDocument document;
                        const auto body = document.parse(response.body);
                        if (!body) {
                          run.fail({internal_error, "the broker's answer cannot be read", {}});
                        } else if (response.status < 400) {
                          use(response, *body);
                        } else if (!refused || !refused(*body)) {
                          run.done(tool_error(refusal(*body)));
                        }
                      });
  caller.run.on_cancel([this, number] { api_.stop_inside(number); });
}

void Desk::answer(const Caller& caller, const Inner& inner, Write write) {
  call(caller, inner,
       [run = caller.run, write = std::move(write)](const net::Response& response, Json body) {
         run.done(tool_json(write(response, body)));
       });
}

void Desk::keep_telling(const Run& run, uint64_t seconds, std::string what, uint64_t passed) {
  const base::Time next = server_.now() + base::seconds(tell_every);
  server_.waits().add(next, [this, run, seconds, what = std::move(what), passed]() mutable {
    if (!run.is_over()) {
      const uint64_t now = passed + tell_every;
      run.progress(static_cast<double>(now), static_cast<double>(seconds), what);
      keep_telling(run, seconds, std::move(what), now);
    }
  });
}

void Desk::check_inbox(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const uint64_t limit = arguments.number("limit", inbox_limit, 1, 100);
  if (accepted(arguments, ask.run)) {
    answer(caller_of(ask),
           {.path = "/v1/inbox", .query = "limit=" + std::to_string(limit), .dialect = "inbox"},
           [](const net::Response&, Json inbox) { return inbox_text(inbox, false); });
  }
}

void Desk::wait_for_message(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const uint64_t seconds = arguments.number("seconds", wait_seconds, 1, wait_seconds_max);
  if (!accepted(arguments, ask.run)) {
    return;
  }
  keep_telling(ask.run, seconds, "no mail yet");
  answer(caller_of(ask),
         {.path = "/v1/inbox",
          .query = "limit=" + std::to_string(inbox_limit) + "&" + wait_query(seconds),
          .dialect = "inbox"},
         [](const net::Response&, Json inbox) { return inbox_text(inbox, true); });
}

void Desk::read_message(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string id = arguments.text("messageId");
  if (!accepted(arguments, ask.run)) {
    return;
  }
  answer(caller_of(ask), {.path = path_to("messages", id), .dialect = "inbox"},
         [](const net::Response& response, Json message) {
           std::string text;
           JsonWriter out(text);
           out.object();
           for (const auto member : message.members()) {
             out.key(member.key).raw(member.value.raw());
           }
           for (const auto& [name, value] : response.headers) {
             if (name == "Parley-Provenance") {
               out.key("provenance").raw(value);
             }
           }
           out.end_object();
           return text;
         });
}

void Desk::send_message(const Ask& ask) {
  // The dialect itself says what is wrong with a message.
  Arguments arguments(ask.arguments);
  for (const std::string_view name : {"to", "type", "content"}) {
    (void)arguments.content(name);
  }
  for (const std::string_view name : {"priority", "threadId"}) {
    (void)arguments.optional_text(name);
  }
  if (accepted(arguments, ask.run)) {
    answer(caller_of(ask),
           {.method = "POST",
            .path = "/v1/messages",
            .body = std::string(ask.arguments.raw()),
            .dialect = "inbox"},
           [](const net::Response&, Json receipt) { return receipt_text(receipt); });
  }
}

void Desk::ack_message(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string id = arguments.text("messageId");
  const std::string outcome = arguments.word("outcome", {"done", "retry", "reject"});
  const std::string reason = arguments.optional_text("reason");
  if (!accepted(arguments, ask.run)) {
    return;
  }
  const std::string_view path = outcome == "done"    ? "/ack"
                                : outcome == "retry" ? "/nack"
                                                     : "/reject";
  std::string body;
  if (outcome != "done") {
    JsonWriter(body).object().key("reason").text(reason).end_object();
  }
  answer(caller_of(ask), {.method = "POST", .path = path_to("messages", id, path), .body = body},
         [id, outcome](const net::Response&, Json) {
           std::string text;
           JsonWriter(text).object().key("id").text(id).key("outcome").text(outcome).end_object();
           return text;
         });
}

// Sends a request and waits for its answer. One that does not come in time is no failure: it will
// be in the inbox.
void Desk::question(const Caller& caller, std::string body, uint64_t seconds,
                    std::string_view asked) {
  keep_telling(caller.run, seconds, "waiting for " + std::string(asked));
  call(
      caller,
      {.method = "POST",
       .path = "/v1/messages",
       .query = "lenient=true&" + wait_query(seconds),
       .body = std::move(body),
       .dialect = "flow"},
      [run = caller.run](const net::Response&, Json answered) {
        run.done(tool_json(response_text(answered)));
      },
      [run = caller.run](Json problem) {
        const std::string code = text_of(problem, "code");
        if (code == "NOT_ANSWERED") {
          run.done(tool_error(refusal(problem) + " findAgents shows who is there."));
          return true;
        }
        if (code != "TIMEOUT") {
          return false;
        }
        std::string text;
        JsonWriter out(text);
        out.object().key("answered").boolean(false).key("note");
        out.text(text_of(problem, "detail") +
                 "; a late answer comes to your inbox: use waitForMessage or checkInbox");
        out.end_object();
        run.done(tool_json(text));
        return true;
      });
}

void Desk::request(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string to = arguments.text("to");
  const std::string content = arguments.content("content");
  const std::string priority = arguments.word("priority", {"normal", "high", "low", "critical"});
  const std::string thread = arguments.optional_text("threadId");
  const uint64_t seconds = arguments.number("seconds", wait_seconds, 1, wait_seconds_max);
  if (accepted(arguments, ask.run)) {
    question(caller_of(ask),
             composed({.type = "request",
                       .to = to,
                       .content = content,
                       .priority = priority,
                       .thread = thread}),
             seconds, to);
  }
}

void Desk::publish(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string topic = arguments.text("topic");
  const std::string content = arguments.content("content");
  const std::string priority = arguments.word("priority", {"normal", "high", "low", "critical"});
  if (!accepted(arguments, ask.run)) {
    return;
  }
  const std::string_view type = topic == "*" ? "broadcast" : "notification";
  answer(caller_of(ask),
         {.method = "POST",
          .path = "/v1/messages",
          .query = "lenient=true",
          .body = composed({.type = type, .to = topic, .content = content, .priority = priority}),
          .dialect = "flow"},
         [](const net::Response&, Json receipt) {
           std::string text;
           JsonWriter out(text);
           out.object();
           copy_members(receipt, {"id", "state"}, out);
           if (const Json count = receipt.find("recipient_count")) {
             out.key("subscribers").raw(count.raw());
           }
           out.end_object();
           return text;
         });
}

}  // namespace parley::edge::mcp
