// SPDX-License-Identifier: Apache-2.0
// The tools about others: who is there, what was said, what is shared, and asking a human.
#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "edge/api/call.h"
#include "edge/tools/tools.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

class Query {
 public:
  // Nothing where the value is empty.
  Query& add(std::string_view key, std::string_view value) {
    if (!value.empty()) {
      text_.append(text_.empty() ? "" : "&").append(key).append("=").append(percent_encoded(value));
    }
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr uint64_t human_seconds = 120;
constexpr uint64_t human_seconds_max = 600;
constexpr std::string_view agents_shown = "50";
constexpr uint64_t thread_limit = 20;
constexpr std::string_view tasks_shown = "20";

// Who can be written to.
Query people_query() {
  Query query;
  query.add("kind", "agent,human").add("limit", agents_shown);
  return query;
}

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t listed_max = 20;
  std::string text;
  for (size_t n = 0; n < std::min(names.size(), listed_max); ++n) {
    text.append(n == 0 ? "" : ", ").append(names[n]);
  }
  return names.size() > listed_max ? text + ", …" : text;
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
  Query query = people_query();
  query.add("capability", capability).add("role", role).add("name", name);
  answer(caller_of(ask), {.path = "/v1/agents", .query = query.text()}, agents_reply);
}

void Desk::get_thread(const Ask& ask) {
  Arguments arguments(ask.arguments);
  const std::string id = arguments.text("threadId");
  const uint64_t limit = arguments.number("limit", thread_limit, 1, 100);
  if (accepted(arguments, ask.run)) {
    answer(caller_of(ask),
           {.path = "/v1/threads/" + percent_encoded(id),
            .query = "limit=" + std::to_string(limit),
            .dialect = "inbox"},
           thread_reply);
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
  answer(caller_of(ask), session_inner(wanted), session_reply);
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
  if (!ask.answer("answer").empty() ||
      (to.empty() && ask.client.can.elicitation && ask.run.can_ask())) {
    ask_user(ask, question, options, seconds);
    return;
  }
  if (!options.empty()) {
    question.append("\n\nAnswer with one of:");
    for (const std::string& option : options) {
      question.append("\n- ").append(option);
    }
  }
  ask_by_mail(caller_of(ask), to, question, seconds);
}

// What the user said, if it is an answer: where there are options, one of them. It guards what
// cannot be undone, so nothing else counts as one.
void Desk::ask_user(const Ask& ask, const std::string& question,
                    const std::vector<std::string>& options, uint64_t seconds) {
  const auto unanswered = [](std::string_view why) {
    std::string text;
    JsonWriter out(text);
    out.object().key("answered").boolean(false).key("from").plain("user");
    out.key("note").text("the user gave no answer: " + std::string(why)).end_object();
    return tool_json(text);
  };
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
    // A client of the modern era calls again when it likes; one of the older waits here.
    server_.waits().add(server_.now() + base::seconds(static_cast<int64_t>(seconds)),
                        [run = ask.run, seconds, unanswered] {
                          run.done(unanswered("none within " + std::to_string(seconds) + " s"));
                        });
    keep_telling(ask.run, seconds, "waiting for the user");
    ask.run.ask({form("answer", question, schema)});
    return;
  }
  lib::JsonDocument document;
  const auto reply = document.parse(given);
  const std::string action = reply ? text_of(*reply, "action") : std::string();
  const std::string answer = reply ? text_of(reply->find("content"), "answer") : std::string();
  if (action != "accept") {
    ask.run.done(unanswered(action.empty() ? "cancel" : action));
  } else if (answer.empty()) {
    ask.run.done(unanswered("what came back has no text in `answer`"));
  } else if (!options.empty() && std::ranges::find(options, answer) == options.end()) {
    ask.run.done(unanswered("what came back is none of the options"));
  } else {
    std::string text;
    JsonWriter out(text);
    out.object().key("answered").boolean(true).key("from").plain("user");
    out.key("answer").text(answer).end_object();
    ask.run.done(tool_json(text));
  }
}

void Desk::ask_by_mail(const Caller& caller, const std::string& to, const std::string& text,
                       uint64_t seconds) {
  Query humans;
  humans.add("kind", "human");
  call(caller, {.path = "/v1/agents", .query = humans.text()},
       [this, caller, to, text, seconds](const net::Response&, Json answer) {
         std::vector<std::string> names;
         const Json found = answer.find("agents");
         for (const Json each : found ? found.elements() : Json::Elements{}) {
           names.push_back(text_of(each, "id"));
         }
         const std::string name = to.empty() && names.size() == 1 ? names.front()
                                  : to.starts_with("human:")      ? to
                                                                  : "human:" + to;
         if (std::ranges::find(names, name) != names.end()) {
           question(caller,
                    composed({.type = "request",
                              .to = name,
                              .content = text,
                              .priority = "high",
                              .response_timeout = "1h"}),
                    seconds, name, human_reply);
           return;
         }
         caller.run.done(tool_error(
             names.empty() ? "NO_HUMAN: no human is registered here. Someone with the admin token "
                             "adds one by `parley human add NAME`."
             : to.empty()  ? "BAD_ARGUMENTS: say in `to` which human: " + joined(names)
                           : "RECEIVER_NOT_FOUND: there is no " + name + "; there are " +
                                joined(names) + ". For an agent use request."));
       });
}

void Desk::status(const Ask& ask) {
  Arguments arguments(ask.arguments);
  if (!accepted(arguments, ask.run)) {
    return;
  }
  const Caller caller = caller_of(ask);
  const std::string& me = caller.principal.name;
  Query unfinished;
  unfinished.add("agent", me).add("unfinished", "true").add("limit", tasks_shown);
  const Inner tasks{.path = "/v1/tasks", .query = unfinished.text(), .dialect = "inbox"};
  call(caller, {.path = "/v1/agents/" + percent_encoded(me)},
       [this, caller, tasks](const net::Response&, Json self) {
         std::string text = R"({"you":)" + self_reply(self);
         for (const std::string_view box : {"inbox", "outbox"}) {
           text.append(box == "inbox" ? R"(,"waitingForYou":)" : R"(,"sentAndUnsettled":)");
           text.append(std::to_string(number_of(self.find(box), "unsettled")));
         }
         call(caller, tasks, [this, caller, text](const net::Response&, Json found) {
           const std::string so_far = text + R"(,"tasks":)" + tasks_reply(found);
           answer(caller, {.path = "/v1/health"}, [so_far](Json health) {
             std::string whole = so_far + R"(,"broker":)";
             JsonWriter out(whole);
             out.object().key("status").text(text_of(health, "status"));
             out.key("version").text(text_of(health, "version")).end_object();
             return whole + "}";
           });
         });
       });
}

void Desk::read(const Ask& ask, const Inner& inner, Write write) {
  const Fault missing = resource_not_found(ask);
  call(
      caller_of(ask), inner,
      [run = ask.run, uri = std::string(ask.uri), write = std::move(write)](const net::Response&,
                                                                            Json body) {
        run.done(resource_text(uri, "application/json", write(body)));
      },
      [run = ask.run, missing](Json problem) {
        const std::string code = text_of(problem, "code");
        const bool is_missing = code == "NOT_FOUND" || code == "FORBIDDEN";
        run.fail(is_missing ? missing : Fault{internal_error, refusal(problem), {}});
        return true;
      });
}

void Desk::read_inbox(const Ask& ask) {
  read(ask, {.path = "/v1/inbox", .dialect = "inbox"},
       [](Json inbox) { return inbox_reply(inbox, false); });
}

void Desk::read_thread(const Ask& ask) {
  read(ask,
       {.path = "/v1/threads/" + percent_encoded(text_of(ask.arguments, "id")),
        .query = "limit=100",
        .dialect = "inbox"},
       thread_reply);
}

void Desk::read_agents(const Ask& ask) {
  read(ask, {.path = "/v1/agents", .query = people_query().text()}, agents_reply);
}

}  // namespace parley::edge::mcp
