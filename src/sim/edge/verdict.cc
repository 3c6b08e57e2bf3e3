// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/verdict.h"

#include <algorithm>
#include <optional>

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

bool is_open(std::string_view state) {
  return state == "queued" || state == "offered" || state == "read";
}

// What the receiver and those who had its name before know of a message, as one.
std::optional<Mail> find_mail(const Agent& receiver, const std::string& marker) {
  std::optional<Mail> found;
  const auto add = [&](const Mail& mail) {
    if (mail.marker != marker) {
      return;
    }
    if (!found) {
      found = mail;
      return;
    }
    found->ever_acked |= mail.ever_acked || mail.act == Mail::Act::answer;
    found->ever_rejected |= mail.ever_rejected;
    found->may_repeat = true;  // One of them does not know what the other did.
  };
  for (const auto& [id, mail] : receiver.record().mail) {
    add(mail);
  }
  for (const Mail& mail : receiver.record().former) {
    add(mail);
  }
  return found;
}

// The broker's word, not a client's: what waited for a name does not fit the dialect of the one who
// has it now.
bool is_too_large(std::string_view error) {
  return error.find("; its receiver speaks ") != error.npos;
}

bool has_one_receiver(const Sent& sent) {
  return sent.kind == "direct" || sent.kind == "request" || sent.kind == "answer";
}

}  // namespace

void Verdict::ask() {
  std::vector<std::pair<Agent*, Sent>> former;
  for (const auto& agent : run_.agents) {
    for (const Sent& sent : agent->record().sent) {
      if (sent.fate != Sent::Fate::accepted || !(has_one_receiver(sent) || sent.kind == "topic")) {
        continue;
      }
      const auto known = reports_.find(sent.marker);
      const bool is_over = known != reports_.end() && known->second.status == 200 &&
                           !known->second.is_open &&
                           std::ranges::none_of(known->second.standings, [](const Standing& each) {
                             return each.state == "dead";  // The broker tries that again.
                           });
      if (sent.life != agent->record().life) {
        former.emplace_back(agent.get(), sent);
      } else if (!is_over) {
        agent->ask(
            {.target = "/v1/messages/" + sent.id + "/delivery"},
            [this, marker = sent.marker](const Reply& reply) { on_delivery(marker, reply); });
      }
    }
  }
  // Each of these waits for its answer, and meanwhile others send.
  for (const auto& [agent, sent] : former) {
    ask_of_former(*agent, sent);
  }
}

// Another had the name when it was sent: it is for the admin to ask about, and not for this one,
// unless it went to that name: a dead letter that is retried is the mail of who has it then.
void Verdict::ask_of_former(Agent& agent, const Sent& sent) {
  const std::string target = text("/v1/messages/{}/delivery", sent.seq);
  on_delivery(sent.marker, as_admin_({.target = target}));
  const bool is_own_mail = sent.to == agent.name();
  agent.ask({.target = target},
            [this, &agent, marker = sent.marker, is_own_mail](const Reply& reply) {
              run_.setting.coverage.count("former's message", std::to_string(reply.status));
              if (reply.status == 200 && !is_own_mail) {
                run_.fail("privacy",
                          text("{} is told of {}, which one sent who had its name before: {}",
                               agent.name(), marker, reply.body));
              }
            });
}

void Verdict::on_delivery(const std::string& marker, const Reply& reply) {
  Report report{.status = reply.status, .body = reply.body};
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (parsed && reply.status == 200) {
    for (const lib::JsonMember each : parsed->find("states").members()) {
      report.is_open |= is_open(each.key);
    }
    for (const Json each : parsed->find("deliveries").elements()) {
      const Json error = each.find("last_error");
      report.standings.push_back(
          {.receiver = std::string(each.find("receiver").as_string().value_or("")),
           .state = std::string(each.find("state").as_string().value_or("")),
           .error = std::string(error ? error.as_string().value_or("") : ""),
           .attempts = each.find("attempts").as_uint64().value_or(0),
           .step = run_.step});
    }
  }
  reports_[marker] = std::move(report);
}

bool Verdict::is_settled() const {
  const bool settled = std::ranges::all_of(
      reports_, [](const auto& each) { return each.second.status == 200 && !each.second.is_open; });
  return settled && std::ranges::all_of(run_.agents, [](const auto& agent) {
           return agent->is_idle() && agent->jobs().is_over();
         });
}

void Verdict::judge() {
  judge_locks(run_);
  for (const auto& agent : run_.agents) {
    agent->jobs().judge();
    for (const Disorder& disorder : agent->record().disordered) {
      judge_order(*agent, disorder);
    }
  }
  for (const auto& agent : run_.agents) {
    for (const Sent& sent : agent->record().sent) {
      if (run_.fault) {
        return;
      }
      if (sent.fate == Sent::Fate::open) {
        run_.fail("answer", text("{} is never told what became of {}", agent->name(), sent.marker));
      }
      if (sent.fate != Sent::Fate::accepted) {
        continue;
      }
      const auto report = reports_.find(sent.marker);
      if (sent.kind == "topic") {
        judge_topic(*agent, sent);
      } else if (report != reports_.end()) {
        judge(*agent, sent, report->second);
      }
    }
  }
}

// Given up for this receiver, and tried again before it came. A retry begins with attempt 1, so the
// frame does not say so. Where the clock was set, the broker's time may be ahead of the client's.
bool Verdict::was_retried(const Agent& receiver, const Mail& mail) const {
  const std::string came = base::format_time(mail.first);
  return std::ranges::any_of(run_.retried, [&](const RunState::Retried& each) {
    return each.seq == mail.seq && each.receiver == receiver.name() &&
           (each.at <= came || run_.clock_was_set);
  });
}

void Verdict::judge_order(const Agent& receiver, const Disorder& disorder) {
  // What was given up is tried again behind others.
  if (run_.repeated.contains(disorder.mail.marker) || was_retried(receiver, disorder.mail)) {
    return;
  }
  const Agent* const sender = run_.find(disorder.mail.from);
  const auto sent = [sender](const std::string& marker) -> const Sent* {
    if (sender == nullptr) {
      return nullptr;
    }
    const auto at = std::ranges::find(sender->record().sent, marker, &Sent::marker);
    return at == sender->record().sent.end() ? nullptr : &*at;
  };
  const Sent* const older = sent(disorder.mail.marker);
  const Sent* const newer = sent(disorder.newer);
  if (older != nullptr && newer != nullptr) {
    // What waits for room or for a limit is passed by an answer, which has room in a full inbox,
    // and by what another sends who has the name since: the first one's limits do not hold it up.
    const bool waited = older->was_put_off || older->seq == 0;  // 0: nobody was told
    if (waited && (newer->kind == "answer" || newer->life != older->life)) {
      return;
    }
    // What must not wait for one who is away is passed by what may.
    if (waited && older->target.ends_with("=fail") && !newer->target.ends_with("=fail")) {
      return;
    }
  }
  run_.fail("order", disorder.how);
}

void Verdict::judge(const Agent& sender, const Sent& sent, const Report& report) {
  if (report.status != 200) {
    run_.fail("lost",
              text("{} sent {} to {}, which was accepted as {}; asked for its delivery "
                   "it is told {} {}",
                   sender.name(), sent.marker, sent.to, sent.seq, report.status, report.body));
    return;
  }
  for (const Standing& standing : report.standings) {
    if (const Agent* const receiver = run_.find(standing.receiver)) {
      judge(sent, standing, *receiver);
    }
  }
  if (report.standings.empty()) {
    run_.fail("lost", text("{} sent {} to {}: it has no receiver: {}", sender.name(), sent.marker,
                           sent.to, report.body));
  }
}

void Verdict::judge(const Sent& sent, const Standing& standing, const Agent& receiver) {
  const std::optional<Mail> mail = find_mail(receiver, sent.marker);
  const std::string& state = standing.state;
  const auto fail = [&](std::string_view check, std::string_view why) {
    run_.fail(check, text("{} to {} (seq {}) is {} after {} attempts {}: {} (act {}, state {}; "
                          "{})",
                          sent.marker, receiver.name(), sent.seq, state, standing.attempts,
                          standing.error, why, mail ? static_cast<int>(mail->act) : -1,
                          mail ? static_cast<int>(mail->state) : -1, receiver.pending()));
  };
  run_.setting.coverage.count("ended", state);
  const bool may_change = mail && (mail->may_repeat || run_.repeated.contains(sent.marker));
  // What was given up is tried again, and may be settled after its sender was told.
  const bool confirmed = mail && mail->state == Mail::State::confirmed && !may_change &&
                         mail->confirmed_at < standing.step;
  // What one blocks for is acknowledged when the network has it, which may lose it.
  const bool is_unheard = sent.kind == "answer" && run_.cut_off.contains(sent.marker);
  if (is_open(state)) {
    fail("lost", !mail ? "its receiver never saw it" : "its receiver never settles it");
  } else if (state == "expired" && sent.ttl.us == 0 && !run_.clock_was_set &&
             sent.priority != "critical" && run_.now() - sent.asked < base::hours(1)) {
    fail("lost", "its time is not over");
  } else if (!mail) {
    // Reading settles a message of inbox: it may have been read just when its reader was removed.
    if (state != "expired" && state != "dead" && !receiver.record().was_removed && !is_unheard) {
      fail("phantom", "its receiver never saw it");
    }
  } else if (state == "acked" && !mail->ever_acked && mail->act != Mail::Act::answer &&
             !is_unheard && !receiver.record().was_removed) {
    fail("phantom", "its receiver never acknowledged it");
  } else if (state == "rejected" && !mail->ever_rejected &&
             !(receiver.record().was_removed && is_too_large(standing.error))) {
    fail("phantom", "its receiver never rejected it");
  } else if (confirmed && mail->act == Mail::Act::ack && state != "acked" && state != "answered") {
    fail("delivery", "its receiver has the acknowledgement confirmed");
  } else if (confirmed && mail->act == Mail::Act::reject && state != "rejected") {
    fail("delivery", "its receiver has the rejection confirmed");
  }
}

// Whoever was subscribed from before it was sent until after it was accepted gets it.
void Verdict::judge_topic(const Agent& sender, const Sent& sent) {
  if (sent.priority == "critical") {
    return;  // Its time may be over.
  }
  // Its publisher is told how many got it, and what became of the others.
  const auto report = reports_.find(sent.marker);
  const std::string& states = report == reports_.end() ? sent.marker : report->second.body;
  for (const std::string_view end : {R"("dead":)", R"("expired":)", R"("rejected":)"}) {
    if (states.find(end) != states.npos) {
      return;
    }
  }
  for (const auto& agent : run_.agents) {
    const auto at = agent->record().subscribed.find(sent.to);
    if (agent.get() == &sender || at == agent->record().subscribed.end()) {
      continue;
    }
    bool in = false;
    for (const auto& [step, joined] : at->second) {
      in = step < sent.asked_at ? joined : in && (joined || step > sent.told_at);
    }
    if (in && !agent->record().markers_seen.contains(sent.marker)) {
      run_.fail("lost", text("{} published {} on {} as {}; {} subscribes to it and never saw it",
                             sender.name(), sent.marker, sent.to, sent.seq, agent->name()));
    }
  }
}

}  // namespace parley::edge_sim
