// SPDX-License-Identifier: Apache-2.0
// Tasks over HTTP: who has them, how far they are, what came of them.
#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>

#include "edge/api/context.h"
#include "edge/api/listing.h"
#include "edge/api/members.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

constexpr uint64_t list_max = 1'000;

// How long nothing was heard of a task that is being worked on; zero: not too long.
Duration silence_of(const core::Tables& t, const core::Task& task, base::Time now) {
  const Duration silent = now - task.heard;
  return task.is_open() && silent >= t.rules.inbox_silence ? silent : Duration{};
}

void render_words(node::Broker& broker, const Principal& caller, const core::Task& task,
                  base::Seq seq, std::string_view key, JsonWriter& out) {
  if (seq.n == 0) {
    return;
  }
  const auto said = envelope_at(broker, caller.workspace, seq);
  const core::Tables& t = broker.machine().find(caller.workspace)->tables();
  // One who had the task does not hear what its successor says.
  if (!said || !may_see_words(t, caller, task, seq, *said)) {
    return;
  }
  out.key(key).object().key("id").text(dialect::id_in(caller.dialect, *said));
  out.key("type").text(dialect::task_codec().type(*said));
  out.key("from").text(said->sender).key("timestamp").time(said->created);
  out.key("content").raw(said->body.empty() ? "null" : said->body).end_object();
}

// Without the ends of the object, so that more can be said.
void render_task(node::Broker& broker, const Principal& caller, const core::Task& task,
                 base::Time now, JsonWriter& out) {
  const core::Tables& t = broker.machine().find(caller.workspace)->tables();
  out.key("id").text(task.id).key("state").plain(core::task_state_words[task.state]);
  out.key("director").text(task.director).key("specialist").text(task.specialist);
  out.key("thread").text(task.thread);
  if (const auto given = envelope_at(broker, caller.workspace, task.message)) {
    out.key("title").text(dialect::task_codec().title(*given));
    out.key("priority").plain(word_of(given->priority));
    out.key("message").text(dialect::id_in(caller.dialect, *given));
  }
  out.key("created").time(task.created).key("changed").time(task.changed);
  out.key("last_heard").time(task.heard);
  const Duration silent = silence_of(t, task, now);
  out.key("silent").boolean(silent.us > 0);
  if (silent.us > 0) {
    out.key("silent_for").text(base::format_duration(base::rough(silent)));
  }
  out.key("reports").number(uint64_t{task.reports}).key("errors").number(uint64_t{task.errors});
}

void render_moves(const Principal& caller, const core::Task& task, JsonWriter& out) {
  out.key("reassignments").array();
  for (const core::TaskMove& move : task.moves) {
    if (!may_see(caller, move)) {
      continue;
    }
    out.object().key("at").time(move.at).key("from").text(move.from).key("to").text(move.to);
    out.key("by").text(move.by).end_object();
  }
  out.end_array();
}

// Which others have the name.
void render_others(std::span<const core::Task* const> others, JsonWriter& out) {
  constexpr size_t named_max = 20;
  out.key("others").array();
  for (const core::Task* const other : others.first(std::min(others.size(), named_max))) {
    out.object().key("director").text(other->director).key("thread").text(other->thread);
    out.key("specialist").text(other->specialist);
    out.key("state").plain(core::task_state_words[other->state]);
    out.key("created").time(other->created).end_object();
  }
  out.end_array().key("others_count").number(uint64_t{others.size()});
}

std::string task_text(node::Broker& broker, const Principal& caller, const core::Task& task,
                      std::span<const core::Task* const> others, base::Time now) {
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
  render_words(broker, caller, task, task.report, "status", out);
  render_words(broker, caller, task, task.outcome, "outcome", out);
  render_moves(caller, task, out);
  render_others(others, out);
  out.end_object();
  return text;
}

// `core::TaskName` with texts of its own, for an answer that comes later.
struct TaskName {
  std::string id;
  std::string director;
  std::string thread;

  operator core::TaskName() const { return {id, director, thread}; }
};

// Those of this name that the caller may see and that fit, the one that it means first: its own
// before those of others, what is open before what is over, newer before older.
std::vector<const core::Task*> tasks_named(const core::Tables& t, const Principal& caller,
                                           const core::TaskName& name) {
  std::vector<const core::Task*> found =
      caller.is_maintainer() ? t.tasks.named(name) : t.tasks.meant(name, caller.name);
  std::erase_if(found, [&](const core::Task* task) { return !may_see(t, caller, *task); });
  const auto rank = [&](const core::Task* task) {
    return std::tuple(task->director == caller.name, takes_part(t, caller, *task), task->is_open(),
                      task->began);
  };
  std::ranges::sort(found, std::greater{}, rank);
  return found;
}

void show_task(Call& call) {
  const TaskName name{.id = std::string(call.arguments[0]),
                      .director = call.text("director"),
                      .thread = call.text("thread")};
  const std::vector<const core::Task*> found = tasks_named(call.tables(), call.caller, name);
  if (found.empty()) {
    call.refuse(Error{Code::not_found,
                      "you take part in no such task; tasks that are over are forgotten after "
                      "task.retention",
                      {}});
    return;
  }
  const std::span others = std::span(found).subspan(1);
  call.respond(json_response(
      200, task_text(call.broker(), call.caller, *found.front(), others, call.now())));
}

// Calls `look` for those of the caller's that began before the cursor, newest first, until it
// returns false; for all of them where it may see all.
template <class Look>
void walk_tasks(const core::Tables& t, const Principal& caller, uint64_t cursor, Look&& look) {
  const auto walk = [cursor](const auto& tasks, const auto& task_at) {
    auto at = std::make_reverse_iterator(cursor == 0 ? tasks.end()
                                                     : tasks.lower_bound(base::Seq{cursor}));
    while (at != tasks.rend() && task_at(*at)) {
      ++at;
    }
  };
  const auto& all = t.tasks.all();
  if (caller.is_maintainer()) {
    walk(all, [&look](const auto& item) { return look(item.second); });
  } else if (const std::set<base::Seq>* const own = t.tasks.of(caller.name)) {
    walk(*own, [&](base::Seq began) { return look(all.at(began)); });
  }
}

void list_tasks(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const uint64_t cursor = call.number("cursor", 0);
  const bool silent = call.flag("silent");
  const bool unfinished = call.flag("unfinished");
  const auto state = call.parameter("state");
  const auto agent = call.parameter("agent");
  if (state && !core::task_state_words.find(*state)) {
    call.refuse(bad_parameter("state", core::task_state_words.all()));
    return;
  }
  const core::Tables& t = call.tables();
  const base::Time now = call.now();
  struct Made {
    std::deque<base::Seq> tasks{};  // by when they began
    bool more = false;              // older ones are wanted, too
    base::Seq last{};
    uint64_t listed = 0;
    std::string text{};
    JsonWriter out{text};
  };
  const auto made = std::make_shared<Made>();
  std::vector<base::Seq> given;
  // Newest first. False: older ones are not needed.
  const auto look = [&](const core::Task& task) {
    const bool wanted =
        may_see(t, call.caller, task) && (!state || core::task_state_words[task.state] == *state) &&
        (!agent || task.director == *agent || task.specialist == *agent) &&
        (!silent || silence_of(t, task, now).us > 0) &&
        (!unfinished ||
         (task.state != core::TaskState::completed && task.state != core::TaskState::acknowledged));
    made->more = wanted && given.size() >= limit;
    if (wanted && !made->more) {
      made->tasks.push_back(task.began);
      given.push_back(task.message);
    }
    return !made->more;
  };
  walk_tasks(t, call.caller, cursor, look);
  made->out.object().key("tasks").array();
  call.context->listings->add(
      call, {.records = std::move(given),
             .each =
                 [made, now, asker = call.asker()](base::Seq) {
                   const auto& known = asker.tables().tasks.all();
                   made->last = made->tasks.front();
                   const auto task = known.find(made->last);
                   made->tasks.pop_front();
                   if (task != known.end()) {
                     ++made->listed;
                     made->out.object();
                     render_task(asker.broker(), asker.caller, task->second, now, made->out);
                     made->out.end_object();
                   }
                   return made->text.size() < answer_bytes_max;
                 },
             .answer =
                 [made] {
                   const bool more = made->more || !made->tasks.empty();
                   made->out.end_array().key("count").number(made->listed);
                   made->out.key("more").boolean(more);
                   if (more && made->last.n != 0) {
                     made->out.key("next").number(made->last.n);
                   }
                   made->out.end_object();
                   return json_response(200, std::move(made->text));
                 }});
}

void reassign_task(Call& call) {
  Members body(call.body);
  const auto to = body.needed_text("to", "`to` names the agent that gets the task");
  const TaskName name{.id = call.arguments[0],
                      .director = std::string(body.text("director")),
                      .thread = std::string(body.text("thread"))};
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  call.ask(
      core::ReassignTask{
          .task = name.id, .to = to, .director = name.director, .thread = name.thread},
      call.when_done([asker = call.asker(), name](const core::Receipt& receipt) {
        const core::Tables& t = asker.tables();
        const core::Task* const moved = t.tasks.find(receipt.message);
        std::vector<const core::Task*> others = tasks_named(t, asker.caller, name);
        std::erase(others, moved);
        asker.respond(json_response(
            200, moved == nullptr
                     ? std::string("{}")
                     : task_text(asker.broker(), asker.caller, *moved, others, asker.now())));
      }));
}

}  // namespace

std::span<const Route> task_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/tasks",
       .handler = list_tasks,
       .parameters = {query::text("state"), query::text("agent"), query::flag("silent"),
                      query::flag("unfinished"), query::number("limit", list_max),
                      query::number("cursor", INT64_MAX)},
       .who = Who::principal},
      {.method = "GET",
       .pattern = "/v1/tasks/{}",
       .handler = show_task,
       .parameters = {query::text("director"), query::text("thread")},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/tasks/{}/reassign",
       .handler = reassign_task,
       .body = body_of({"to", "director", "thread"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
