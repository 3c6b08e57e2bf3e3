// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/verdict.h"

#include <algorithm>

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

bool is_open(std::string_view state) {
  return state == "queued" || state == "offered" || state == "read";
}

const Mail* find_mail(const Agent& receiver, const std::string& marker) {
  const auto& mail = receiver.notes().mail;
  const auto at =
      std::ranges::find_if(mail, [&](const auto& each) { return each.second.marker == marker; });
  return at == mail.end() ? nullptr : &at->second;
}

bool has_one_receiver(const Sent& sent) {
  return sent.kind == "direct" || sent.kind == "request" || sent.kind == "answer";
}

}  // namespace

void Verdict::ask() {
  for (const auto& agent : stage_.agents) {
    for (const Sent& sent : agent->notes().sent) {
      if (sent.fate != Sent::Fate::accepted || !has_one_receiver(sent)) {
        continue;
      }
      const auto known = told_.find(sent.marker);
      const bool is_over =
          known != told_.end() && known->second.status == 200 &&
          std::ranges::none_of(known->second.standings,
                               [](const Standing& each) { return is_open(each.state); });
      if (!is_over) {
        agent->ask({.target = "/v1/messages/" + sent.id + "/delivery"},
                   [this, marker = sent.marker](const Reply& reply) {
                     on_delivery(marker, reply);
                   });
      }
    }
  }
}

void Verdict::on_delivery(const std::string& marker, const Reply& reply) {
  Told told{.status = reply.status, .body = reply.body};
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (parsed && reply.status == 200) {
    for (const Json each : parsed->find("deliveries").elements()) {
      const Json error = each.find("last_error");
      told.standings.push_back(
          {.receiver = std::string(each.find("receiver").as_string().value_or("")),
           .state = std::string(each.find("state").as_string().value_or("")),
           .error = std::string(error ? error.as_string().value_or("") : ""),
           .attempts = each.find("attempts").as_uint64().value_or(0)});
    }
  }
  told_[marker] = std::move(told);
}

bool Verdict::is_settled() const {
  const bool told = std::ranges::all_of(told_, [](const auto& each) {
    return each.second.status == 200 &&
           std::ranges::none_of(each.second.standings,
                                [](const Standing& one) { return is_open(one.state); });
  });
  return told && std::ranges::all_of(stage_.agents, [](const auto& agent) {
           return agent->is_idle() && agent->undertakings().is_over();
         });
}

void Verdict::judge() {
  judge_locks(stage_);
  for (const auto& agent : stage_.agents) {
    agent->undertakings().judge();
  }
  for (const auto& agent : stage_.agents) {
    for (const Sent& sent : agent->notes().sent) {
      if (stage_.fault) {
        return;
      }
      if (sent.fate == Sent::Fate::open) {
        stage_.fail("answer", text("{} is never told what became of {}", agent->name(),
                                   sent.marker));
      }
      if (sent.fate != Sent::Fate::accepted) {
        continue;
      }
      if (sent.kind == "topic") {
        judge_topic(*agent, sent);
      }
      if (const auto told = told_.find(sent.marker); told != told_.end()) {
        judge(*agent, sent, told->second);
      }
    }
  }
}

void Verdict::judge(const Agent& sender, const Sent& sent, const Told& told) {
  if (told.status != 200) {
    stage_.fail("lost", text("{} sent {} to {}, which was accepted as {}; asked for its delivery "
                             "it is told {} {}",
                             sender.name(), sent.marker, sent.to, sent.seq, told.status,
                             told.body));
    return;
  }
  for (const Standing& standing : told.standings) {
    if (const Agent* const receiver = stage_.find(standing.receiver)) {
      judge(sent, standing, *receiver);
    }
  }
  if (told.standings.empty()) {
    stage_.fail("lost", text("{} sent {} to {}: it has no receiver: {}", sender.name(),
                             sent.marker, sent.to, told.body));
  }
}

void Verdict::judge(const Sent& sent, const Standing& standing, const Agent& receiver) {
  const Mail* const mail = find_mail(receiver, sent.marker);
  const std::string& state = standing.state;
  const auto fail = [&](std::string_view check, std::string_view why) {
    stage_.fail(check, text("{} to {} (seq {}) is {} after {} attempts {}: {}", sent.marker,
                            receiver.name(), sent.seq, state, standing.attempts, standing.error,
                            why));
  };
  stage_.setting.coverage.count("ended", state);
  const bool confirmed = mail != nullptr && mail->state == Mail::State::confirmed;
  if (is_open(state)) {
    fail("lost", mail == nullptr ? "its receiver never saw it" : "its receiver never settles it");
  } else if ((state == "acked" || state == "answered") && mail == nullptr) {
    fail("phantom", "its receiver never saw it");
  } else if (state == "acked" && !mail->ever_acked && mail->act != Mail::Act::answer) {
    fail("phantom", "its receiver never acknowledged it");
  } else if (state == "rejected" && (mail == nullptr || !mail->ever_rejected)) {
    fail("phantom", "its receiver never rejected it");
  } else if (confirmed && mail->act == Mail::Act::ack && state != "acked" && state != "answered") {
    fail("delivery", "its receiver has the acknowledgement confirmed");
  } else if (confirmed && mail->act == Mail::Act::reject && state != "rejected") {
    fail("delivery", "its receiver has the rejection confirmed");
  } else if (state == "expired" && sent.ttl.us == 0 && sent.priority != "critical" &&
             stage_.now() - sent.asked < base::hours(1)) {
    fail("lost", "its time is not over");
  }
}

// Whoever was subscribed from before it was sent until after it was accepted gets it.
void Verdict::judge_topic(const Agent& sender, const Sent& sent) {
  if (sent.priority == "critical") {
    return;  // its time may be over
  }
  for (const auto& agent : stage_.agents) {
    const auto at = agent->notes().subscribed.find(sent.to);
    if (agent.get() == &sender || at == agent->notes().subscribed.end()) {
      continue;
    }
    bool in = false;
    for (const auto& [step, joined] : at->second) {
      in = step < sent.asked_at ? joined : in && (joined || step > sent.told_at);
    }
    if (in && !agent->notes().markers_seen.contains(sent.marker)) {
      stage_.fail("lost", text("{} published {} on {} as {}; {} subscribes to it and never saw it",
                               sender.name(), sent.marker, sent.to, sent.seq, agent->name()));
    }
  }
}

}  // namespace parley::edge_sim
