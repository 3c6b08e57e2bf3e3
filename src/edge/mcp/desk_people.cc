// SPDX-License-Identifier: Apache-2.0
// The tools about others: who is there, what was said, what is shared, and asking a human.
#include <algorithm>
#include <utility>

#include "edge/call.h"
#include "edge/mcp/desk.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr uint64_t human_seconds = 120;
constexpr uint64_t human_seconds_max = 600;
constexpr size_t agents_shown_max = 50;

bool holds(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  };
  return !std::ranges::search(text, part, same).empty() || part.empty();
}

uint64_t number_of(Json object, std::string_view key) {
  const Json value = object ? object.find(key) : Json();
  return value ? value.as_uint64().value_or(0) : 0;
}

void agent_line(Json agent, JsonWriter& out) {
  out.object();
  for (const std::string_view key :
       {"id", "kind", "role", "dialect", "capabilities", "availability", "currentTask"}) {
    const Json value = agent.find(key);
    if (value && !value.is_null() && value.raw() != "\"\"" && value.raw() != "[]") {
      out.key(key).raw(value.raw());
    }
  }
  out.key("waiting").number(number_of(agent, "queue_depth")).end_object();
}

// Those that fit, without the broker's admin, as a list; how many fit in all.
std::string agents_text(Json answer, std::string_view name) {
  std::string list;
  JsonWriter out(list);
  out.array();
  size_t count = 0;
  const Json agents = answer.find("agents");
  for (const Json agent : agents ? agents.elements() : Json::Elements{}) {
    if (text_of(agent, "kind") == "admin" || !holds(text_of(agent, "id"), name)) {
      continue;
    }
    if (++count <= agents_shown_max) {
      agent_line(agent, out);
    }
  }
  out.end_array();
  std::string text;
  JsonWriter whole(text);
  whole.object().key("count").number(uint64_t{count}).key("agents").raw(list).end_object();
  return text;
}

}  // namespace

void Desk::find_agents(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string capability = arguments.optional_text("capability");
  const std::string role = arguments.optional_text("role");
  const std::string name = arguments.optional_text("name");
  if (!accepted(arguments, ask.run)) {
    return;
  }
  std::string query;
  const auto add = [&query](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      query.append(query.empty() ? "" : "&").append(key).append("=").append(percent_encoded(value));
    }
  };
  add("capability", capability);
  add("role", role);
  answer(caller_of(ask), {.path = "/v1/agents", .query = query},
         [name](const net::Response&, Json agents) { return agents_text(agents, name); });
}

void Desk::get_thread(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string id = arguments.text("threadId");
  if (accepted(arguments, ask.run)) {
    answer(caller_of(ask), {.path = "/v1/threads/" + percent_encoded(id)},
           [](const net::Response&, Json thread) { return std::string(thread.raw()); });
  }
}

// What is wanted of a session; empty, or 0, for what was not given.
struct Desk::SessionCall {
  std::string action;
  std::string id;
  std::string text;
  std::vector<std::string> participants;
  uint64_t version = 0;

  bool writes() const { return action == "decide" || action == "find" || action == "artifact"; }
  std::string problem() const {
    if (action != "list" && action != "start" && id.empty()) {
      return "`sessionId` is missing: `list` shows yours";
    }
    if (writes() && text.empty()) {
      return "`text` is missing: what is to be written down";
    }
    return action == "invite" && participants.size() != 1
               ? "`participants` must hold the one to invite"
               : "";
  }
};

// Few names are easier to choose from: one tool for all that a session can do.
void Desk::session(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const SessionCall wanted{
      .action = arguments.word("action", {"list", "get", "start", "invite", "decide", "find",
                                          "artifact", "pause", "resume", "complete", "fail"}),
      .id = arguments.optional_text("sessionId"),
      .text = arguments.optional_text("text"),
      .participants = arguments.texts("participants"),
      .version = arguments.number("version", 0, 1, UINT64_MAX)};
  if (!accepted(arguments, ask.run)) {
    return;
  }
  if (const std::string problem = wanted.problem(); !problem.empty()) {
    ask.run.done(tool_error("BAD_ARGUMENTS: " + problem));
    return;
  }
  answer(caller_of(ask), session_inner(wanted),
         [](const net::Response&, Json answered) { return std::string(answered.raw()); });
}

Desk::Inner Desk::session_inner(const SessionCall& wanted) {
  Inner inner{.path = "/v1/sessions"};
  JsonWriter body(inner.body);
  if (wanted.action == "list") {
    return inner;
  }
  if (wanted.action == "start") {
    inner.method = "POST";
    body.object();
    if (!wanted.id.empty()) {
      body.key("id").text(wanted.id);
    }
    body.key("participants").array();
    for (const std::string& each : wanted.participants) {
      body.text(each);
    }
    body.end_array().key("task").text(wanted.text).end_object();
    return inner;
  }
  inner.path += "/" + percent_encoded(wanted.id);
  if (wanted.action == "get") {
    return inner;
  }
  inner.method = "POST";
  inner.if_match = wanted.version == 0 ? "*" : "\"" + std::to_string(wanted.version) + "\"";
  body.object();
  if (wanted.action == "invite") {
    inner.path += "/participants";
    body.key("agent").text(wanted.participants[0]);
  } else if (wanted.writes()) {
    const bool decides = wanted.action == "decide";
    inner.path += decides ? "/decisions" : wanted.action == "find" ? "/findings" : "/artifacts";
    body.key(decides ? "decision" : "text").text(wanted.text);
  } else {
    inner.path += "/status";
    body.key("status").plain(wanted.action == "pause"      ? "paused"
                             : wanted.action == "resume"   ? "active"
                             : wanted.action == "complete" ? "completed"
                                                           : "failed");
    if (!wanted.text.empty()) {
      body.key("summary").text(wanted.text);
    }
  }
  body.end_object();
  return inner;
}

// The client's own user where it can ask them; else, or when one is named, a human of the
// workspace, by a message that they answer in their own time.
void Desk::ask_human(const Ask& ask) {
  Arguments arguments(ask.arguments);
  std::string question = arguments.text("question");
  const std::string to = arguments.optional_text("to");
  const std::vector<std::string> options = arguments.texts("options");
  const uint64_t seconds = arguments.number("seconds", human_seconds, 1, human_seconds_max);
  if (!accepted(arguments, ask.run)) {
    return;
  }
  if (to.empty() && ask.client.can.elicitation) {
    ask_user(ask, question, options);
    return;
  }
  if (!options.empty()) {
    question.append("\n\nAnswer with one of:");
    for (const std::string& option : options) {
      question.append("\n- ").append(option);
    }
  }
  const Caller caller = caller_of(ask);
  if (!to.empty()) {
    mail_human(caller, to, question, seconds);
    return;
  }
  call(caller, {.path = "/v1/agents"},
       [this, caller, question, seconds](const net::Response&, Json answer) {
         std::vector<std::string> humans;
         const Json agents = answer.find("agents");
         for (const Json each : agents ? agents.elements() : Json::Elements{}) {
           if (text_of(each, "kind") == "human") {
             humans.push_back(text_of(each, "id"));
           }
         }
         if (humans.size() == 1) {
           mail_human(caller, humans[0], question, seconds);
           return;
         }
         std::string names;
         for (const std::string& each : humans) {
           names.append(names.empty() ? "" : ", ").append(each);
         }
         caller.run.done(tool_error(
             humans.empty() ? "NO_HUMAN: no human is registered here. Someone with the admin token "
                              "adds one by `parley human add NAME`."
                            : "BAD_ARGUMENTS: say in `to` which human: " + names));
       });
}

void Desk::ask_user(const Ask& ask, const std::string& question,
                    const std::vector<std::string>& options) {
  const std::string_view given = ask.answer("answer");
  if (given.empty()) {
    std::string schema;
    JsonWriter out(schema);
    out.object().key("type").plain("object").key("properties").object().key("answer").object();
    out.key("type").plain("string").key("title").plain("Answer");
    if (!options.empty()) {
      out.key("enum").array();
      for (const std::string& option : options) {
        out.text(option);
      }
      out.end_array();
    }
    out.end_object().end_object().key("required").array().plain("answer").end_array().end_object();
    ask.run.ask({form("answer", question, schema)});
    return;
  }
  lib::JsonDocument document;
  const auto reply = document.parse(given);
  const std::string action = reply ? text_of(*reply, "action") : std::string();
  const Json content = reply ? reply->find("content") : Json();
  std::string text;
  JsonWriter out(text);
  out.object().key("answered").boolean(action == "accept").key("from").plain("user");
  if (action == "accept") {
    out.key("answer").text(text_of(content, "answer"));
  } else {
    out.key("note").text("the user gave no answer: " + (action.empty() ? "cancel" : action));
  }
  out.end_object();
  ask.run.done(tool_json(text));
}

void Desk::mail_human(const Caller& caller, const std::string& to, std::string_view text,
                      uint64_t seconds) {
  if (!to.starts_with("human:")) {
    caller.run.done(
        tool_error("BAD_ARGUMENTS: `to` must be a human, such as human:kim; for an "
                   "agent use request"));
    return;
  }
  question(caller,
           composed({.type = "request",
                     .to = to,
                     .content = text,
                     .priority = "high",
                     .response_timeout = "1h"}),
           seconds, to);
}

void Desk::status(const Ask& ask) {
  Arguments arguments(ask.arguments);
  if (!accepted(arguments, ask.run)) {
    return;
  }
  const Caller caller = caller_of(ask);
  call(caller, {.path = "/v1/agents/" + percent_encoded(caller.principal.name)},
       [this, caller](const net::Response&, Json me) {
         std::string text;
         JsonWriter out(text);
         out.object().key("you");
         agent_line(me, out);
         for (const std::string_view box : {"inbox", "outbox"}) {
           out.key(box == "inbox" ? "waitingForYou" : "sentAndUnsettled");
           out.number(number_of(me.find(box), "unsettled"));
         }
         answer(caller, {.path = "/v1/health"}, [text](const net::Response&, Json health) {
           std::string whole = text;
           whole.append(R"(,"broker":{"status":)");
           lib::append_json_string(whole, text_of(health, "status"));
           whole.append(R"(,"version":)");
           lib::append_json_string(whole, text_of(health, "version"));
           return whole + "}}";
         });
       });
}

void Desk::read(const Ask& ask, std::string path, Shorten shorten) {
  const Caller caller = caller_of(ask);
  const Fault missing = resource_not_found(ask);
  call(
      caller, {.path = std::move(path), .dialect = "inbox"},
      [run = ask.run, uri = std::string(ask.uri), shorten = std::move(shorten)](
          const net::Response&, Json body) {
        run.done(resource_text(uri, "application/json", shorten(body)));
      },
      [run = ask.run, missing](Json) {
        run.fail(missing);
        return true;
      });
}

void Desk::read_inbox(const Ask& ask) {
  read(ask, "/v1/inbox", [](Json inbox) { return inbox_text(inbox, false); });
}

void Desk::read_thread(const Ask& ask) {
  read(ask, "/v1/threads/" + percent_encoded(text_of(ask.arguments, "id")),
       [](Json thread) { return std::string(thread.raw()); });
}

void Desk::read_agents(const Ask& ask) {
  read(ask, "/v1/agents", [](Json agents) { return agents_text(agents, {}); });
}

}  // namespace parley::edge::mcp
