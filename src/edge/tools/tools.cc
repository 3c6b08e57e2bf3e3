// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/tools.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "lib/json_writer.h"
#include "net/uri.h"

namespace parley::edge::tools {

namespace {

using lib::Json;
using lib::JsonWriter;
using mcp::CallContext;
using mcp::CallHandle;
using mcp::internal_error;
using mcp::Result;
using mcp::tool_error;
using mcp::tool_json;

constexpr uint64_t wait_seconds_max = 300;
constexpr uint64_t wait_seconds = 30;
constexpr uint64_t inbox_limit = 20;
constexpr size_t asked_bytes_max = 128;    // of the name of who is asked, in texts of progress
constexpr uint64_t progress_seconds = 5;  // between two notifications of progress

std::string path_to(std::string_view collection, std::string_view id, std::string_view below = {}) {
  return "/v1/" + std::string(collection) + "/" + net::percent_encoded(id) + std::string(below);
}

// How a message can be settled, and the path that does it.
struct Settlement {
  std::string_view outcome;
  std::string_view path;
  bool has_reason;
};
constexpr std::array<Settlement, 3> settlements = {
    {{"done", "/ack", false}, {"retry", "/nack", true}, {"reject", "/reject", true}}};

std::string wait_query(uint64_t seconds) { return "wait=" + std::to_string(seconds) + "s"; }

}  // namespace

bool accepted(const Arguments& arguments, const CallHandle& call) {
  const std::string problem = arguments.problem();
  if (!problem.empty()) {
    call.done(tool_error(base::Code::bad_arguments, problem));
  }
  return problem.empty();
}

std::string composed(const FlowDraft& draft) {
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

Tools::Caller Tools::caller_of(const CallContext& context) {
  return {.call = context.call,
          .principal = context.client.principal,
          .traceparent = context.client.traceparent,
          .tracestate = context.client.tracestate};
}

void Tools::call_api(const Caller& caller, InsideRequest request, Use use, Refused refused) {
  request.traceparent = caller.traceparent;
  request.tracestate = caller.tracestate;
  const uint64_t number =
      api_.ask_inside(caller.principal, request,
                      [call = caller.call, to = caller.to, use = std::move(use),
                       refused = std::move(refused)](const InsideAnswer& answer) {
                        if (answer.error) {
                          if (!refused || !refused(*answer.error)) {
                            call.done(tool_error(refusal(*answer.error, to)));
                          }
                          return;
                        }
                        lib::JsonDocument document;
                        if (const auto body = document.parse(answer.response.body)) {
                          use(answer.response, *body);
                        } else {
                          call.fail({internal_error, "the broker's answer cannot be read", {}});
                        }
                      });
  // A request that was answered at once may have led to the next one, whose undoing is set already.
  if (api_.is_asked_inside(number)) {
    caller.call.on_cancel([this, number] { api_.stop_inside(number); });
  }
}

void Tools::answer(const Caller& caller, InsideRequest request, Write write) {
  call_api(caller, std::move(request),
           [call = caller.call, write = std::move(write)](const net::Response&, Json body) {
             call.done(tool_json(write(body)));
           });
}

void Tools::one_request(const CallContext& context, const OneRequest& tool) {
  Arguments arguments(context.arguments);
  InsideRequest request = tool.request(arguments);
  if (accepted(arguments, context.call)) {
    answer(caller_of(context), std::move(request), tool.reply);
  }
}

void Tools::notify_progress(const CallHandle& call, uint64_t seconds, std::string what,
                            uint64_t passed) {
  if (!call.wants_progress()) {
    return;
  }
  const base::Time next = server_.now() + base::seconds(progress_seconds);
  call.at(next, [this, call, seconds, what = std::move(what), passed]() mutable {
    const uint64_t now = passed + progress_seconds;
    call.progress(static_cast<double>(now), static_cast<double>(seconds), what);
    notify_progress(call, seconds, std::move(what), now);
  });
}

void Tools::wait_for_message(const CallContext& context) {
  Arguments arguments(context.arguments);
  const uint64_t seconds = arguments.number("seconds", wait_seconds, 1, wait_seconds_max);
  if (!accepted(arguments, context.call)) {
    return;
  }
  notify_progress(context.call, seconds, "no mail yet");
  answer(caller_of(context),
         {.path = "/v1/inbox",
          .query = "limit=" + std::to_string(inbox_limit) + "&" + wait_query(seconds),
          .dialect = tool_dialect},
         [](Json inbox) { return inbox_reply(inbox, true); });
}

void Tools::read_message(const CallContext& context) {
  Arguments arguments(context.arguments);
  const std::string id = arguments.text("messageId");
  if (!accepted(arguments, context.call)) {
    return;
  }
  call_api(caller_of(context), {.path = path_to("messages", id), .dialect = tool_dialect},
           [call = context.call](const net::Response& response, Json message) {
             std::string_view provenance;
             std::string_view delivery;
             for (const auto& [name, value] : response.headers) {
               provenance = name == "Parley-Provenance" ? std::string_view(value) : provenance;
               delivery = name == "Parley-Delivery" ? std::string_view(value) : delivery;
             }
             call.done(tool_json(message_reply(message, provenance, delivery)));
           });
}

void Tools::send_message(const CallContext& context) {
  // Only the presence of the arguments is checked here: the dialect says what is wrong with them.
  Arguments arguments(context.arguments);
  for (const std::string_view name : {"to", "type", "content"}) {
    (void)arguments.content(name);
  }
  for (const std::string_view name : {"priority", "threadId"}) {
    (void)arguments.optional_text(name);
  }
  if (accepted(arguments, context.call)) {
    call_api(caller_of(context),
             {.method = "POST",
              .path = "/v1/messages",
              .body = std::string(context.arguments.raw()),
              .dialect = tool_dialect},
             [this, call = context.call, workspace = context.client.principal.workspace](
                 const net::Response&, Json receipt) {
               const std::string nobody =
                   undelivered(receipt, broker_.machine().find(workspace)->tables());
               call.done(nobody.empty() ? tool_json(receipt_reply(receipt)) : tool_error(nobody));
             });
  }
}

void Tools::ack_message(const CallContext& context) {
  Arguments arguments(context.arguments);
  const std::string id = arguments.text("messageId");
  const Settlement& wanted = arguments.row("outcome", settlements, &Settlement::outcome);
  const std::string reason = arguments.optional_text("reason");
  if (!accepted(arguments, context.call)) {
    return;
  }
  std::string body;
  if (wanted.has_reason) {
    JsonWriter(body).object().key("reason").text(reason).end_object();
  }
  answer(caller_of(context),
         {.method = "POST", .path = path_to("messages", id, wanted.path), .body = body},
         [id, outcome = wanted.outcome](Json) {
           std::string text;
           JsonWriter(text).object().key("id").text(id).key("outcome").text(outcome).end_object();
           return text;
         });
}

// An answer that does not come in time is no failure: it will be in the inbox.
void Tools::question(const Caller& caller, std::string body, uint64_t seconds,
                     std::string_view asked, Write write) {
  notify_progress(caller.call, seconds,
                  "waiting for " + std::string(base::cut(asked, asked_bytes_max)));
  call_api(
      caller,
      {.method = "POST",
       .path = "/v1/messages",
       .query = "lenient=true&" + wait_query(seconds),
       .body = std::move(body),
       .dialect = draft_dialect},
      [call = caller.call, write = std::move(write)](const net::Response& response, Json answered) {
        Result result = tool_json(write(answered));
        result.reports = response.reports;
        call.done(result);
      },
      [call = caller.call](const base::Error& error) {
        if (error.code != base::Code::timeout) {
          return false;
        }
        std::string text;
        JsonWriter out(text);
        out.object().key("answered").boolean(false).key("note");
        out.text(base::whole_detail(error) +
                 "; a late answer comes to your inbox: use waitForMessage or checkInbox");
        out.end_object();
        call.done(tool_json(text));
        return true;
      });
}

void Tools::request(const CallContext& context) {
  Arguments arguments(context.arguments);
  const std::string to = arguments.text("to");
  const std::string content = arguments.content("content");
  const std::string priority = arguments.word("priority", {"normal", "high", "low", "critical"});
  const std::string thread = arguments.optional_text("threadId");
  const uint64_t seconds = arguments.number("seconds", wait_seconds, 1, wait_seconds_max);
  if (accepted(arguments, context.call)) {
    // A query gives no task, so anyone may ask anyone.
    question(caller_of(context),
             composed({.type = "query",
                       .to = to,
                       .content = content,
                       .priority = priority,
                       .thread = thread,
                       .response_timeout = answer_timeout}),
             seconds, to, answer_reply);
  }
}

void Tools::publish(const CallContext& context) {
  Arguments arguments(context.arguments);
  const std::string prefix = "topic:";
  const std::string topic = arguments.text("topic");
  const std::string content = arguments.content("content");
  const std::string priority = arguments.word("priority", {"normal", "high", "low", "critical"});
  if (!accepted(arguments, context.call)) {
    return;
  }
  // A receiver without a dot would count as an agent's name, so it gets the prefix of a topic. A
  // broadcast to a name with a dot goes to the topic.
  const bool is_plain = topic != "*" && topic.find('.') == topic.npos && !topic.starts_with(prefix);
  Caller caller = caller_of(context);
  caller.to = "topic";
  answer(caller,
         {.method = "POST",
          .path = "/v1/messages",
          .query = "lenient=true",
          .body = composed({.type = is_plain ? "notification" : "broadcast",
                            .to = is_plain ? prefix + topic : topic,
                            .content = content,
                            .priority = priority}),
          .dialect = draft_dialect},
         published_reply);
}

}  // namespace parley::edge::tools
