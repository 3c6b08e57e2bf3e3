// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/history.h"

#include <algorithm>

#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

constexpr uint64_t page = 40;

}  // namespace

void History::ask() {
  outboxes_.clear();
  asked_at_ = run_.step;
  for (const auto& agent : run_.agents) {
    ask_page(*agent, 0);
    ask_around(*agent);
  }
}

void History::ask_page(Agent& agent, uint64_t cursor) {
  const std::string from = cursor > 0 ? text("&cursor={}", cursor) : "";
  agent.ask({.target = text("/v1/outbox?limit={}{}", page, from)},
            [this, &agent, cursor](const Reply& reply) {
              // The broker may end an idle connection just when it is used again.
              reply.lost ? ask_page(agent, cursor) : on_page(agent, reply);
            });
}

void History::on_page(Agent& agent, const Reply& reply) {
  Outbox& outbox = outboxes_[agent.name()];
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 200 || !parsed) {
    outbox.told = text("{} {}", reply.status, reply.body);
    return;
  }
  for (const Json message : parsed->find("messages").elements()) {
    for (const std::string& name :
         {std::string(string_of(message, "id")), std::to_string(number_of(message, "seq"))}) {
      Listed& listed = outbox.messages[name];
      listed.sender = string_of(message, "from");
      listed.body.append(listed.times > 0 ? " and " : "").append(message.raw());
      ++listed.times;
    }
  }
  const uint64_t next = number_of(*parsed, "next");
  if (next > 0) {
    ask_page(agent, next);
  } else {
    outbox.is_whole = true;
  }
}

// One conversation that it is in, one trace, and what it said to one other.
void History::ask_around(Agent& agent) {
  std::vector<const Mail*> mail;
  for (const auto& [id, each] : agent.record().mail) {
    if (!each.thread.empty()) {
      mail.push_back(&each);
    }
  }
  const auto ignore = [](const Reply&) {};
  if (!mail.empty()) {
    const Mail& one = *run_.random().pick(mail);
    agent.ask({.target = "/v1/threads/" + percent_encoded(one.thread)}, ignore);
    agent.ask({.target = text("/v1/messages?thread={}&limit=20", percent_encoded(one.thread))},
              ignore);
  }
  const auto traced = std::ranges::find_if(
      agent.record().mail, [](const auto& each) { return !each.second.trace.empty(); });
  if (traced != agent.record().mail.end()) {
    agent.ask({.target = "/v1/traces/" + traced->second.trace}, ignore);
  }
  agent.ask(
      {.target = text("/v1/messages?agent={}&limit=50", run_.random().pick(run_.agents)->name())},
      ignore);
  agent.ask({.target = "/v1/threads?limit=20"}, ignore);
  agent.ask({.target = "/v1/tasks"}, ignore);
  agent.ask({.target = "/v1/agents"}, ignore);
  agent.ask({.target = "/v1/topics"}, ignore);
  agent.ask({.target = "/v1/sessions"}, ignore);
  ask_sessions(agent);
}

// Each session, whether it is in it or not: what is decided there is for those who are.
void History::ask_sessions(Agent& agent) {
  for (const auto& [id, participants] : run_.sessions) {
    const bool is_in = participants.contains(agent.name());
    agent.ask({.target = "/v1/sessions/" + id}, [this, &agent, id, is_in](const Reply& reply) {
      run_.setting.coverage.count(is_in ? "own session" : "other session",
                                  std::to_string(reply.status));
      if (!is_in && !reply.lost && reply.status != 404) {  // As if it did not exist.
        run_.fail("privacy", text("{} is not in {} and is told {} {}", agent.name(), id,
                                  reply.status, reply.body.substr(0, 600)));
      }
    });
  }
}

void History::judge() const {
  for (const auto& agent : run_.agents) {
    const auto at = outboxes_.find(agent->name());
    if (at == outboxes_.end() || !at->second.is_whole) {
      run_.fail("history", text("{} asks for its outbox and is told {}", agent->name(),
                                at == outboxes_.end() ? "nothing" : at->second.told));
      return;
    }
    for (const Sent& sent : agent->record().sent) {
      // A broadcast is fire and forget: it may be gone with the power.
      const bool is_told = sent.fate == Sent::Fate::accepted && !sent.id.empty() && sent.to != "*";
      const auto listed =
          at->second.messages.find(sent.seq > 0 ? std::to_string(sent.seq) : sent.id);
      // The newest page is told first. What the sender was told of before it asked is there; what
      // it sends meanwhile need not be: a question that is asked again (`on_timeout` retry), or a
      // dead letter that is tried again, comes in the midst of it and is answered.
      const bool is_later = sent.told_at > asked_at_;
      // What another sent who had its name before is not its own.
      if (sent.life != agent->record().life) {
        if (is_told && sent.seq > 0 && listed != at->second.messages.end()) {
          run_.fail("privacy", text("{}'s outbox has {}, which one sent who had its name before",
                                    agent->name(), sent.marker));
        }
        continue;
      }
      if (is_told && listed == at->second.messages.end() && is_later) {
        continue;
      }
      if (is_told && listed == at->second.messages.end()) {
        run_.fail("history", text("{} sent {} ({}), which was accepted as {}, and its outbox "
                                  "of {} does not have it",
                                  agent->name(), sent.marker, sent.id, sent.seq,
                                  at->second.messages.size() / 2));
      } else if (is_told && !(listed->second.times == 1 || run_.repeated.contains(sent.marker))) {
        run_.fail("history", text("{}'s outbox has {} {} times: {}", agent->name(), sent.id,
                                  listed->second.times, listed->second.body));
      } else if (is_told && listed->second.sender != agent->name()) {
        run_.fail("history", text("{}'s outbox has {} {} times: {}", agent->name(), sent.id,
                                  listed->second.times, listed->second.body));
      } else if (is_told && sent.kind == "topic" &&
                 agent->profile().role != "orchestrator" &&  // it looks after the topics (FL-24)
                 listed->second.body.find(R"("deliveries":[])") == std::string::npos) {
        run_.fail("privacy", text("{} published {} and its outbox names who subscribes: {}",
                                  agent->name(), sent.id, listed->second.body));
      }
    }
  }
}

}  // namespace parley::edge_sim
