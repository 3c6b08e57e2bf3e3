// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/replies.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "lib/json_writer.h"

namespace parley::edge::tools {

namespace {

using lib::Json;
using lib::JsonWriter;
using Keys = std::initializer_list<std::string_view>;

struct Renamed {
  std::string_view from;
  std::string_view to;
};

// Empty values are left out of replies.
bool says_something(Json value) {
  return value && !value.is_null() && value.raw() != "\"\"" && value.raw() != "[]";
}

void copy(Json from, Keys keys, JsonWriter& out) {
  for (const std::string_view key : keys) {
    if (const Json value = from.find(key); says_something(value)) {
      out.key(key).raw(value.raw());
    }
  }
}

void copy(Json from, Renamed name, JsonWriter& out) {
  if (const Json value = from.find(name.from); says_something(value)) {
    out.key(name.to).raw(value.raw());
  }
}

Json::Elements elements_of(Json object, std::string_view key) {
  return object.find(key).elements();
}

bool flag_of(Json object, std::string_view key) {
  return object.find(key).as_bool() == true;
}

template <class Write>
std::string object_of(const Write& write) {
  std::string text;
  JsonWriter out(text);
  out.object();
  write(out);
  out.end_object();
  return text;
}

// Advice for a model that has only the tools; empty where the detail says enough. The API's own
// advice is for programs and people: it is given where there is none here.
std::string_view advice_of(base::Code code) {
  using enum base::Code;
  struct Row {
    base::Code code;
    std::string_view advice;
  };
  constexpr auto table = std::to_array<Row>({
      {bad_request, "Correct what is named and call again."},
      {validation_failed, "Correct what is named and call again."},
      {not_found, "Check the id: what is not yours is not found either."},
      {forbidden, "Ask one who may, or a human by askHuman."},
      {conflict, ""},
      {duplicate_id, ""},
      {receiver_not_found, "findAgents shows who is there."},
      {not_answered, "findAgents shows who is there."},
      {receiver_unavailable, "findAgents shows who is there; or try again later."},
      {not_delivered, "Call readMessage before you settle it."},
      {already_settled, "There is nothing left to do with it."},
      {payload_too_large, "Summarize it, or name a file that has the rest."},
      {limit_reached, "Finish what is open first, or ask a human to raise the limit."},
      {thread_full, "Leave `threadId` out: that begins a new conversation."},
      {thread_closed, "Leave `threadId` out: that begins a new conversation."},
      {circuit_open, "Try again later; findAgents shows others who can do it."},
      {ping_pong, "Stop, or bring in another agent or, by askHuman, a person."},
      {fan_out_limit, "Send to fewer, or later."},
      {budget_exceeded, "Wait for the next day (UTC), or ask a human to raise it."},
      {deadlock, "Answer what you were asked first: checkInbox; or use sendMessage."},
      {not_a_participant, "Its coordinator can add them: session with action invite."},
      {session_ended, "Start another one: action start."},
      {session_paused, "Wait until its coordinator resumes it."},
      {version_conflict, "Use action get, decide again, and repeat it with that version."},
      {secret_found, "Take it out and call again: say where it is kept instead."},
      {role_forbidden,
       "Anyone may ask by request, and tell by sendMessage with type status or error."},
      {not_via_orchestrator, "findAgents shows who is orchestrator."},
  });
  const auto* const at = std::ranges::find(table, code, &Row::code);
  return at == table.end() ? base::info(code).advice : at->advice;
}

// The argument of a tool that became this field of the API; empty where no argument did.
std::string argument_of(std::string_view field, std::string_view to) {
  constexpr auto table = std::to_array<Renamed>({{"/conversation_id", "threadId"},
                                                 {"/thread", "threadId"},
                                                 {"/payload/body", "content"},
                                                 {"/payload", "content"},
                                                 {"/body", "content"},
                                                 {"/sender", ""},
                                                 {"/from", ""},
                                                 {"/response_timeout", "seconds"},
                                                 {"/id", "sessionId"},
                                                 {"/agent", "participants"},
                                                 {"/decision", "text"},
                                                 {"/task", "text"},
                                                 {"/summary", "text"},
                                                 {"/status", "action"}});
  constexpr std::string_view content = "/content/";
  if (field == "/receiver" || field == "/to") {
    return std::string(to);
  }
  if (field.starts_with(content)) {
    return "content: " + std::string(field.substr(content.size()));
  }
  const auto* const at = std::ranges::find(table, field, &Renamed::from);
  return std::string(at != table.end() ? at->to : field.starts_with('/') ? field.substr(1) : field);
}

// Details of the API call a conversation as the dialect flow does; the tools have another name for
// it.
std::string in_words_of_tools(std::string detail) {
  constexpr std::string_view ours = "conversation_id";
  constexpr std::string_view theirs = "threadId";
  for (size_t at = detail.find(ours); at != detail.npos; at = detail.find(ours, at)) {
    detail.replace(at, ours.size(), theirs);
  }
  return detail;
}

// The text of a response. A result with no more than the usual members is reduced to its text: the
// model pays for every word.
std::string answer_in(Json response) {
  const Json body = response.find("payload").find("body");
  if (!body || body.as_string()) {
    return std::string(body.as_string().value_or(""));
  }
  constexpr std::array<std::string_view, 3> known = {"taskId", "status", "result"};
  bool plain = body.is_object();
  for (const auto member : body.members()) {
    plain = plain && std::ranges::find(known, member.key) != known.end();
  }
  const std::string result = plain ? text_of(body, "result") : std::string();
  return result.empty() ? std::string(body.raw()) : result;
}

}  // namespace

std::string text_of(Json object, std::string_view key) {
  return std::string(object.find(key).as_string().value_or(""));
}

uint64_t number_of(Json object, std::string_view key) {
  return object.find(key).as_uint64().value_or(0);
}

// The remedy of the API is left out: the advice says the same by tools.
std::string refusal(const base::Error& error, std::string_view to) {
  std::string text(base::info(error.code).name);
  text.append(": ").append(in_words_of_tools(error.detail));
  if (const std::string argument = argument_of(error.field, to); !argument.empty()) {
    text.append(" (argument ").append(argument).append(")");
  }
  if (const std::string_view advice = advice_of(error.code); !advice.empty()) {
    text.append(". ").append(advice);
  }
  return text;
}

std::string undelivered(Json receipt, const core::Tables& tables) {
  if (const Json skipped = receipt.find("skipped"); skipped && skipped.as_bool() == true) {
    for (const Json warning : elements_of(receipt, "warnings")) {
      return std::string(warning.as_string().value_or(""));
    }
  }
  bool unknown = false;
  bool reached = false;
  size_t count = 0;
  for (const Json each : elements_of(receipt, "recipients")) {
    const core::AgentRef receiver = tables.agents.find(text_of(each, "receiver"));
    unknown = unknown || receiver == core::none || !tables.agents[receiver].is_registered();
    reached = reached || text_of(each, "state") != core::state_name(core::State::dead);
    ++count;
  }
  if (reached || count == 0) {
    return {};
  }
  std::string why;
  for (const Json each : elements_of(receipt, "warnings")) {
    why.append(why.empty() ? "" : "; ").append(each.as_string().value_or(""));
  }
  return std::string(unknown ? "RECEIVER_NOT_FOUND: " : "RECEIVER_UNAVAILABLE: ") + why +
         ". findAgents shows who is there.";
}

std::string inbox_reply(Json inbox, bool waited) {
  return object_of([&](JsonWriter& out) {
    copy(inbox, {"count", "shown", "more"}, out);
    if (waited) {
      out.key("timedOut").boolean(number_of(inbox, "count") == 0);
    }
    out.key("notifications").array();
    for (const Json each : elements_of(inbox, "notifications")) {
      out.object();
      copy(each, {"id", "from"}, out);
      if (text_of(each, "sender_kind") == "human") {
        out.key("human").boolean(true);
      }
      copy(each, {"type", "question", "priority", "preview", "timestamp"}, out);
      copy(each, Renamed{"thread", "threadId"}, out);
      out.end_object();
    }
    out.end_array();
  });
}

std::string message_reply(Json message, std::string_view provenance, std::string_view delivery) {
  const Json foreign = message.find("foreign");
  const bool asks = text_of(message, "type") == "task" && text_of(foreign, "type") == "query";
  return object_of([&](JsonWriter& out) {
    constexpr std::array<std::string_view, 4> left_out = {"traceparent", "tracestate", "foreign",
                                                          "idempotencyKey"};
    out.key("message").object();
    for (const auto member : message.members()) {
      if (std::ranges::find(left_out, member.key) == left_out.end()) {
        out.key(member.key).raw(member.value.raw());
      }
    }
    out.end_object();
    if (asks) {
      out.key("question").boolean(true);
      out.key("note").text("answer it: sendMessage to " + text_of(message, "from") +
                           " with type result and this taskId");
    }
    copy(foreign, {"session"}, out);
    lib::JsonDocument document;
    const auto parsed = document.parse(provenance);
    if (parsed && parsed->is_object()) {
      out.key("provenance").object();
      copy(*parsed,
           {"sender_kind", "via", "dialect", "on_behalf_of", "mark", "redirected_from", "state"},
           out);
      out.end_object();
    }
    if (!delivery.empty()) {  // the message is not the reader's any more
      out.key("delivery").raw(delivery);
    }
  });
}

std::string receipt_reply(Json receipt) {
  return object_of([&](JsonWriter& out) {
    copy(receipt, {"id"}, out);
    copy(receipt, Renamed{"thread", "threadId"}, out);
    copy(receipt, {"state", "delay", "duplicate"}, out);
    out.key("recipients").array();
    for (const Json each : elements_of(receipt, "recipients")) {
      out.object().key("to").text(text_of(each, "receiver"));
      copy(each, {"state"}, out);
      out.end_object();
    }
    out.end_array();
    copy(receipt, {"warnings"}, out);
  });
}

std::string published_reply(Json receipt) {
  return object_of([&](JsonWriter& out) {
    copy(receipt, {"id"}, out);
    copy(receipt, Renamed{"recipient_count", "subscribers"}, out);
    copy(receipt, {"warnings"}, out);
  });
}

std::string human_reply(Json answered) {
  const Json response = answered.find("response");
  return object_of([&](JsonWriter& out) {
    out.key("answered").boolean(true).key("from").text(text_of(response, "sender"));
    out.key("answer").text(answer_in(response));
    copy(answered, {"decided_by", "comment", "modification"}, out);
  });
}

std::string approval_reply(Json approval) {
  const std::string state = text_of(approval, "state");
  const std::string number = std::to_string(number_of(approval, "id"));
  return object_of([&](JsonWriter& out) {
    if (state == "pending") {
      out.key("answered").boolean(false).key("note");
      out.text("nobody has decided approval " + number +
               " yet, so it is not approved; the decision comes to your inbox");
      return;
    }
    out.key("answered").boolean(true).key("from").text(text_of(approval, "decided_by"));
    const Json modification = approval.find("modification");
    out.key("answer").text(modification ? state + ": " + std::string(modification.raw()) : state);
    if (const std::string comment = text_of(approval, "comment"); !comment.empty()) {
      out.key("note").text(comment);
    }
  });
}

std::string answer_reply(Json answered) {
  const Json response = answered.find("response");
  return object_of([&](JsonWriter& out) {
    out.key("answered").boolean(true);
    copy(answered, {"id"}, out);
    out.key("from").text(text_of(response, "sender"));
    copy(response, {"status"}, out);
    out.key("answer").text(answer_in(response));
    if (const std::string thread = text_of(response, "conversation_id"); !thread.empty()) {
      out.key("threadId").text(thread);
    }
    copy(answered, {"decided_by", "comment", "modification"}, out);
  });
}

std::string thread_reply(Json thread) {
  return object_of([&](JsonWriter& out) {
    copy(thread, {"id", "message_count", "participants"}, out);
    out.key("more").boolean(flag_of(thread, "more")).key("messages").array();
    for (const Json each : elements_of(thread, "messages")) {
      out.object();
      copy(each, {"id"}, out);
      copy(each, Renamed{"sender", "from"}, out);
      copy(each, Renamed{"receivers", "to"}, out);
      copy(each, {"type", "preview", "timestamp", "state"}, out);
      copy(each, Renamed{"in_reply_to", "inReplyTo"}, out);
      out.end_object();
    }
    out.end_array();
  });
}

std::string session_reply(Json answered) {
  return object_of([&](JsonWriter& out) {
    if (!answered.find("sessions")) {
      copy(answered,
           {"id", "version", "status", "coordinator", "participants", "summary", "context", "next"},
           out);
      return;
    }
    copy(answered, {"count"}, out);
    out.key("sessions").array();
    for (const Json each : elements_of(answered, "sessions")) {
      out.object();
      copy(each, {"id", "version", "status"}, out);
      out.end_object();
    }
    out.end_array();
  });
}

std::string agents_reply(Json agents) {
  return object_of([&](JsonWriter& out) {
    copy(agents, {"count", "more"}, out);
    out.key("agents").array();
    for (const Json each : elements_of(agents, "agents")) {
      out.object();
      copy(each, {"id", "kind", "role", "dialect", "capabilities", "availability", "currentTask"},
           out);
      out.key("waiting").number(number_of(each, "queue_depth"));
      out.end_object();
    }
    out.end_array();
  });
}

std::string self_reply(Json agent) {
  return object_of([&](JsonWriter& out) { copy(agent, {"id", "kind", "role", "dialect"}, out); });
}

std::string tasks_reply(Json tasks) {
  std::string text;
  JsonWriter out(text);
  out.array();
  for (const Json each : elements_of(tasks, "tasks")) {
    out.object();
    copy(each, Renamed{"id", "taskId"}, out);
    copy(each, {"title"}, out);
    copy(each, Renamed{"director", "from"}, out);
    copy(each, Renamed{"specialist", "to"}, out);
    copy(each, {"state"}, out);
    copy(each, Renamed{"silent_for", "silentFor"}, out);
    copy(each, Renamed{"thread", "threadId"}, out);
    out.end_object();
  }
  out.end_array();
  return text;
}

}  // namespace parley::edge::tools
