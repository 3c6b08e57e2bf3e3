// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/tools.h"

#include <utility>

#include "edge/api/call.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr uint64_t wait_seconds_max = 300;
constexpr uint64_t wait_seconds = 30;
constexpr uint64_t inbox_limit = 20;
constexpr uint64_t tell_every = 5;                 // seconds
constexpr std::string_view answer_timeout = "1h";  // then a question is over, and its asker told

std::string path_to(std::string_view collection, std::string_view id, std::string_view below = {}) {
  return "/v1/" + std::string(collection) + "/" + percent_encoded(id) + std::string(below);
}

std::string wait_query(uint64_t seconds) { return "wait=" + std::to_string(seconds) + "s"; }

}  // namespace

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

Desk::Caller Desk::caller_of(const Ask& ask) {
  return {.run = ask.run,
          .principal = ask.client.principal,
          .traceparent = ask.client.traceparent,
          .tracestate = ask.client.tracestate};
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
                      [run = caller.run, to = caller.to, use = std::move(use),
                       refused = std::move(refused)](const net::Response& response) {
                        lib::JsonDocument document;
                        const auto body = document.parse(response.body);
                        if (!body) {
                          run.fail({internal_error, "the broker's answer cannot be read", {}});
                        } else if (response.status < 400) {
                          use(response, *body);
                        } else if (!refused || !refused(*body)) {
                          run.done(tool_error(refusal(*body, to)));
                        }
                      });
  // One that was answered at once may have gone on to the next request, which is what waits now.
  if (api_.is_asked_inside(number)) {
    caller.run.on_cancel([this, number] { api_.stop_inside(number); });
  }
}

void Desk::answer(const Caller& caller, const Inner& inner, Write write) {
  call(caller, inner,
       [run = caller.run, write = std::move(write)](const net::Response&, Json body) {
         run.done(tool_json(write(body)));
       });
}

void Desk::keep_telling(const Run& run, uint64_t seconds, std::string what, uint64_t passed) {
  if (!run.tells_progress()) {
    return;
  }
  const base::Time next = server_.now() + base::seconds(tell_every);
  server_.waits().add(next, [this, run, seconds, what = std::move(what), passed]() mutable {
    const uint64_t now = passed + tell_every;
    run.progress(static_cast<double>(now), static_cast<double>(seconds), what);
    keep_telling(run, seconds, std::move(what), now);
  });
}

void Desk::check_inbox(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const uint64_t limit = arguments.number("limit", inbox_limit, 1, 100);
  if (accepted(arguments, ask.run)) {
    answer(caller_of(ask),
           {.path = "/v1/inbox", .query = "limit=" + std::to_string(limit), .dialect = "inbox"},
           [](Json inbox) { return inbox_reply(inbox, false); });
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
         [](Json inbox) { return inbox_reply(inbox, true); });
}

void Desk::read_message(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string id = arguments.text("messageId");
  if (!accepted(arguments, ask.run)) {
    return;
  }
  call(caller_of(ask), {.path = path_to("messages", id), .dialect = "inbox"},
       [run = ask.run](const net::Response& response, Json message) {
         std::string_view provenance;
         std::string_view delivery;
         for (const auto& [name, value] : response.headers) {
           provenance = name == "Parley-Provenance" ? std::string_view(value) : provenance;
           delivery = name == "Parley-Delivery" ? std::string_view(value) : delivery;
         }
         run.done(tool_json(message_reply(message, provenance, delivery)));
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
    call(caller_of(ask),
         {.method = "POST",
          .path = "/v1/messages",
          .body = std::string(ask.arguments.raw()),
          .dialect = "inbox"},
         [run = ask.run](const net::Response&, Json receipt) {
           const std::string nobody = undelivered(receipt);
           run.done(nobody.empty() ? tool_json(receipt_reply(receipt)) : tool_error(nobody));
         });
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
         [id, outcome](Json) {
           std::string text;
           JsonWriter(text).object().key("id").text(id).key("outcome").text(outcome).end_object();
           return text;
         });
}

// Sends a request and waits for its answer. One that does not come in time is no failure: it will
// be in the inbox.
void Desk::question(const Caller& caller, std::string body, uint64_t seconds,
                    std::string_view asked, Write write) {
  keep_telling(caller.run, seconds, "waiting for " + std::string(asked));
  call(
      caller,
      {.method = "POST",
       .path = "/v1/messages",
       .query = "lenient=true&" + wait_query(seconds),
       .body = std::move(body),
       .dialect = "flow"},
      [run = caller.run, write = std::move(write)](const net::Response& response, Json answered) {
        Result result = tool_json(write(answered));
        result.reports = response.reports;
        run.done(result);
      },
      [run = caller.run](Json problem) {
        if (text_of(problem, "code") != "TIMEOUT") {
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
    // A query: it gives no task, so anyone may ask anyone.
    question(caller_of(ask),
             composed({.type = "query",
                       .to = to,
                       .content = content,
                       .priority = priority,
                       .thread = thread,
                       .response_timeout = answer_timeout}),
             seconds, to, answer_reply);
  }
}

void Desk::publish(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string prefix = "topic:";
  const std::string topic = arguments.text("topic");
  const std::string content = arguments.content("content");
  const std::string priority = arguments.word("priority", {"normal", "high", "low", "critical"});
  if (!accepted(arguments, ask.run)) {
    return;
  }
  // A name without a dot would be taken for an agent's; with one, a broadcast goes to the topic.
  const bool is_plain = topic != "*" && topic.find('.') == topic.npos && !topic.starts_with(prefix);
  Caller caller = caller_of(ask);
  caller.to = "topic";
  answer(caller,
         {.method = "POST",
          .path = "/v1/messages",
          .query = "lenient=true",
          .body = composed({.type = is_plain ? "notification" : "broadcast",
                            .to = is_plain ? prefix + topic : topic,
                            .content = content,
                            .priority = priority}),
          .dialect = "flow"},
         published_reply);
}

}  // namespace parley::edge::mcp
