// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/worker.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "lib/json_writer.h"
#include "sim/client/messages.h"
#include "sim/roles/decisions.h"
#include "sim/roles/flags.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

Worker::Worker(RunState& run, Ledger& ledger, RoleClient::Profile profile)
    : run_(run),
      ledger_(ledger),
      client_(run, std::move(profile)),
      mailbox_(run, client_, [this](const Mailbox::Item& item) { return on_message(item); }) {}

void Worker::act() {
  if (client_.waiting() > 4) {
    return;
  }
  const uint64_t roll = run_.random().below(100);
  if (roll < 40) {
    work();
  } else if (roll < 52) {
    send_again();
    raise_again(run_, ledger_, client_);
  } else if (roll < 55) {
    raise_flag(run_, ledger_, client_);
  } else if (roll < 58) {
    try_to_decide(run_, ledger_, client_);
  } else if (roll < 63) {
    withdraw();
  } else {
    mailbox_.go_on();
  }
}

void Worker::drain() {
  send_again();
  raise_again(run_, ledger_, client_);
  work();
  mailbox_.go_on();
}

bool Worker::is_idle() const {
  return mailbox_.is_empty() && has_raised(ledger_, client_) &&
         std::ranges::none_of(ledger_.answers, [this](const auto& each) {
           return each.second.worker == client_.name() && each.second.fate == Fate::open;
         });
}

bool Worker::on_message(const Mailbox::Item& item) {
  if (string_of(item.message, "message_type") != "task_delegation") {
    return true;
  }
  const std::string id(string_of(item.message, "message_id"));
  if (!ledger_.tasks.contains(id)) {
    return true;  // Of an agent that is not of the cast.
  }
  const Json task = item.message.find("task");
  const Json wants = task.find("requires_hitl");
  const Json threshold = task.find("confidence_threshold");
  to_do_[id] = {.giver = std::string(string_of(item.message, "from_agent")),
                .wants_approval = wants && wants.as_bool() == true,
                .threshold = threshold ? threshold.as_double().value_or(0) : 0};
  return run_.random().chance(500);  // Its answer settles it, too.
}

// Some tasks it answers, some it forgets. What it forgot may come again.
void Worker::work() {
  if (to_do_.empty()) {
    return;
  }
  sim::Random& random = run_.random();
  const auto at = std::next(to_do_.begin(), static_cast<ptrdiff_t>(random.below(to_do_.size())));
  const auto [task, order] = *at;
  const uint64_t roll = random.below(100);
  if (roll < 55) {
    to_do_.erase(at);
    answer(task, order);
  } else if (roll < 80) {
    to_do_.erase(at);
    run_.setting.coverage.count("role", "task forgotten");
  } else if (roll < 85) {
    ask_for_time(task, order);
  }
}

void Worker::answer(const std::string& task, const Order& order) {
  sim::Random& random = run_.random();
  const uint64_t roll = random.below(100);
  const bool is_failure = roll < 25;
  const bool asks_itself = roll >= 85;
  const double confidence = random.chance(500) ? 0.97 : 0.4;
  GivenAnswer given{.id = ledger_.next_id(client_.name(), "answer"),
                    .task = task,
                    .giver = order.giver,
                    .worker = client_.name(),
                    .marker = {},
                    .text = {}};
  given.needs_people =
      !is_failure && (asks_itself || order.wants_approval || confidence < order.threshold);
  std::set<std::string> readers{order.giver};
  if (given.needs_people) {
    readers = {ledger_.approvers.begin(), ledger_.approvers.end()};
  }
  given.marker = run_.new_marker(client_.name(), readers);
  if (given.needs_people) {
    run_.guards[given.marker] = "held";
  }
  lib::JsonWriter out(given.text);
  out.object().key("message_type").text("task_completion").key("message_id").text(given.id);
  out.key("in_reply_to").text(task).key("task_id").text(task);
  out.key("timestamp").time(run_.now()).key("from_agent").text(given.worker);
  out.key("to_agent").text(order.giver);
  out.key("status").text(is_failure ? "failure" : asks_itself ? "requires_approval" : "success");
  out.key("confidence_score").real(confidence);
  out.key("rationale").text(some_words(given.marker, random, 900));
  if (is_failure) {
    out.key("error").object().key("error_type").text("trouble").key("error_message").text("no");
    out.key("is_recoverable").boolean(roll < 15).end_object();
  }
  out.end_object();
  run_.setting.coverage.count("role", is_failure           ? "answers with a failure"
                                      : given.needs_people ? "answers for people"
                                                           : "answers");
  client_.note(text("answers {} with {} {}{}", task, given.id, given.marker,
                    given.needs_people ? ", which needs people" : ""));
  const std::string id = given.id;
  ledger_.answers.emplace(id, std::move(given));
  send(id);
}

void Worker::send(const std::string& id) {
  GivenAnswer& given = ledger_.answers.at(id);
  given.in_flight = true;
  client_.ask({"POST", "/v1/messages", given.text}, [this, id](const Reply& reply) {
    GivenAnswer& answer = ledger_.answers.at(id);
    answer.in_flight = false;
    if (is_unknown(reply)) {
      return;
    }
    const bool is_new = answer.fate == Fate::open;
    if (reply.status == 202 && answer.told_at == 0) {
      answer.fate = Fate::accepted;
      answer.told_at = run_.step;
      answer.told = run_.now();
    } else if (reply.status != 202 && is_new) {
      run_.setting.coverage.count("role", text("answer {}", code_of(reply)));
      answer.fate = Fate::refused;
    }
  });
}

void Worker::send_again() {
  std::vector<std::string> open;
  for (const auto& [id, given] : ledger_.answers) {
    const bool is_open =
        given.fate == Fate::open || (given.fate == Fate::accepted && run_.random().chance(50));
    if (given.worker == client_.name() && is_open && !given.in_flight) {
      open.push_back(id);
    }
  }
  for (const std::string& id : open) {
    run_.setting.coverage.count("role", "answer sent again");
    send(id);
  }
}

void Worker::ask_for_time(const std::string& task, const Order& order) {
  std::string ask;
  lib::JsonWriter out(ask);
  out.object().key("message_type").text("timeout_extension_request");
  out.key("message_id").text(ledger_.next_id(client_.name(), "time"));
  out.key("in_reply_to").text(task).key("timestamp").time(run_.now());
  out.key("from_agent").text(client_.name()).key("to_agent").text(order.giver);
  constexpr int seconds = 10;
  ledger_.tasks.at(task).more.us += base::seconds(seconds).us;
  out.key("requested_seconds").number(seconds).key("reason").text("It takes long.").end_object();
  client_.ask({"POST", "/v1/messages", ask}, [this](const Reply& reply) {
    run_.setting.coverage.count("role", text("more time {}", reply.status));
  });
}

// It would rather say it in other words.
void Worker::withdraw() {
  std::vector<uint64_t> own;
  for (const auto& [id, approval] : ledger_.approvals) {
    if (approval.is_pending() && ledger_.answers.at(approval.answer).worker == client_.name()) {
      own.push_back(id);
    }
  }
  if (own.empty()) {
    return;
  }
  const uint64_t id = run_.random().pick(own);
  AskedApproval& approval = ledger_.approvals.at(id);
  GivenAnswer& given = ledger_.answers.at(approval.answer);
  given.may_be_decided = given.may_be_withdrawn = true;
  const size_t number = approval.decisions.size();
  approval.decisions.push_back({.by = client_.name(), .word = "withdraw"});
  client_.ask({"POST", text("/v1/approvals/{}/decision", id), R"({"decision":"withdraw"})"},
              [this, id, number](const Reply& reply) {
                run_.setting.coverage.count("withdrawal", std::to_string(reply.status));
                if (reply.status == 200) {
                  confirm_decision(run_, ledger_, id, number, reply);
                }
              });
}

}  // namespace parley::edge_sim
