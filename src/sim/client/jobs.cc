// SPDX-License-Identifier: Apache-2.0
#include "sim/client/jobs.h"

#include <algorithm>
#include <array>

#include "lib/json.h"
#include "lib/json_writer.h"
#include "sim/client/agent.h"
#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

constexpr std::array<std::string_view, 3> lock_names = {"a", "b", "c"};

}  // namespace

void Jobs::act() {
  sim::Random& random = run_.random();
  const bool is_flow = agent_.dialect() == "flow";
  switch (random.below(10)) {
    case 0:
      is_flow ? start_pipeline() : reassign();
      break;
    case 1:
      is_flow ? start_scatter() : reassign();
      break;
    case 2:
      start_session();
      break;
    case 3:
    case 4:
      write_to_session();
      break;
    case 5:
    case 6:
      take_lock();
      break;
    case 7:
      release_lock();
      break;
    default:
      reassign();
      break;
  }
}

Jobs::Job* Jobs::any(std::string_view kind) {
  std::vector<Job*> found;
  for (Job& each : all_) {
    if (each.kind == kind && !is_former(each)) {
      found.push_back(&each);
    }
  }
  return found.empty() ? nullptr : run_.random().pick(found);
}

std::string Jobs::message(const std::string& marker, const std::string& thread) const {
  std::string out;
  lib::JsonWriter(out)
      .object()
      .key("type")
      .text("request")
      .key("conversation_id")
      .text(thread)
      .key("response_timeout")
      .text("20s")
      .key("payload")
      .object()
      .key("content_type")
      .text("text")
      .key("body")
      .text(some_words(marker, run_.random()))
      .end_object()
      .end_object();
  return out;
}

void Jobs::start_pipeline() {
  sim::Random& random = run_.random();
  const std::string thread = text("pipe-{}", run_.last_marker + 1);
  // In every second one the stage that takes least is where the answer of another goes.
  const auto least = std::ranges::find(run_.agents, "inbox", &Agent::dialect);
  const bool has_least = run_.last_marker % 2 == 0 && least != run_.agents.end();
  std::string stages;
  std::set<std::string> readers;
  const uint64_t count = 2 + random.below(2);
  for (uint64_t n = 0; n < count; ++n) {
    const auto& any = random.pick(run_.agents);
    const std::string& name = (n == 1 && has_least ? *least : any)->name();
    readers.insert(name);
    stages += text("{}\"{}\"", n > 0 ? "," : "", name);
  }
  const std::string marker = run_.new_marker(agent_.name(), readers);
  readers.insert(agent_.name());
  run_.groups[thread] = readers;
  start_pattern("pipeline", "/v1/pipelines",
                text(R"({"stages":[{}],"message":{}})", stages, message(marker, thread)), marker);
}

void Jobs::start_scatter() {
  sim::Random& random = run_.random();
  std::string receivers;
  std::set<std::string> readers;
  for (const auto& agent : run_.agents) {
    if (agent.get() != &agent_ && random.chance(500)) {
      receivers += text("{}\"{}\"", receivers.empty() ? "" : ",", agent->name());
      readers.insert(agent->name());
    }
  }
  if (receivers.empty()) {
    return;
  }
  const std::string thread = text("scatter-{}", run_.last_marker + 1);
  const std::string marker = run_.new_marker(agent_.name(), readers);
  constexpr std::array<std::string_view, 3> strategies = {"all", "any", "majority"};
  start_pattern("scatter", "/v1/scatter",
                text(R"({"receivers":[{}],"strategy":"{}","timeout":"20s","message":{}})",
                     receivers, random.pick(strategies), message(marker, thread)),
                marker);
}

void Jobs::start_pattern(const std::string& kind, std::string_view path, const std::string& body,
                         const std::string& marker) {
  agent_.ask({"POST", text("{}?lenient=true", path), body}, [this, kind, path = std::string(path),
                                                             marker](const Reply& reply) {
    lib::JsonDocument document;
    const auto parsed = document.parse(reply.body);
    if (reply.status != 202 || !parsed) {
      return;
    }
    const std::string id(string_of(*parsed, "id"));
    if (reply.body.find(R"("state":"dead")") != reply.body.npos) {
      run_.repeated.insert(marker);  // The broker tries it again, behind others.
    }
    run_.setting.coverage.count("begun", kind);
    all_.push_back({.kind = kind,
                    .path = text("{}/{}", path, id),
                    .name = id,
                    .life = agent_.record().life,
                    .marker = marker});
  });
}

void Jobs::gave_task(std::string task, std::string marker) {
  run_.setting.coverage.count("begun", "task");
  const std::string path = text("/v1/tasks/{}?director={}", task, agent_.name());
  all_.push_back({.kind = "task",
                  .path = path,
                  .name = std::move(task),
                  .life = agent_.record().life,
                  .marker = std::move(marker)});
}

void Jobs::reassign() {
  Job* const task = any("task");
  if (task == nullptr) {
    return;
  }
  const std::string& to = run_.random().pick(run_.agents)->name();
  run_.readers[task->marker].insert(to);
  run_.repeated.insert(task->marker);  // Who had it may get it again.
  agent_.ask({"POST", text("/v1/tasks/{}/reassign", task->name), text(R"({"to":"{}"})", to)},
             [this](const Reply& reply) {
               run_.setting.coverage.count("reassigned", reply.status == 200 ? "yes" : "no");
             });
}

void Jobs::start_session() {
  std::string participants;
  std::set<std::string> readers{agent_.name()};
  for (const auto& agent : run_.agents) {
    if (agent.get() != &agent_ && run_.random().chance(500)) {
      participants += text("{}\"{}\"", participants.empty() ? "" : ",", agent->name());
      readers.insert(agent->name());
    }
  }
  const std::string id = text("s-{}-{}", agent_.name(), ++run_.last_marker);
  run_.sessions[id] = std::move(readers);
  agent_.ask({"POST", "/v1/sessions",
              text(R"({"id":"{}","participants":[{}],"task":"talk"})", id, participants)},
             [this, id](const Reply& reply) {
               if (reply.status == 201) {
                 run_.setting.coverage.count("begun", "session");
                 all_.push_back({.kind = "session",
                                 .path = "/v1/sessions/" + id,
                                 .name = id,
                                 .life = agent_.record().life,
                                 .version = 1});
               }
             });
}

void Jobs::write_to_session() {
  Job* const session = any("session");
  if (session == nullptr || session->state == "completed") {
    return;
  }
  const std::string marker = run_.new_marker(agent_.name(), run_.sessions.at(session->name));
  agent_.ask({"POST",
              session->path + "/decisions",
              text(R"({"decision":"{}","rationale":"why not"})", marker),
              {{"If-Match", text("\"{}\"", session->version)}}},
             [this, path = session->path, marker](const Reply& reply) {
               const auto at = std::ranges::find(all_, path, &Job::path);
               lib::JsonDocument document;
               const auto parsed = document.parse(reply.body);
               const uint64_t version = parsed ? number_of(*parsed, "version") : 0;
               at->version = version > 0 ? version : at->version;
               run_.setting.coverage.count("decision", std::to_string(reply.status));
               if (reply.status == 201) {
                 at->written.push_back(marker);
               }
             });
}

void Jobs::take_lock() {
  const std::string name(run_.random().pick(lock_names));
  const Time asked = run_.now();
  agent_.ask({"PUT", "/v1/locks/" + name, R"({"lease":"4s"})"},
             [this, name, asked](const Reply& reply) {
               lib::JsonDocument document;
               const auto parsed = document.parse(reply.body);
               run_.setting.coverage.count("lock", std::to_string(reply.status));
               if (reply.status != 200 || !parsed) {
                 return;
               }
               // Its lease began after it was asked for: until then at least it is held.
               const Hold hold{.name = name,
                               .fence = number_of(*parsed, "fence"),
                               .from = run_.now(),
                               .until = asked + base::seconds(4)};
               const auto same = std::ranges::find_if(holds_, [&](const Hold& each) {
                 return each.name == name && each.fence == hold.fence && each.is_held;
               });
               if (same != holds_.end()) {
                 same->until = std::max(same->until, hold.until);
               } else {
                 holds_.push_back(hold);
               }
             });
}

void Jobs::release_lock() {
  for (Hold& hold : holds_) {
    if (hold.is_held && hold.until > run_.now()) {
      hold.is_held = false;
      hold.until = run_.now();
      agent_.ask({"DELETE", text("/v1/locks/{}?fence={}", hold.name, hold.fence)},
                 [](const Reply&) {});
      return;
    }
  }
}

void Jobs::leave() {
  for (Hold& hold : holds_) {
    hold.until = std::min(hold.until, run_.now());
    hold.is_held = false;
  }
}

void judge_locks(RunState& run) {
  struct Held {
    const Jobs::Hold* hold;
    std::string owner;
  };
  std::vector<Held> all;
  for (const auto& agent : run.agents) {
    for (const Jobs::Hold& hold : agent->jobs().holds_) {
      all.push_back({&hold, agent->name()});
    }
  }
  for (const Held& a : all) {
    for (const Held& b : all) {
      const bool is_other = a.owner != b.owner && a.hold->name == b.hold->name;
      const Time from = std::max(a.hold->from, b.hold->from);
      if (is_other && from < std::min(a.hold->until, b.hold->until)) {
        run.fail("lock", text("{} and {} both held {} at {} (fences {} and {})", a.owner, b.owner,
                              a.hold->name, base::format_time(from), a.hold->fence, b.hold->fence));
      }
      if (is_other && a.hold->fence == b.hold->fence) {
        run.fail("lock", text("{} and {} got one fence of {}: {}", a.owner, b.owner, a.hold->name,
                              a.hold->fence));
      }
    }
  }
}

void Jobs::drain() {
  for (Job& each : all_) {
    if (each.kind == "session" && !is_done(each) && !is_former(each)) {
      agent_.ask({"POST",
                  each.path + "/status",
                  R"({"status":"completed"})",
                  {{"If-Match", text("\"{}\"", each.version)}}},
                 [](const Reply&) {});
    }
  }
  ask();
}

void Jobs::ask() {
  for (Job& each : all_) {
    if (is_former(each)) {
      ask_of_former(each);
      continue;
    }
    if (is_done(each)) {
      continue;
    }
    agent_.ask({.target = each.path},
               [this, path = each.path](const Reply& reply) { hear(path, reply); });
  }
}

// Another had the name when it was begun: it is not for this one to know of. How it ended the admin
// asks.
void Jobs::ask_of_former(Job& job) {
  if (!job.is_private) {
    agent_.ask({.target = job.path}, [this, path = job.path](const Reply& reply) {
      Job& at = *std::ranges::find(all_, path, &Job::path);
      run_.setting.coverage.count("former's job", std::to_string(reply.status));
      if (reply.status == 200) {
        run_.fail("privacy",
                  text("{} is told of {} {}, which one began who had its name before: {}",
                       agent_.name(), at.kind, at.name, reply.body));
      }
      at.is_private = reply.status == 404;
    });
  }
  if (!has_ended(job)) {
    run_.ask_as_admin({.target = job.path},
                      [this, path = job.path](const Reply& reply) { hear(path, reply); });
  }
}

void Jobs::hear(const std::string& path, const Reply& reply) {
  Job& at = *std::ranges::find(all_, path, &Job::path);
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 200 || !parsed) {
    at.answer = text("{} {}", reply.status, reply.body);
    return;
  }
  at.answer = reply.body;
  at.state = string_of(*parsed, at.kind == "session" ? "status" : "state");
  at.version = std::max(at.version, number_of(*parsed, "version"));
}

bool Jobs::is_former(const Job& job) const { return job.life != agent_.record().life; }

bool Jobs::is_done(const Job& job) const {
  return has_ended(job) && (!is_former(job) || job.is_private);
}

bool Jobs::has_ended(const Job& job) const {
  const std::string& state = job.state;
  // A task that could not be given is none.
  const bool is_none =
      job.kind == "task" && job.answer.starts_with("404") && run_.failed.contains(job.marker);
  return state == "completed" || state == "complete" || state == "failed" || state == "partial" ||
         state == "acknowledged" || is_none;
}

bool Jobs::is_over() const {
  return std::ranges::all_of(all_, [this](const Job& each) { return is_done(each); });
}

void Jobs::judge() const {
  for (const Job& each : all_) {
    run_.setting.coverage.count(is_former(each) ? "former's" : "ended",
                                text("{} {}", each.kind, each.state));
    if (!is_done(each)) {
      run_.fail("end", text("{}'s {} {} ({}) does not end, and does not say why: {}", agent_.name(),
                            each.kind, each.name, each.marker, each.answer));
    }
    for (const std::string& marker : each.written) {
      if (each.answer.find(marker) == std::string::npos) {
        run_.fail("lost", text("{} wrote {} to session {}, confirmed, and it is not there: {}",
                               agent_.name(), marker, each.name, each.answer));
      }
    }
  }
}

}  // namespace parley::edge_sim
