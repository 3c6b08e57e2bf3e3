// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/supervisor.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "lib/json_writer.h"
#include "sim/client/messages.h"
#include "sim/roles/decisions.h"
#include "sim/roles/failures.h"
#include "sim/roles/flags.h"
#include "sim/roles/timers.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

constexpr uint64_t tasks_max = 10;  // Of one.

}  // namespace

Supervisor::Supervisor(RunState& run, Ledger& ledger, RoleClient::Profile profile)
    : run_(run),
      ledger_(ledger),
      client_(run, std::move(profile)),
      mailbox_(run, client_, [this](const Mailbox::Item& item) { return on_message(item); }) {}

void Supervisor::act() {
  if (client_.waiting() > 4) {
    return;
  }
  const uint64_t roll = run_.random().below(100);
  GivenTask* const task = any();
  if (roll < 25 && given_ < tasks_max) {
    delegate();
  } else if (roll < 40 && task != nullptr) {
    // Also one that is accepted: the same again is the same task.
    if (task->fate == Fate::open || roll < 32) {
      run_.setting.coverage.count("role", "task sent again");
      send(task->id);
    }
  } else if (roll < 60 && task != nullptr) {
    const std::string* const held = held_task();
    ask_state(held != nullptr && roll < 50 ? *held : task->id);
  } else if (roll < 63) {
    try_to_decide(run_, ledger_, client_);
  } else if (roll < 65) {
    raise_flag(run_, ledger_, client_);
  } else if (roll < 67) {
    raise_again(run_, ledger_, client_);
  } else {
    mailbox_.go_on();
  }
}

void Supervisor::drain() {
  for (const auto& [id, task] : ledger_.tasks) {
    if (task.giver != client_.name() || task.in_flight) {
      continue;
    }
    if (task.fate == Fate::open) {
      send(id);
    } else if (task.fate == Fate::accepted && !task.has_ended()) {
      ask_state(id);
    }
  }
  raise_again(run_, ledger_, client_);
  mailbox_.go_on();
}

bool Supervisor::is_idle() const {
  return mailbox_.is_empty() && has_raised(ledger_, client_) &&
         std::ranges::all_of(ledger_.tasks, [this](const auto& each) {
           const GivenTask& task = each.second;
           return task.giver != client_.name() || task.fate == Fate::refused ||
                  (task.fate == Fate::accepted && task.has_ended() && !task.endings.empty());
         });
}

GivenTask* Supervisor::any() {
  std::vector<GivenTask*> own;
  for (auto& [id, task] : ledger_.tasks) {
    if (task.giver == client_.name() && task.fate != Fate::refused && !task.in_flight) {
      own.push_back(&task);
    }
  }
  return own.empty() ? nullptr : run_.random().pick(own);
}

const std::string* Supervisor::held_task() const {
  for (const auto& [id, answer] : ledger_.answers) {
    const bool is_open = !answer.may_be_decided || answer.may_be_withdrawn;
    if (answer.giver == client_.name() && answer.told_at != 0 && answer.needs_people && is_open &&
        !ledger_.tasks.at(answer.task).has_ended()) {
      return &answer.task;
    }
  }
  return nullptr;
}

void Supervisor::delegate() {
  sim::Random& random = run_.random();
  constexpr std::array<int64_t, 3> timeouts = {3, 8, 20};
  GivenTask task{.id = ledger_.next_id(client_.name(), "task"),
                 .giver = client_.name(),
                 .worker = random.pick(ledger_.workers),
                 .text = {},
                 .timeout = base::seconds(random.pick(timeouts))};
  std::set<std::string> readers(ledger_.approvers.begin(), ledger_.approvers.end());
  readers.insert(task.worker);
  const std::string marker = run_.new_marker(task.giver, readers);
  const uint64_t roll = random.below(100);
  lib::JsonWriter out(task.text);
  out.object().key("message_type").text("task_delegation").key("message_id").text(task.id);
  out.key("timestamp").time(run_.now()).key("from_agent").text(task.giver);
  out.key("to_agent").text(task.worker);
  out.key("event_context").object().key("event_type").text("issues.opened").end_object();
  out.key("task").object().key("description").text(some_words(marker, random, 500));
  out.key("timeout_seconds").number(task.timeout.us / 1'000'000);
  if (roll < 35) {
    out.key("requires_hitl").boolean(true);
  } else if (roll < 60) {
    out.key("confidence_threshold").real(0.9);
  }
  out.end_object().end_object();
  ++given_;
  run_.setting.coverage.count("role", "task given");
  client_.note(text("gives {} to {}", task.id, task.worker));
  const std::string id = task.id;
  ledger_.tasks.emplace(id, std::move(task));
  send(id);
}

void Supervisor::send(const std::string& id) {
  GivenTask& task = ledger_.tasks.at(id);
  task.in_flight = true;
  client_.ask({"POST", "/v1/messages", task.text},
              [this, id](const Reply& reply) { on_receipt(id, reply); });
}

void Supervisor::on_receipt(const std::string& id, const Reply& reply) {
  GivenTask& task = ledger_.tasks.at(id);
  task.in_flight = false;
  if (is_unknown(reply)) {
    return;
  }
  if (reply.status != 202) {
    run_.setting.coverage.count("role", text("task {}", code_of(reply)));
    task.fate = task.fate == Fate::open ? Fate::refused : task.fate;
    return;
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  const uint64_t seq = parsed ? number_of(*parsed, "seq") : 0;
  if (task.seq != 0 && seq != task.seq) {
    run_.fail("receipt",
              text("{} was told that {} is {}, and now {}", client_.name(), id, task.seq, seq));
  }
  task.seq = seq;
  task.fate = Fate::accepted;
}

void Supervisor::ask_state(const std::string& id) {
  if (ledger_.tasks.at(id).fate == Fate::accepted) {
    client_.ask(
        {.target = "/v1/messages/" + id + "/delivery"},
        [this, id, asked_at = run_.step](const Reply& reply) { on_state(id, asked_at, reply); });
  }
}

void Supervisor::on_state(const std::string& id, uint64_t asked_at, const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 200 || !parsed) {
    return;
  }
  note_state(run_, ledger_, ledger_.tasks.at(id), asked_at, parsed->find("request"));
}

// What people decided about an answer that they changed is handed out before the answer.
void Supervisor::on_decision(const Mailbox::Item& item) {
  const std::string answer(string_of(item.message, "in_reply_to"));
  if (string_of(item.message, "decision") != "modified") {
    return;
  }
  run_.setting.coverage.count("role", "change told");
  if (early_.contains(answer) && !item.may_be_read) {
    run_.fail("held", text("{} reads {} before what people decided about it: {}", client_.name(),
                           answer, item.message.raw().substr(0, 600)));
  }
  decided_.insert(answer);
}

bool Supervisor::on_message(const Mailbox::Item& item) {
  if (string_of(item.message, "message_type") == "hitl_approval_decision") {
    on_decision(item);
    return true;
  }
  if (string_of(item.message, "message_type") != "task_completion") {
    return true;
  }
  const auto at = ledger_.tasks.find(std::string(string_of(item.message, "in_reply_to")));
  if (at == ledger_.tasks.end() || at->second.giver != client_.name()) {
    run_.fail("failure", text("{} gets an end of a task that it did not give: {}", client_.name(),
                              item.message.raw().substr(0, 600)));
    return true;
  }
  const Json error = item.message.find("error");
  on_ending(at->second, {.id = std::string(string_of(item.message, "message_id")),
                         .by_broker = string_of(item.message, "made_by") == "parley",
                         .error_type = std::string(string_of(error, "error_type")),
                         .mark = item.mark});
  return true;
}

// One message may come several times, and is one ending all the same.
void Supervisor::on_ending(GivenTask& task, const Ending& ending) {
  if (std::ranges::find(task.endings, ending.id, &Ending::id) != task.endings.end()) {
    return;
  }
  client_.note(text("{} ends with {} ({} {})", task.id, ending.id, ending.error_type, ending.mark));
  if (ending.by_broker) {
    run_.setting.coverage.count("role", text("task failed {}", ending.error_type));
  } else if (const auto at = ledger_.answers.find(ending.id); at != ledger_.answers.end()) {
    run_.setting.coverage.count("role", text("answer came {}", ending.mark));
    at->second.was_seen = true;
    if (ending.mark == "modified" && !decided_.contains(ending.id)) {
      early_.insert(ending.id);
    }
    if (at->second.needs_people && !at->second.may_pass) {
      run_.fail("held", text("{} gets {}, which nobody let pass", client_.name(), ending.id));
    }
  } else {
    run_.fail("failure", text("{} gets {} as an answer to {}, which nobody gave", client_.name(),
                              ending.id, task.id));
  }
  task.endings.push_back(ending);
  check_failures(run_, task);
  check_timer(run_, ledger_, task, ending);
}

}  // namespace parley::edge_sim
