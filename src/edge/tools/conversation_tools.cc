// SPDX-License-Identifier: Apache-2.0
// The tools about agents, conversations and humans: who is there, what was said in a thread, shared
// sessions, asking a human, how one stands; and the reading of resources.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.h"
#include "edge/tools/tools.h"
#include "lib/json_writer.h"
#include "net/uri.h"

namespace parley::edge::tools {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;
using mcp::CallContext;
using mcp::internal_error;
using mcp::RpcError;
using mcp::tool_error;
using mcp::tool_json;

class Query {
 public:
  // Nothing where the value is empty.
  Query& add(std::string_view key, std::string_view value) {
    if (!value.empty()) {
      text_.append(text_.empty() ? "" : "&")
          .append(key)
          .append("=")
          .append(net::percent_encoded(value));
    }
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr uint64_t human_seconds = 120;
constexpr uint64_t human_seconds_max = 600;
constexpr size_t form_bytes_max = 16 * 1024;
constexpr std::string_view agents_shown = "50";
constexpr std::string_view tasks_shown = "20";

// Agents and humans can be written to; admins cannot.
Query people_query() {
  Query query;
  query.add("kind", "agent,human").add("limit", agents_shown);
  return query;
}

// What the tool `session` can do, and how that is asked of the API.
struct SessionAction {
  enum class Kind : uint8_t { list, start, get, invite, write, set_status };
  std::string_view name;
  Kind kind;
  std::string_view path{};  // below that of the session
  std::string_view text{};  // of what is written: the member that has the text
  core::SessionStatus status = core::SessionStatus::active;  // that is set
};

constexpr SessionAction writing(std::string_view name, std::string_view path,
                                std::string_view text) {
  return {.name = name, .kind = SessionAction::Kind::write, .path = path, .text = text};
}

constexpr SessionAction setting(std::string_view name, core::SessionStatus status) {
  return {
      .name = name, .kind = SessionAction::Kind::set_status, .path = "/status", .status = status};
}

constexpr std::array<SessionAction, 11> session_actions = {{
    {.name = "list", .kind = SessionAction::Kind::list},
    {.name = "get", .kind = SessionAction::Kind::get},
    {.name = "start", .kind = SessionAction::Kind::start},
    {.name = "invite", .kind = SessionAction::Kind::invite, .path = "/participants"},
    writing("decide", "/decisions", "decision"),
    writing("find", "/findings", "text"),
    writing("artifact", "/artifacts", "text"),
    setting("pause", core::SessionStatus::paused),
    setting("resume", core::SessionStatus::active),
    setting("complete", core::SessionStatus::completed),
    setting("fail", core::SessionStatus::failed),
}};

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t listed_max = 20;
  std::string text;
  for (size_t n = 0; n < std::min(names.size(), listed_max); ++n) {
    text.append(n == 0 ? "" : ", ").append(names[n]);
  }
  return names.size() > listed_max ? text + ", …" : text;
}

}  // namespace

void Tools::find_agents(const CallContext& context) {
  Arguments arguments(context.arguments);
  const std::string capability = arguments.optional_text("capability");
  const std::string role = arguments.optional_text("role");
  const std::string name = arguments.optional_text("name");
  if (!accepted(arguments, context.call)) {
    return;
  }
  Query query = people_query();
  query.add("capability", capability).add("role", role).add("name", name);
  answer(caller_of(context), {.path = "/v1/agents", .query = query.text()}, agents_reply);
}

// The arguments of the tool `session`; empty or 0 where one was not given.
struct Tools::SessionCall {
  const SessionAction& action;
  std::string id;
  std::string text;
  std::vector<std::string> participants;
  uint64_t version = 0;

  std::string problem() const {
    using Kind = SessionAction::Kind;
    if (action.kind != Kind::list && action.kind != Kind::start && id.empty()) {
      return "`sessionId` is missing: `list` shows yours";
    }
    if (action.kind == Kind::write && text.empty()) {
      return "`text` is missing: what is to be written down";
    }
    return action.kind == Kind::invite && participants.size() != 1
               ? "`participants` must hold the one to invite"
               : "";
  }
};

// A model chooses more easily among few tools: one does all that can be done with a session.
void Tools::session(const CallContext& context) {
  Arguments arguments(context.arguments);
  const SessionCall wanted{.action = arguments.row("action", session_actions, &SessionAction::name),
                           .id = arguments.optional_text("sessionId"),
                           .text = arguments.optional_text("text"),
                           .participants = arguments.texts("participants"),
                           .version = arguments.number("version", 0, 1, UINT64_MAX)};
  if (!accepted(arguments, context.call)) {
    return;
  }
  if (const std::string problem = wanted.problem(); !problem.empty()) {
    context.call.done(tool_error(Code::bad_arguments, problem));
    return;
  }
  answer(caller_of(context), session_request(wanted), session_reply);
}

InsideRequest Tools::session_request(const SessionCall& wanted) {
  using Kind = SessionAction::Kind;
  const SessionAction& action = wanted.action;
  InsideRequest request{.path = "/v1/sessions"};
  if (action.kind != Kind::list && action.kind != Kind::start) {
    request.path += "/" + net::percent_encoded(wanted.id) + std::string(action.path);
  }
  if (action.kind == Kind::list || action.kind == Kind::get) {
    return request;
  }
  request.method = "POST";
  if (action.kind != Kind::start) {
    request.if_match = wanted.version == 0 ? "*" : "\"" + std::to_string(wanted.version) + "\"";
  }
  JsonWriter body(request.body);
  body.object();
  switch (action.kind) {
    case Kind::list:
    case Kind::get:
      break;
    case Kind::start:
      if (!wanted.id.empty()) {
        body.key("id").text(wanted.id);
      }
      body.key("participants").array();
      for (const std::string& each : wanted.participants) {
        body.text(each);
      }
      body.end_array().key("task").text(wanted.text);
      break;
    case Kind::invite:
      body.key("agent").text(wanted.participants[0]);
      break;
    case Kind::write:
      body.key(action.text).text(wanted.text);
      break;
    case Kind::set_status:
      body.key("status").plain(core::session_status_words[action.status]);
      if (!wanted.text.empty()) {
        body.key("summary").text(wanted.text);
      }
      break;
  }
  body.end_object();
  return request;
}

// Asks the client's own user where the client can; else, or when a human is named, sends a message
// to a human of the workspace, who answers in their own time.
void Tools::ask_human(const CallContext& context) {
  Arguments arguments(context.arguments);
  std::string question = arguments.text("question");
  const std::string to = arguments.optional_text("to");
  const std::vector<std::string> options = arguments.texts("options");
  const bool is_approval = arguments.word("kind", {"answer", "approval"}) == "approval";
  const uint64_t seconds = arguments.number("seconds", human_seconds, 1, human_seconds_max);
  if (!accepted(arguments, context.call)) {
    return;
  }
  if (is_approval && !options.empty()) {
    context.call.done(tool_error(Code::bad_arguments,
                                 "an approval has no `options`: people approve, reject or modify"));
    return;
  }
  if (is_approval) {
    ask_approval(caller_of(context), to, question, seconds);
    return;
  }
  if (!context.answer("answer").empty() ||
      (to.empty() && context.client.can.elicitation && context.call.can_ask())) {
    ask_user(context, question, options, seconds);
    return;
  }
  if (!options.empty()) {
    question.append("\n\nAnswer with one of:");
    for (const std::string& option : options) {
      question.append("\n- ").append(option);
    }
  }
  ask_by_mail(caller_of(context), to, question, seconds);
}

// Asks the user by a form, or takes the answer. Where there are options, only one of them counts as
// an answer: agents ask before they do what cannot be undone.
void Tools::ask_user(const CallContext& context, const std::string& question,
                     const std::vector<std::string>& options, uint64_t seconds) {
  const auto unanswered = [](std::string_view why) {
    std::string text;
    JsonWriter out(text);
    out.object().key("answered").boolean(false).key("from").plain("user");
    out.key("note").text("the user gave no answer: " + std::string(why)).end_object();
    return tool_json(text);
  };
  const std::string_view given = context.answer("answer");
  size_t bytes = question.size();
  for (const std::string& option : options) {
    bytes += option.size();
  }
  if (bytes > form_bytes_max) {
    context.call.done(tool_error(Code::bad_arguments,
                                 "a question to the user, with its options, has at most " +
                                     std::to_string(form_bytes_max) +
                                     " bytes; name a human in `to` to send a longer one"));
    return;
  }
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
    // In the legacy era the call waits here for the answer, so it needs an end. In the modern era
    // the call ends with the question, and this with it.
    context.call.at(server_.now() + base::seconds(static_cast<int64_t>(seconds)),
                    [call = context.call, seconds, unanswered] {
                      call.done(unanswered("none within " + std::to_string(seconds) + " s"));
                    });
    notify_progress(context.call, seconds, "waiting for the user");
    context.call.ask({mcp::form("answer", question, schema)});
    return;
  }
  lib::JsonDocument document;
  const auto reply = document.parse(given);
  const std::string action = reply ? text_of(*reply, "action") : std::string();
  const std::string answer = reply ? text_of(reply->find("content"), "answer") : std::string();
  if (action != "accept") {
    context.call.done(unanswered(action.empty() ? "cancel" : action));
  } else if (answer.empty()) {
    context.call.done(unanswered("what came back has no text in `answer`"));
  } else if (!options.empty() && std::ranges::find(options, answer) == options.end()) {
    context.call.done(unanswered("what came back is none of the options"));
  } else {
    std::string text;
    JsonWriter out(text);
    out.object().key("answered").boolean(true).key("from").plain("user");
    out.key("answer").text(answer).end_object();
    context.call.done(tool_json(text));
  }
}

void Tools::ask_by_mail(const Caller& caller, const std::string& to, const std::string& text,
                        uint64_t seconds) {
  Query humans;
  humans.add("kind", "human");
  call_api(
      caller, {.path = "/v1/agents", .query = humans.text()},
      [this, caller, to, text, seconds](const net::Response&, Json answer) {
        std::vector<std::string> names;
        for (const Json each : answer.find("agents").elements()) {
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
                             .response_timeout = answer_timeout}),
                   seconds, name, human_reply);
          return;
        }
        caller.call.done(
            names.empty() ? tool_error(Code::no_human,
                                       "no human is registered here. Someone with the admin token "
                                       "adds one by `parley human add NAME`.")
            : to.empty()
                ? tool_error(Code::bad_arguments, "say in `to` which human: " + joined(names))
                : tool_error(Code::receiver_not_found, "there is no " + name + "; there are " +
                                                           joined(names) +
                                                           ". For an agent use request."));
      });
}

void Tools::ask_approval(const Caller& caller, const std::string& to, const std::string& what,
                         uint64_t seconds) {
  constexpr size_t summary_bytes_max = 200;
  InsideRequest asked{.method = "POST", .path = "/v1/approvals"};
  JsonWriter body(asked.body);
  body.object().key("summary").text(base::cut(what, summary_bytes_max)).key("action").text(what);
  if (!to.empty()) {
    body.key("approvers").array().text(to).end_array();
  }
  body.end_object();
  call_api(caller, std::move(asked),
           [this, caller, seconds](const net::Response&, Json approval) {
             notify_progress(caller.call, seconds, "waiting for a decision");
             answer(caller,
                    {.path = "/v1/approvals/" + std::to_string(number_of(approval, "id")),
                     .query = "wait=" + std::to_string(seconds) + "s"},
                    approval_reply);
           });
}

void Tools::status(const CallContext& context) {
  Arguments arguments(context.arguments);
  if (!accepted(arguments, context.call)) {
    return;
  }
  const Caller caller = caller_of(context);
  const std::string& me = caller.principal.name;
  Query unfinished;
  unfinished.add("agent", me).add("unfinished", "true").add("limit", tasks_shown);
  const InsideRequest tasks{
      .path = "/v1/tasks", .query = unfinished.text(), .dialect = tool_dialect};
  struct Made {
    std::string text{};
    JsonWriter out{text};
  };
  const auto made = std::make_shared<Made>();
  call_api(caller, {.path = "/v1/agents/" + net::percent_encoded(me)},
           [this, caller, tasks, made](const net::Response&, Json self) {
             const auto unsettled = [&self](std::string_view box) {
               return number_of(self.find(box), "unsettled");
             };
             made->out.object().key("you").raw(self_reply(self));
             made->out.key("waitingForYou").number(unsettled("inbox"));
             made->out.key("sentAndUnsettled").number(unsettled("outbox"));
             call_api(caller, tasks, [this, caller, made](const net::Response&, Json found) {
               made->out.key("tasks").raw(tasks_reply(found));
               answer(caller, {.path = "/v1/health"}, [made](Json health) {
                 made->out.key("broker").object().key("status").text(text_of(health, "status"));
                 made->out.key("version").text(text_of(health, "version"));
                 made->out.end_object().end_object();
                 return made->text;
               });
             });
           });
}

void Tools::read(const CallContext& context, InsideRequest request, Write write) {
  const RpcError missing = resource_not_found(context);
  call_api(
      caller_of(context), std::move(request),
      [call = context.call, uri = std::string(context.uri), write = std::move(write)](
          const net::Response&, Json body) {
        call.done(mcp::resource_text(uri, "application/json", write(body)));
      },
      [call = context.call, missing](const base::Error& error) {
        const bool is_missing =
            error.code == base::Code::not_found || error.code == base::Code::forbidden;
        call.fail(is_missing ? missing : RpcError{internal_error, refusal(error), {}});
        return true;
      });
}

void Tools::read_inbox(const CallContext& context) {
  read(context, {.path = "/v1/inbox", .dialect = tool_dialect},
       [](Json inbox) { return inbox_reply(inbox, false); });
}

void Tools::read_thread(const CallContext& context) {
  read(context,
       {.path = "/v1/threads/" + net::percent_encoded(text_of(context.arguments, "id")),
        .query = "limit=100",
        .dialect = tool_dialect},
       thread_reply);
}

void Tools::read_agents(const CallContext& context) {
  read(context, {.path = "/v1/agents", .query = people_query().text()}, agents_reply);
}

}  // namespace parley::edge::tools
