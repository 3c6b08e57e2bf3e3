// SPDX-License-Identifier: Apache-2.0
#include "sim/client/admin.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "dialect/dialect.h"
#include "lib/json.h"
#include "lib/json_writer.h"
#include "sim/client/messages.h"
#include "sim/edge/host.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

std::string random_dialect(sim::Random& random) {
  // Flow twice: half of the agents speak it.
  std::vector<std::string_view> dialects = {dialect::find_codec(dialect::default_dialect)->name};
  std::ranges::transform(dialect::codecs(), std::back_inserter(dialects), &dialect::Codec::name);
  return std::string(random.pick(dialects));
}

std::string random_role(std::string_view dialect, sim::Random& random) {
  if (dialect == "inbox") {
    return random.chance(500) ? "director" : "specialist";
  }
  if (dialect == "superprompt") {
    return random.chance(500) ? "orchestrator" : "worker";
  }
  if (dialect == "squad") {
    return "main";
  }
  return dialect == "collab" ? random.chance(300) ? "coordinator" : "worker" : "";
}

std::string registration(const Agent::Profile& profile, bool sets_webhook) {
  std::string body;
  lib::JsonWriter out(body);
  out.object().key("id").text(profile.name).key("dialect").text(profile.dialect);
  if (!profile.role.empty()) {
    out.key("role").text(profile.role);
  }
  if (sets_webhook) {
    out.key("webhook").object().key("url").text("http://127.0.0.1/wake/" + profile.name);
    out.key("rotate_secret").boolean(true).end_object();
  }
  out.key("rotate_token").boolean(true).end_object();
  return body;
}

void Admin::ask(const Ask& ask, CallWire::Done done) {
  if (wire_ == nullptr || wire_->is_over()) {
    wire_ = std::make_unique<CallWire>(run_.connect());
  }
  wire_->ask(ask, run_.host.admin_token(), [this, ask, done](const Reply& reply) {
    run_.hear("*", ask, reply);
    if (run_.setting.verbose) {
      run_.setting.note(text("{} admin: {} {} {} -> {} {}", run_.step, ask.method, ask.target,
                             ask.body, reply.status, reply.body.substr(0, 200)));
    }
    done(reply);
  });
}

void Admin::act() {
  const uint64_t roll = run_.random().below(100);
  if (roll < 50) {
    changes_.push_back({.name = run_.random().pick(run_.agents)->name(), .removes = roll < 15});
  } else {
    change_rules();
  }
}

void Admin::read() {
  if (wire_ != nullptr) {
    wire_->pump(SIZE_MAX);
  }
  if (!changes_.empty() && (wire_ == nullptr || wire_->waiting() == 0)) {
    go_on();
  }
}

// A change whose answer is lost is asked for again: the token that nobody was told ends with that.
void Admin::go_on() {
  Change& change = changes_.front();
  Agent& agent = *run_.find(change.name);
  if (change.removes) {
    agent.leave();
    ask({"DELETE", "/v1/agents/" + change.name}, [this](const Reply& reply) {
      if (reply.status == 200 || reply.status == 404) {
        run_.setting.coverage.count("admin", "agent removed");
        changes_.front().removes = false;
        changes_.front().is_new = true;
      }
    });
    return;
  }
  // Asked for again as it was: a registration that names no role keeps the one before it.
  Agent::Profile profile = change.next.value_or(agent.profile());
  if (change.is_new && profile.way != Agent::Way::mcp && !change.next) {
    // The next one of the name may speak another language.
    const std::string next = random_dialect(run_.random());
    // The names of squad are of squad alone.
    const bool is_squad = profile.dialect == "squad";
    profile.dialect = is_squad || next == "squad" ? profile.dialect : next;
    profile.role = random_role(profile.dialect, run_.random());
    change.next = profile;
  }
  const bool has_webhook = change.is_new && !profile.webhook_secret.empty();
  ask({"POST", "/v1/agents", registration(profile, has_webhook)},
      [this, &agent, profile](const Reply& reply) {
        if (!reply.lost) {
          on_registered(agent, profile, reply);
        }
      });
}

void Admin::on_registered(Agent& agent, Agent::Profile profile, const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status >= 500 || reply.status == too_slow) {
    return;
  }
  if (reply.status != 201 || !parsed) {
    run_.fail("token", text("{} gets no new token: {} {}", agent.name(), reply.status, reply.body));
    return;
  }
  const std::string token(string_of(*parsed, "token"));
  if (const std::string_view secret = string_of(*parsed, "webhook_secret"); !secret.empty()) {
    profile.webhook_secret = secret;
  }
  if (changes_.front().is_new) {
    run_.setting.coverage.count("admin", "agent registered anew");
    agent.begin(std::move(profile), token);
  } else {
    run_.setting.coverage.count("admin", "new token");
    agent.take_token(token);
  }
  changes_.pop_front();
}

void Admin::change_rules() {
  struct Rule {
    std::string_view name;
    std::array<std::string_view, 3> values;  // Quoted as JSON has them.
  };
  static constexpr Rule rules[] = {
      {"flow.lease", {"\"5s\"", "\"1m\"", "\"3m\""}},
      {"collab.lease", {"\"5s\"", "\"1m\"", "\"3m\""}},
      {"inbox.lease", {"\"1m\"", "\"30m\"", "\"10m\""}},
      {"queue_max", {"10", "10000", "50"}},
      {"window_max", {"2", "4096", "16"}},
      {"flow.rate.agent_out_per_min", {"20", "60", "0"}},
      {"flow.rate.pair_per_min", {"5", "30", "0"}},
      {"flow.rate.agent_in_per_min", {"20", "120", "0"}},
      {"thread_messages_max", {"5", "20", "100"}},
  };
  sim::Random& random = run_.random();
  const Rule& rule = rules[random.below(std::size(rules))];
  const std::string_view value = random.pick(rule.values);
  run_.setting.note(text("{} admin: {} = {}", run_.step, rule.name, value));
  ask({"PATCH", "/v1/rules", text(R"({"{}":{}})", rule.name, value)}, [this](const Reply& reply) {
    run_.setting.coverage.count("admin", "rules");
    if (!reply.lost && reply.status != 200 && reply.status < 500 && reply.status != too_slow) {
      run_.fail("rules", text("a rule is not taken: {} {}", reply.status, reply.body));
    }
  });
}

}  // namespace parley::edge_sim
