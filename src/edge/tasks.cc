// SPDX-License-Identifier: Apache-2.0
// Tasks over HTTP: who has them, how far they are, what came of them.
#include <algorithm>
#include <array>

#include "dialect/inbox.h"
#include "edge/api.h"
#include "edge/render.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t list_max = 1'000;

std::vector<core::TaskState> all_states() {
  std::vector<core::TaskState> states;
  for (uint8_t n = 0; n <= static_cast<uint8_t>(core::task_state_last); ++n) {
    states.push_back(static_cast<core::TaskState>(n));
  }
  return states;
}

bool takes_part(const core::Task& task, const Principal& caller) {
  return task.director == caller.name || task.specialist == caller.name ||
         std::ranges::any_of(task.moves,
                             [&](const core::TaskMove& move) { return move.from == caller.name; });
}

bool may_see(const core::Task& task, const Principal& caller) {
  return caller.is_maintainer() || takes_part(task, caller);
}

// How long nothing was heard of a task that is being worked on; zero: not too long.
Duration silence_of(const core::Tables& t, const core::Task& task, base::Time now) {
  const Duration silent = now - task.heard;
  return task.is_open() && silent >= t.rules.inbox_silence ? silent : Duration{};
}

void render_words(node::Broker& broker, const Principal& caller, base::Seq seq,
                  std::string_view key, JsonWriter& out) {
  if (seq.n == 0) {
    return;
  }
  const auto said = envelope_at(broker, caller.workspace, seq);
  if (!said) {
    return;
  }
  out.key(key).object().key("id").text(dialect::id_in(caller.dialect, *said));
  out.key("type").text(codec_of(core::Dialect::inbox).type(*said));
  out.key("from").text(said->sender).key("timestamp").time(said->created);
  out.key("content").raw(said->body.empty() ? "null" : said->body).end_object();
}

// Without the ends of the object, so that more can be said.
void render_task(node::Broker& broker, const Principal& caller, const core::Task& task,
                 base::Time now, JsonWriter& out) {
  const core::Tables& t = broker.machine().find(caller.workspace)->tables();
  out.key("id").text(task.id).key("state").plain(core::task_state_name(task.state));
  out.key("director").text(task.director).key("specialist").text(task.specialist);
  out.key("thread").text(task.thread);
  if (const auto given = envelope_at(broker, caller.workspace, task.message)) {
    out.key("title").text(dialect::inbox_title(*given));
    out.key("priority").plain(priority_name(given->priority));
    out.key("message").text(dialect::id_in(caller.dialect, *given));
  }
  out.key("created").time(task.created).key("changed").time(task.changed);
  out.key("last_heard").time(task.heard);
  const Duration silent = silence_of(t, task, now);
  out.key("silent").boolean(silent.us > 0);
  if (silent.us > 0) {
    out.key("silent_for").text(rough_duration(silent));
  }
  out.key("reports").number(uint64_t{task.reports}).key("errors").number(uint64_t{task.errors});
}

void render_moves(const core::Task& task, JsonWriter& out) {
  out.key("reassignments").array();
  for (const core::TaskMove& move : task.moves) {
    out.object().key("at").time(move.at).key("from").text(move.from).key("to").text(move.to);
    out.key("by").text(move.by).end_object();
  }
  out.end_array();
}

std::string task_text(node::Broker& broker, const Principal& caller, const core::Task& task,
                      base::Time now) {
  const core::Tables& t = broker.machine().find(caller.workspace)->tables();
  std::string text;
  JsonWriter out(text);
  out.object();
  render_task(broker, caller, task, now, out);
  const core::MessageRef message = t.messages.find(task.message);
  const core::AgentRef specialist = t.agents.find(task.specialist);
  const core::DeliveryRef given = message == core::none || specialist == core::none
                                      ? core::none
                                      : t.messages.delivery_to(message, specialist);
  if (given != core::none) {
    out.key("delivery");
    render_delivery(t, given, out);
  }
  render_words(broker, caller, task.report, "status", out);
  render_words(broker, caller, task.outcome, "outcome", out);
  render_moves(task, out);
  out.end_object();
  return text;
}

}  // namespace

std::expected<const core::Task*, Error> Api::find_task(const Call& call,
                                                       std::string_view director) const {
  std::vector<const core::Task*> found = tables(call).tasks.named(call.arguments[0]);
  std::erase_if(found, [&](const core::Task* task) {
    return !may_see(*task, call.caller) || (!director.empty() && task->director != director);
  });
  if (found.empty()) {
    return std::unexpected(Error{Code::not_found,
                                 "you take part in no task of this name; tasks that are over are "
                                 "forgotten after task.retention",
                                 {}});
  }
  const auto own = std::ranges::find(found, call.caller.name, &core::Task::director);
  if (found.size() > 1 && own == found.end()) {
    std::string names;
    for (const core::Task* task : found) {
      names.append(names.empty() ? "" : ", ").append(task->director);
    }
    return std::unexpected(Error{Code::conflict,
                                 "several directors have given a task of this name: " + names +
                                     "; say which with `director`",
                                 "/director"});
  }
  return own == found.end() ? found.front() : *own;
}

void Api::show_task(Call& call) {
  const auto task = find_task(call, call.parameter("director").value_or(""));
  if (!task) {
    refuse(call.exchange, task.error());
    return;
  }
  respond(call.exchange,
          json_response(200, task_text(broker_, call.caller, **task, clock_.now())));
}

void Api::list_tasks(Call& call) {
  const auto limit = call.count("limit", 100, list_max);
  const auto silent = call.flag("silent");
  const auto unfinished = call.flag("unfinished");
  const auto state = call.parameter("state");
  const auto agent = call.parameter("agent");
  const auto is_state = [&](core::TaskState each) { return core::task_state_name(each) == *state; };
  if (!limit || !silent || !unfinished) {
    refuse(call.exchange, !limit    ? limit.error()
                          : !silent ? silent.error()
                                    : unfinished.error());
    return;
  }
  if (state && std::ranges::none_of(all_states(), is_state)) {
    std::string words;
    for (const core::TaskState each : all_states()) {
      words.append(words.empty() ? "" : ", ").append(core::task_state_name(each));
    }
    refuse(call.exchange, Error{Code::bad_request, "the parameter state is one of " + words, {}});
    return;
  }
  const core::Tables& t = tables(call);
  const base::Time now = clock_.now();
  std::string text;
  JsonWriter out(text);
  uint64_t listed = 0;
  out.object().key("tasks").array();
  const auto& all = t.tasks.all();
  for (auto at = all.rbegin(); at != all.rend() && listed < *limit; ++at) {
    const core::Task& task = at->second;
    const bool wanted =
        may_see(task, call.caller) && (!state || core::task_state_name(task.state) == *state) &&
        (!agent || task.director == *agent || task.specialist == *agent) &&
        (!*silent || silence_of(t, task, now).us > 0) &&
        (!*unfinished || (task.state != core::TaskState::completed &&
                          task.state != core::TaskState::acknowledged));
    if (wanted) {
      ++listed;
      out.object();
      render_task(broker_, call.caller, task, now, out);
      out.end_object();
    }
  }
  out.end_array().key("count").number(listed).end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

void Api::reassign_task(Call& call) {
  const auto body = body_object(call);
  if (!body) {
    refuse(call.exchange, body.error());
    return;
  }
  const auto text_in = [&](std::string_view key) {
    const Json value = body->find(key);
    return value ? value.as_string().value_or("") : std::string_view{};
  };
  const std::string to(text_in("to"));
  if (to.empty()) {
    refuse(call.exchange,
           Error{Code::bad_request, "`to` names the agent that gets the task", "/to"});
    return;
  }
  const auto task = find_task(call, text_in("director"));
  if (!task) {
    refuse(call.exchange, task.error());
    return;
  }
  const std::string id = (*task)->id;
  const std::string director = (*task)->director;
  broker_.ask(call.caller.workspace, call.caller.name,
              core::ReassignTask{.task = id, .to = to, .director = director},
              [this, exchange = call.exchange, caller = call.caller, id, director](
                  const core::Outcome& outcome, std::span<const core::Effect>) {
                if (!outcome) {
                  refuse(exchange, outcome.error());
                  return;
                }
                const core::Task* const moved =
                    broker_.machine().find(caller.workspace)->tables().tasks.find(id, director);
                respond(exchange, json_response(200, moved == nullptr
                                                         ? std::string("{}")
                                                         : task_text(broker_, caller, *moved,
                                                                     clock_.now())));
              });
}

// IN-06: the conversation of the task that the message names; empty when its sender has none.
std::string_view Api::task_thread(const Principal& caller, const core::Envelope& envelope) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const core::Task* found = nullptr;
  for (const core::Task* const task : t.tasks.named(envelope.task)) {
    const auto& to = envelope.receivers;
    const bool between = task->director == caller.name ||
                         std::ranges::find(to, task->director) != to.end();
    if (takes_part(*task, caller) && (found == nullptr || between)) {
      found = task;
    }
  }
  return found == nullptr ? std::string_view{}
                          : std::string_view(texts_.emplace_back(found->thread));
}

}  // namespace parley::edge
