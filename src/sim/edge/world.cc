// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/world.h"

#include <algorithm>

#include "lib/json.h"
#include "sim/client/admin.h"
#include "sim/client/agent.h"
#include "sim/client/messages.h"
#include "sim/edge/ground.h"
#include "sim/edge/history.h"
#include "sim/edge/hooks.h"
#include "sim/edge/host.h"
#include "sim/edge/verdict.h"
#include "sim/greed/greed.h"
#include "sim/roles/cast.h"

namespace parley::edge_sim {

namespace {

using sim::text;

class World {
 public:
  explicit World(const Options& options)
      : options_(options),
        setting_(setting_of(options)),
        log_(setting_),
        host_(setting_, log_, scratch_.path(), shape(),
              [this](edge::Poster::Request request, edge::Poster::Done done) {
                return hooks_.bring(std::move(request), std::move(done));
              }),
        run_{setting_, host_},
        hooks_(run_),
        admin_(run_),
        cast_(run_) {
    run_.ask_as_admin = [this](const Ask& ask, CallWire::Done done) {
      admin_.ask(ask, std::move(done));
    };
  }

  Result run();

 private:
  Shape shape();
  void set_up();
  bool has_cast() const;
  void add_agent(Agent::Profile profile);
  Reply call(const Ask& ask, const std::string& token);
  void step();
  void strike();
  void stop(bool keeps_power);
  void move_clock();
  void turn();
  void read();
  void finish();
  void read_dead_letters();
  void judge_history();
  void judge_leases();
  void judge_rest();
  bool settle();

  const Options options_;
  Scratch scratch_;
  sim::Setting setting_;
  sim::SharedLog log_;
  Host host_;
  RunState run_;
  Hooks hooks_;
  Admin admin_;
  Cast cast_;
  uint64_t started_at_ = 0;  // The step.
};

Shape World::shape() {
  Shape shape;
  shape.snapshot_bytes = setting_.random.chance(500) ? 32 * 1'024 : 256 * 1'024;
  if (setting_.random.chance(250)) {
    setting_.note("small limits");
    shape.server.buffered_max = 64 * 1'024;
    shape.mailbox.commands_max = 16;
    shape.fresh_bytes = 4 * 1'024;
  }
  return shape;
}

Reply World::call(const Ask& ask, const std::string& token) {
  return ask_and_wait(run_, ask, token, [this] { turn(); });
}

// In every fourth seed, because they take their time.
bool World::has_cast() const {
  return options_.seed % 4 == 0 || options_.canary != RoleCanary::none;
}

void World::set_up() {
  run_.keeps_notebooks = has_cast();
  if (auto started = host_.start(); !started) {
    run_.fail("start", started.error().detail);
    return;
  }
  run_.topics = {"build.done", "news.all"};
  sim::Random& random = setting_.random;
  const uint64_t count = 3 + random.below(4);
  for (uint64_t n = 0; n < count && !run_.fault; ++n) {
    Agent::Profile profile{.name = text("a{}", n)};
    profile.dialect = random_dialect(random);
    if (profile.dialect == "squad") {
      profile.name = text("agent:a{}:main", n);
    }
    constexpr Agent::Way ways[] = {Agent::Way::poll, Agent::Way::events, Agent::Way::socket};
    profile.way = ways[random.below(3)];
    profile.role = random_role(profile.dialect, random);
    if (profile.dialect == "inbox") {
      profile.way = random.chance(600) ? Agent::Way::mcp : profile.way;
      profile.era = random.chance(500) ? McpClient::Era::sessions : McpClient::Era::stateless;
    }
    add_agent(std::move(profile));
  }
  if (has_cast() && !run_.fault) {
    cast_.set_up([this](const Ask& ask) { return call(ask, host_.admin_token()); });
  }
}

void World::add_agent(Agent::Profile profile) {
  const bool has_webhook = profile.way == Agent::Way::poll && setting_.random.chance(500);
  const Reply reply =
      call({"POST", "/v1/agents", registration(profile, has_webhook)}, host_.admin_token());
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 201 || !parsed) {
    run_.fail("start", text("no agent: {} {}", reply.status, reply.body));
    return;
  }
  profile.webhook_secret = string_of(*parsed, "webhook_secret");
  constexpr std::string_view ways[] = {"poll", "events", "socket", "mcp"};
  const bool is_stateless =
      profile.way == Agent::Way::mcp && profile.era == McpClient::Era::stateless;
  setting_.coverage.count("client",
                          text("{} {}{}{}", profile.dialect, ways[static_cast<size_t>(profile.way)],
                               is_stateless ? " stateless" : "", has_webhook ? " webhook" : ""));
  run_.agents.push_back(
      std::make_unique<Agent>(run_, std::move(profile), std::string(string_of(*parsed, "token"))));
}

void World::turn() {
  host_.pass_time();
  host_.turn();
  host_.work_behind();
}

void World::move_clock() {
  sim::Random& random = setting_.random;
  const uint64_t roll = random.below(100);
  int64_t ms = static_cast<int64_t>(1 + random.below(100));
  if (roll < 10) {
    ms = static_cast<int64_t>(1'000 + random.below(10'000));
  } else if (roll < 11) {
    ms = static_cast<int64_t>(60'000 + random.below(20'000));
  }
  if (random.chance(2)) {  // Someone sets the clock.
    const bool is_back = random.chance(500);
    run_.clock_was_set = true;
    const auto by = static_cast<int64_t>(random.below(2 * 3'600'000));
    setting_.clock.set(base::milliseconds(is_back ? -by : by));
    setting_.note(text("{} the clock is set by {} ms", run_.step, is_back ? -by : by));
    setting_.coverage.count("fault", is_back ? "clock set back" : "clock set forward");
  }
  setting_.clock.advance(base::milliseconds(ms));
}

void World::strike() {
  sim::Random& random = setting_.random;
  const uint64_t roll = random.below(1'000);
  // Troubles come together: what a start has not made durable yet must stand that.
  const uint64_t power = run_.step < started_at_ + 10 ? 118 : 88;
  if (roll < 60) {
    setting_.coverage.count("fault", "connection lost");
    random.pick(run_.agents)->connections().lose_one();
    cast_.lose_connection();
  } else if (roll < 75) {
    const bool forgets = random.chance(500);
    setting_.coverage.count("fault", forgets ? "client forgets" : "client crashes");
    random.pick(run_.agents)->crash(forgets);
  } else if (roll < 83 && host_.is_up()) {
    setting_.note(text("{} the broker is killed", run_.step));
    setting_.coverage.count("fault", "killed");
    stop(true);
  } else if (roll < power && host_.is_up()) {
    setting_.note(text("{} the power is lost", run_.step));
    setting_.coverage.count("fault", "power lost");
    stop(false);
  } else if (roll < power + 17) {
    admin_.act();
  }
  if (host_.is_stuck()) {
    setting_.note(text("{} the storage failed; the broker is stopped", run_.step));
    stop(true);
  }
  if (!host_.is_up() && random.chance(300)) {
    const auto started = host_.start();
    started_at_ = run_.step;
    setting_.note(
        text("{} the broker starts: {}", run_.step, started ? "up" : started.error().detail));
  }
}

void World::stop(bool keeps_power) {
  hooks_.forget();
  keeps_power ? host_.kill() : host_.lose_power();
}

void World::step() {
  ++run_.step;
  move_clock();
  strike();
  for (const auto& agent : run_.agents) {
    if (setting_.random.chance(250)) {
      agent->act();
    }
  }
  cast_.act();
  const uint64_t turns = 1 + setting_.random.below(3);
  for (uint64_t n = 0; n < turns; ++n) {
    host_.pass_time();
    host_.turn();
    if (setting_.random.chance(500)) {
      host_.work_behind();
    }
    hooks_.pass_time();
    read();
  }
}

// All clients read what came.
void World::read() {
  admin_.read();
  for (const auto& agent : run_.agents) {
    agent->connections().read();
  }
  cast_.read();
}

// Lets all that goes on go on; false when it does not come to rest.
bool World::settle() {
  constexpr int turns_max = 400;
  for (int n = 0; n < turns_max; ++n) {
    ++run_.step;
    const bool behind = host_.work_behind();
    host_.pass_time();
    host_.turn();
    hooks_.pass_time();
    read();
    setting_.clock.advance(base::milliseconds(1));
    if (n > 3 && !behind && !host_.has_work()) {
      return true;
    }
  }
  return false;
}

// The faults end. Everyone reads what there is, until nothing is left.
void World::finish() {
  setting_.note(text("{} the faults end", run_.step));
  setting_.rates = sim::FaultRates{};
  while (log_.arrive()) {
  }
  if (host_.is_stuck()) {
    stop(true);
  }
  if (!host_.is_up()) {
    if (const auto started = host_.start(); !started) {
      run_.fail("start", text("without a fault: {}", started.error().detail));
      return;
    }
  }
  run_.draining = true;
  // Over half an hour: the longest lease, of an answer that nobody was told of, ends within it, and
  // is asked about once more.
  constexpr int rounds_max = 72;
  Verdict verdict(run_, [this](const Ask& ask) { return call(ask, host_.admin_token()); });
  for (int round = 0; round < rounds_max && !run_.fault; ++round) {
    for (const auto& agent : run_.agents) {
      agent->drain();
    }
    cast_.drain();
    if (!settle()) {
      run_.fail("rest", "the broker does not come to rest");
      return;
    }
    setting_.clock.advance(round < 6 ? base::seconds(2) : base::seconds(35));
    if (round >= 8 && round % 4 == 0) {
      verdict.ask();
      for (const auto& agent : run_.agents) {
        agent->jobs().ask();
      }
      settle();
      if (run_.fault || (admin_.is_idle() && verdict.is_settled() && cast_.is_idle())) {
        break;
      }
    }
  }
  if (std::ranges::any_of(run_.agents,
                          [](const auto& agent) { return !agent->record().disordered.empty(); })) {
    read_dead_letters();
  }
  verdict.judge();
  cast_.judge();
  if (!run_.fault) {
    judge_history();
  }
  if (!run_.fault) {
    judge_leases();
  }
  if (!run_.fault) {
    judge_rest();
  }
}

void World::read_dead_letters() {
  const Reply reply = call({.target = "/v1/dead-letters?limit=1000"}, host_.admin_token());
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 200 || !parsed) {
    run_.fail("order", text("the admin asks for the dead letters and is told {} {}", reply.status,
                            reply.body.substr(0, 600)));
    return;
  }
  uint64_t count = 0;
  for (const lib::Json letter : parsed->find("dead_letters").elements()) {
    ++count;
    const lib::Json resolution = letter.find("resolution");
    if (string_of(resolution, "status") == "retried") {
      run_.retried.insert({.seq = number_of(letter, "seq"),
                           .receiver = std::string(string_of(letter, "receiver")),
                           .at = std::string(string_of(resolution, "resolved_at"))});
    }
  }
  if (count != number_of(*parsed, "count") || number_of(*parsed, "dropped") > 0) {
    run_.fail("order", text("of {} dead letters {} are listed, and {} were dropped",
                            number_of(*parsed, "count"), count, number_of(*parsed, "dropped")));
  }
}

void World::judge_history() {
  if (setting_.random.chance(500)) {  // What the engine forgets, the history tells.
    setting_.coverage.count("admin", "engine forgets");
    call({"PATCH", "/v1/rules", R"({"settled_max":2})"}, host_.admin_token());
  }
  History history(run_);
  history.ask();
  constexpr int rounds_max = 20;  // Of pages.
  for (int n = 0; n < rounds_max; ++n) {
    settle();
  }
  history.judge();
}

// Nobody asked for a lock for longer than the run takes to drain: none is held, or waited for.
void World::judge_leases() {
  const Reply reply = call({.target = "/v1/locks"}, host_.admin_token());
  if (reply.status != 200 || !reply.body.starts_with(R"({"count":0,)")) {
    run_.fail("lock", text("all leases are over, and of locks is told {} {}", reply.status,
                           reply.body.substr(0, 600)));
  }
}

// All clients leave: nothing of them is left then.
void World::judge_rest() {
  for (const auto& agent : run_.agents) {
    agent->connections().hang_up();
  }
  admin_.hang_up();
  cast_.hang_up();
  settle();
  setting_.clock.advance(base::minutes(10));  // A call over MCP is kept for its client for a while.
  settle();
  const Reply reply = call({.target = "/metrics"}, host_.admin_token());
  for (const std::string_view name :
       {"parley_connections", "parley_streams", "parley_calls_waiting", "parley_mcp_streams"}) {
    const size_t at = reply.body.find(text("\n{} ", name));
    const std::string value =
        at == std::string::npos
            ? "nothing"
            : reply.body.substr(at + name.size() + 2,
                                reply.body.find('\n', at + 1) - at - name.size() - 2);
    if (value != (name == "parley_connections" ? "1" : "0")) {
      run_.fail("rest", text("everyone is gone, and {} is {}", name, value));
    }
  }
  if (const size_t bytes = host_.server().buffered_bytes(); bytes > 0) {
    run_.fail("rest", text("everyone is gone, and {} bytes wait", bytes));
  }
}

Result World::run() {
  set_up();
  if (!run_.fault) {
    setting_.rates = {.refuse = 4,
                      .fail = 1,
                      .slow = 60,
                      .lose = 5,
                      .lag = 30,
                      .read_fail = 1,
                      .save_slow = 300,
                      .save_fail = 50};
    if (setting_.random.chance(300)) {
      setting_.rates = {};
    }
    for (uint32_t n = 0; n < options_.steps && !run_.fault; ++n) {
      step();
    }
  }
  if (!run_.fault) {
    finish();
  }
  Result result;
  result.fault = run_.fault;
  result.history.assign(setting_.history.begin(), setting_.history.end());
  result.coverage = setting_.coverage;
  result.entries = log_.last().n;
  for (const auto& agent : run_.agents) {
    result.seen += agent->record().markers_seen.size();
    for (const Sent& sent : agent->record().sent) {
      result.messages += sent.fate == Sent::Fate::accepted ? 1 : 0;
    }
  }
  run_.agents.clear();
  admin_.hang_up();
  cast_.hang_up();
  return result;
}

}  // namespace

Result run(const Options& options) {
  return options.greedy ? run_greedy(options) : World(options).run();
}

std::string replay_command(const Options& options) {
  const auto canaries = all_role_canaries();
  const auto at = std::ranges::find(canaries, options.canary, &RoleCanaryInfo::canary);
  return text("parley_sim {} --seed {} --steps {}{}{}", options.greedy ? "--greedy" : "--edge",
              options.seed, options.steps, at == canaries.end() ? "" : " --canary ",
              at == canaries.end() ? "" : at->name);
}

}  // namespace parley::edge_sim
