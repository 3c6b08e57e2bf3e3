// SPDX-License-Identifier: Apache-2.0
#include "sim/greed/greed.h"

#include <algorithm>
#include <utility>

#include "edge/principal.h"
#include "sim/client/agent.h"
#include "sim/edge/ground.h"
#include "sim/edge/host.h"
#include "sim/greed/bystander.h"
#include "sim/greed/greedy_client.h"

namespace parley::edge_sim {

namespace {

using sim::text;

// More turns than without greedy agents that an answer may take. Those who ask take turns, so it is
// about as many as there are of them, and none of these knows how much the others ask.
constexpr uint64_t more_turns_max = 12;
// What one principal may have of what is done with, also where there is room for more.
constexpr uint64_t done_with_max = 10'000;
constexpr uint64_t critical_per_min = 20;
constexpr uint64_t bytes_per_min = 1'000'000;

using Attacks = std::vector<AttackInfo>;

// Of most seeds several at a time; of some the one that needs large tables.
Attacks choose(uint64_t seed) {
  constexpr uint64_t hoards_every = 10;
  sim::Random random(seed ^ 0x67726565);
  Attacks chosen;
  for (const AttackInfo& each : all_attacks()) {
    const bool is_hoard = each.attack == Attack::hoard;
    if (seed % hoards_every == 0 ? is_hoard : !is_hoard && random.chance(450)) {
      chosen.push_back(each);
    }
  }
  if (chosen.empty()) {
    chosen.push_back(all_attacks()[seed % (all_attacks().size() - 1)]);
  }
  return chosen;
}

// Tables that greedy agents fill many times in a run, limits that they reach, and no rates.
Shape shape_for(uint64_t seed) {
  const bool is_large = choose(seed).front().attack == Attack::hoard;
  const std::string done_with = is_large ? "30000" : "400";
  Shape shape;
  shape.is_busy = true;
  shape.server.connections_max = 150;
  shape.server.connections_per_principal_max = 40;
  shape.server.waits_per_principal_max = 24;
  shape.server.waits_per_connection_max = 8;
  shape.server.buffered_max = 64 * 1'024;
  shape.server.unread_bytes_per_principal_max = 256 * 1'024;
  shape.server.unauthenticated_bytes_max = 1'024 * 1'024;
  shape.rules = {{"settled_max", done_with},
                 {"threads_max", is_large ? done_with : "100"},
                 {"dead_letters_max", "60"},
                 {"topics_max", "40"},
                 {"topic.retained_max", "10"},
                 {"escalations_max", "20"},
                 {"gathers_max", "20"},
                 {"pipelines_max", "20"},
                 {"queue_max", "300"},
                 {"thread_messages_max", "1000"},
                 {"guard.critical_per_min", std::to_string(critical_per_min)},
                 {"guard.bytes_per_min", std::to_string(is_large ? 0 : bytes_per_min)},
                 {"flow.rate.agent_out_per_min", "0"},
                 {"flow.rate.agent_in_per_min", "0"},
                 {"flow.rate.pair_per_min", "0"},
                 {"flow.rate.topic_per_min", "0"}};
  return shape;
}

// What the bystanders found.
struct Findings {
  std::map<std::string, Facts> facts;     // By bystander.
  std::map<std::string, uint64_t> turns;  // By question: the longest.
};

class GreedyWorld {
 public:
  GreedyWorld(const Options& options, Attacks attacks)
      : options_(options),
        attacks_(std::move(attacks)),
        setting_(setting_of(options)),
        log_(setting_),
        shape_(shape_for(options.seed)),
        host_(setting_, log_, scratch_.path(), shape_,
              [](const edge::Poster::Request&, const edge::Poster::Done&) { return true; }),
        run_{setting_, host_} {}

  void run(Findings& findings);
  // What differs is a fault.
  void compare(const Findings& quiet, const Findings& found);
  Result result() const;

 private:
  void set_up();
  std::string add_agent(const std::string& name);
  Reply call(const Ask& ask, const std::string& token);
  void turn();
  void strike();
  void stop(bool keeps_power);
  void step();
  void resolve_escalations();
  void finish(Findings& findings);
  void check_holdings();
  void check_tables(const GreedyClient& client);
  void check_minute(const GreedyClient& client);
  void at_most(const GreedyClient& client, std::string_view what, uint64_t has, uint64_t most);

  const Options options_;
  const Attacks attacks_;
  Scratch scratch_;
  sim::Setting setting_;
  sim::SharedLog log_;
  const Shape shape_;
  Host host_;
  RunState run_;
  Time began_;
  std::vector<std::unique_ptr<Bystander>> bystanders_;
  std::vector<std::unique_ptr<GreedyClient>> greedy_;
  std::unique_ptr<CallWire> human_;  // Who resolves the escalations of the greedy agents.
};

void GreedyWorld::turn() {
  host_.pass_time();
  host_.turn();
  host_.work_behind();
  for (const auto& each : bystanders_) {
    each->read();
  }
  for (const auto& each : greedy_) {
    each->read();
  }
  if (human_ != nullptr) {
    human_->pump(SIZE_MAX);
  }
  check_holdings();
}

Reply GreedyWorld::call(const Ask& ask, const std::string& token) {
  return ask_and_wait(run_, ask, token, [this] { turn(); });
}

std::string GreedyWorld::add_agent(const std::string& name) {
  const Reply reply = call(
      {"POST", "/v1/agents", text(R"({"id":"{}","dialect":"flow","rotate_token":true})", name)},
      host_.admin_token());
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 201 || !parsed) {
    run_.fail("start", text("no agent: {} {}", reply.status, reply.body));
    return {};
  }
  return std::string(string_of(*parsed, "token"));
}

// The bystanders come first, and so do their names: what they have is the oldest, and would go if
// only age or order decided.
void GreedyWorld::set_up() {
  if (auto started = host_.start(); !started) {
    run_.fail("start", started.error().detail);
    return;
  }
  const std::string tokens[] = {add_agent("b0"), add_agent("b1")};
  const auto asked = [this](const Ask& ask, const std::string& token) { return call(ask, token); };
  for (const size_t n : {0, 1}) {
    bystanders_.push_back(
        std::make_unique<Bystander>(run_, Bystander::Profile{.name = text("b{}", n),
                                                             .token = tokens[n],
                                                             .friend_name = text("b{}", 1 - n),
                                                             .friend_token = tokens[1 - n],
                                                             .admin_token = host_.admin_token()}));
    bystanders_.back()->prepare(asked);
  }
  began_ = run_.now();
  const std::string silent = "g-silent";
  if (!attacks_.empty()) {
    add_agent(silent);
  }
  for (const AttackInfo& each : attacks_) {
    setting_.coverage.count("attack", std::string(each.name));
    const std::string name = text("g-{}", each.name);
    const bool is_stranger = each.attack == Attack::stranger;
    greedy_.push_back(std::make_unique<GreedyClient>(
        run_, GreedyClient::Profile{.name = name,
                                    .token = is_stranger ? "" : add_agent(name),
                                    .attack = each.attack,
                                    .silent = silent,
                                    .threads = {"b0-talk", "b1-talk"}}));
  }
}

void GreedyWorld::stop(bool keeps_power) {
  setting_.note(text("{} the broker {}", run_.step, keeps_power ? "is killed" : "loses power"));
  setting_.coverage.count("fault", keeps_power ? "killed" : "power lost");
  for (const auto& each : greedy_) {
    each->hang_up();
  }
  human_.reset();
  keeps_power ? host_.kill() : host_.lose_power();
}

void GreedyWorld::strike() {
  sim::Random& random = setting_.random;
  const uint64_t roll = random.below(1'000);
  if (roll < 30) {
    setting_.coverage.count("fault", "connection lost");
    random.pick(bystanders_)->lose_connection();
  } else if (roll < 50 && !greedy_.empty()) {
    setting_.coverage.count("fault", "greedy agent hangs up");
    random.pick(greedy_)->hang_up();
  } else if (roll < 65 && host_.is_up()) {
    stop(random.chance(500));
  }
  if (!host_.is_up() && random.chance(500)) {
    if (const auto started = host_.start(); !started) {
      run_.fail("start", started.error().detail);
    }
  }
}

void GreedyWorld::step() {
  ++run_.step;
  setting_.clock.advance(base::milliseconds(static_cast<int64_t>(1 + setting_.random.below(50))));
  strike();
  for (const auto& each : greedy_) {
    each->act();
  }
  for (const auto& each : bystanders_) {
    each->act();
  }
  if (setting_.random.chance(200)) {
    resolve_escalations();
  }
  const uint64_t turns = 1 + setting_.random.below(3);
  for (uint64_t n = 0; n < turns; ++n) {
    turn();
  }
}

// Those of the greedy agents alone: so resolved ones fill the table beside the bystanders', which
// are open and older.
void GreedyWorld::resolve_escalations() {
  if (human_ == nullptr || human_->is_over()) {
    human_ = std::make_unique<CallWire>(run_.connect());
  }
  human_->ask({.target = "/v1/escalations?state=open&limit=1000"}, host_.admin_token(),
              [this](const Reply& reply) {
                lib::JsonDocument document;
                const auto parsed = document.parse(reply.body);
                if (reply.status != 200 || !parsed) {
                  return;
                }
                for (const lib::Json each : parsed->find("escalations").elements()) {
                  if (string_of(each, "agent").starts_with("g-")) {
                    human_->ask({"POST", text("/v1/escalations/{}/resolve", number_of(each, "id")),
                                 R"({"resolution":"stop that"})"},
                                host_.admin_token(), [](const Reply&) {});
                  }
                }
              });
}

// The greedy agents hold what they hold to the end.
void GreedyWorld::finish(Findings& findings) {
  if (!host_.is_up()) {
    if (const auto started = host_.start(); !started) {
      run_.fail("start", text("without a fault: {}", started.error().detail));
      return;
    }
  }
  const auto waits = [](const auto& each) { return each->is_waiting(); };
  constexpr int turns_max = 400;
  for (int n = 0; n < turns_max && std::ranges::any_of(bystanders_, waits); ++n) {
    turn();
    setting_.clock.advance(base::milliseconds(1));
  }
  if (std::ranges::any_of(bystanders_, waits)) {
    run_.fail("turns", "a bystander is never answered");
  }
  for (const auto& each : greedy_) {
    check_minute(*each);
  }
  for (size_t n = 0; n < bystanders_.size() && !run_.fault; ++n) {
    for (const auto& [question, turns] : bystanders_[n]->turns()) {
      findings.turns[question] = std::max(findings.turns[question], turns);
    }
    findings.facts[text("b{}", n)] = bystanders_[n]->look(
        [this](const Ask& ask, const std::string& token) { return call(ask, token); });
  }
}

void GreedyWorld::at_most(const GreedyClient& client, std::string_view what, uint64_t has,
                          uint64_t most) {
  if (has > most) {
    run_.fail("holds", text("{} has {} {}, at most {}", client.name(), has, what, most));
  }
}

void GreedyWorld::check_holdings() {
  if (!host_.is_up()) {
    return;
  }
  const core::Tables& t = host_.machine().find(core::workspace_first)->tables();
  const net::Server::Limits& limits = shape_.server;
  for (const auto& each : greedy_) {
    const bool is_stranger = each->attack() == Attack::stranger;
    const net::Account held = host_.server().held_by(
        is_stranger ? 0 : edge::caller_id(core::workspace_first, t.agents.find(each->name())));
    if (is_stranger) {
      at_most(*each, "bytes", held.unread_bytes + held.unfinished_bytes,
              2 * limits.unauthenticated_bytes_max);
      continue;
    }
    at_most(*each, "calls that wait", held.waits, limits.waits_per_principal_max);
    // Those that are too many are there until they are told so.
    at_most(*each, "connections", held.connections, 2 * limits.connections_per_principal_max);
    at_most(*each, "bytes that it has not read", held.unread_bytes,
            2 * limits.unread_bytes_per_principal_max);
    check_tables(*each);
  }
}

void GreedyWorld::check_tables(const GreedyClient& client) {
  const core::Tables& t = host_.machine().find(core::workspace_first)->tables();
  const auto share = [&t](uint64_t places) { return places * t.rules.share_percent / 100; };
  const auto patterns = std::ranges::count_if(
      t.topics.wildcards().by_pattern(),
      [&](const auto& each) { return each.first.starts_with(client.name() + "."); });
  at_most(client, "topics", t.topics.made_by(client.name()), share(t.rules.topics_max));
  at_most(client, "patterns", static_cast<uint64_t>(patterns), share(t.rules.topics_max));
  at_most(client, "open escalations", t.escalations.open_of(client.name()),
          share(t.rules.escalations_max));
  at_most(client, "settled messages", t.remembered.shares().of(client.name()),
          std::max(share(t.rules.settled_max), done_with_max));
  at_most(client, "threads", t.threads.most_resting(),
          std::max(share(t.rules.threads_max), done_with_max));
}

// A limit by the minute: since the beginning no more was accepted than it allows, and what came in
// since; and one more, with which it is reached.
void GreedyWorld::check_minute(const GreedyClient& client) {
  const auto elapsed = static_cast<uint64_t>((run_.now() - began_).us);
  const bool is_bytes = client.attack() == Attack::bytes;
  const uint64_t per_min = is_bytes ? bytes_per_min : critical_per_min;
  constexpr uint64_t large = 25'000;
  at_most(client, is_bytes ? "bytes accepted" : "critical messages accepted", client.accepted(),
          per_min + per_min * elapsed / 60'000'000 + (is_bytes ? large : 1));
}

void GreedyWorld::compare(const Findings& quiet, const Findings& found) {
  for (const auto& [name, facts] : found.facts) {
    for (const auto& [what, fact] : facts) {
      const Facts& before = quiet.facts.at(name);
      const auto same = before.find(what);
      const std::string told = same == before.end() ? "nothing" : same->second.told;
      if (told != fact.told) {
        run_.fail("kept", text("{} asks for {}: `{}` beside greedy agents, `{}` without: {}", name,
                               what, fact.told, told, fact.answer));
      }
    }
  }
  for (const auto& [question, turns] : found.turns) {
    const auto same = quiet.turns.find(question);
    const uint64_t before = same == quiet.turns.end() ? 0 : same->second;
    setting_.note(text("`{}` takes {} turns, {} without greedy agents", question, turns, before));
    if (turns > before + more_turns_max) {
      run_.fail("turns", text("`{}` takes {} turns beside greedy agents, {} without", question,
                              turns, before));
    }
  }
}

void GreedyWorld::run(Findings& findings) {
  set_up();
  constexpr uint32_t steps_part = 3;  // Each of them is a crowd's.
  for (uint32_t n = 0; n < options_.steps / steps_part && !run_.fault; ++n) {
    step();
  }
  if (!run_.fault) {
    finish(findings);
  }
}

Result GreedyWorld::result() const {
  Result result;
  result.fault = run_.fault;
  result.history.assign(setting_.history.begin(), setting_.history.end());
  result.coverage = setting_.coverage;
  result.entries = log_.last().n;
  return result;
}

}  // namespace

Result run_greedy(const Options& options) {
  Findings quiet;
  GreedyWorld alone(options, {});
  alone.run(quiet);
  if (Result result = alone.result(); result.fault) {
    return result;
  }
  Findings found;
  GreedyWorld crowded(options, choose(options.seed));
  crowded.run(found);
  crowded.compare(quiet, found);
  return crowded.result();
}

}  // namespace parley::edge_sim
