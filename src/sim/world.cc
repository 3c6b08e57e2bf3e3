// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>
#include <array>

#include "node/outbox_sender.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

// What must survive a power loss once it was told; written anew, not taken from the node.
bool promises(const core::Command& command) {
  if (const auto* send = std::get_if<core::Send>(&command)) {
    return send->envelope.durability == core::Durability::disk;
  }
  if (const auto* read = std::get_if<core::Read>(&command)) {
    return read->as == core::Dialect::inbox;
  }
  return !std::holds_alternative<core::Tick>(command) &&
         !std::holds_alternative<core::StartNode>(command) &&
         !std::holds_alternative<core::Take>(command) &&
         !std::holds_alternative<core::Extend>(command) &&
         !std::holds_alternative<core::Heartbeat>(command) &&
         !std::holds_alternative<core::StopWaiting>(command) &&
         !std::holds_alternative<core::OpenStream>(command) &&
         !std::holds_alternative<core::CloseStream>(command);
}

// One node with what outlives it, and the outlet that it tells.
class Seat final : public node::Outlet {
 public:
  Seat(int number, Setting& setting, SharedLog& log, Checker& checker, Workload& workload)
      : journal(setting, log, number),
        number_(number),
        setting_(setting),
        checker_(checker),
        workload_(workload) {
    journal.on_save = [this](const journal::Snapshot& snapshot) { checker_.saved(snapshot); };
  }

  void applied(const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects, std::optional<node::Ticket> ticket) override {
    NodeReport report;
    report.node = number_;
    report.seq = entry.seq;
    report.id = entry.id;
    report.promises = promises(entry.command);
    report.ticket = ticket;
    core::Outcome altered = outcome;
    std::vector<NamedEffect> named = named_effects(node->machine(), effects);
    plant_effects(setting_.canary, entry, altered, named);
    report.digest = digest_of(altered, named);
    report.nameless = std::ranges::any_of(named, [](const NamedEffect& effect) {
      const bool has_receiver = effect.kind == NamedEffect::Kind::deliver ||
                                effect.kind == NamedEffect::Kind::mail ||
                                effect.kind == NamedEffect::Kind::settled;
      return has_receiver && effect.receiver.empty();
    });
    checker_.add_report(report);
    if (setting_.canary == Canary::told_twice && entry.seq.n % 20 == 0) {
      checker_.add_report(report);
    }
    workload_.saw(entry, altered, named);
    show_approval(entry, outcome);
    outbox_sender.add(node->machine(), effects);
  }

  void refused(node::Ticket ticket, const Error& error) override {
    checker_.refused(number_, ticket, error);
    if (const auto at = telling.find(ticket); at != telling.end()) {
      outbox_sender.put_off(at->second, setting_.clock.now());
    }
  }

  // People find in their list what waits for them.
  void show_approval(const core::Entry& entry, const core::Outcome& outcome) {
    const core::Workspace* const workspace = node->machine().find(entry.workspace);
    if (!outcome || workspace == nullptr || workspace->tables().approvals.all().empty()) {
      return;
    }
    const core::Approval& newest = workspace->tables().approvals.all().rbegin()->second;
    if (newest.record == entry.seq) {
      workload_.saw_approval(entry.workspace, newest);
    }
  }

  int number() const { return number_; }
  std::string name() const { return text("n{}", number_); }

  FaultyJournal journal;
  std::unique_ptr<node::Node> node;
  uint64_t origin = 0;
  node::OutboxSender outbox_sender{[](const core::OutboxItem&) { return std::string("{}"); }};
  std::map<node::Ticket, node::OutboxSender::Job> telling;

 private:
  int number_;
  Setting& setting_;
  Checker& checker_;
  Workload& workload_;
};

class World {
 public:
  explicit World(const Options& options);
  Result run();

 private:
  void act();
  void start(Seat& seat);
  void crash(Seat& seat);
  void lose_power();
  void ask(Seat& seat, const Ask& ask);
  void step(Seat& seat);
  void send_owed(Seat& seat);
  void move_clock();
  void set_clock();
  void check_time();
  void talk_rubbish(Seat& seat);
  void check_body(Seat& seat, Seq seq);
  void check_bodies(Seat& seat);
  void after_step();
  Seat* some_node();

  void finish();
  void withdraw_approvals();
  void quiesce();
  void drain();
  void choose_rates();

  Options options_;
  Setting setting_;
  Verdict verdict_;
  SharedLog log_;
  Checker checker_;
  Workload workload_;
  std::vector<std::unique_ptr<Seat>> seats_;
  uint64_t next_origin_ = 1'000;
  Time steady_at_;  // When it was last checked that time passes.
  Time time_at_;
  uint64_t jumps_ = 0;
};

World::World(const Options& options)
    : options_(options),
      setting_{.random = Random(options.seed),
               .clock = Clock(Time{1'700'000'000'000'000}),
               .rates = {},
               .canary = options.canary,
               .coverage = {},
               .history = {},
               .verbose = options.verbose},
      log_(setting_),
      checker_(setting_, log_, verdict_),
      workload_(setting_),
      time_at_(setting_.clock.now()) {
  const int nodes = 2 + static_cast<int>(setting_.random.below(2));
  for (int number = 0; number < nodes; ++number) {
    seats_.push_back(std::make_unique<Seat>(number, setting_, log_, checker_, workload_));
  }
}

// Some seeds have no faults but crashes, and some have many. Each kind finds what the other hides.
void World::choose_rates() {
  const uint64_t weather = setting_.random.below(10);
  if (weather == 0) {
    return;
  }
  const uint32_t scale = weather < 7 ? 1 : 3;
  setting_.rates = FaultRates{.refuse = 20 * scale,
                              .fail = 3 * scale,
                              .slow = 80 * scale,
                              .lose = 50 * scale,
                              .lag = 100 * scale,
                              .read_fail = 2 * scale,
                              .save_slow = 500,
                              .save_fail = 30 * scale,
                              .save_bad = 30 * scale};
}

Result World::run() {
  for (const auto& seat : seats_) {
    start(*seat);
  }
  for (const Ask& asked : workload_.opening()) {
    ask(*seats_.front(), asked);
    step(*seats_.front());
  }
  if (options_.seed % 10 == 6) {  // The broker sums up early what it owes.
    ask(*seats_.front(), {core::workspace_first, std::string(core::broker_name),
                          core::SetRules{{{"errands_max", "64"}}}});
    step(*seats_.front());
  }
  after_step();
  choose_rates();
  for (uint32_t n = 0; n < options_.steps && !verdict_.failed(); ++n) {
    act();
    after_step();
  }
  if (!verdict_.failed()) {
    finish();
  }
  Result result;
  result.failure = verdict_.failure();
  result.history.assign(setting_.history.begin(), setting_.history.end());
  result.entries = log_.last().n;
  result.digest = checker_.digest();
  result.coverage = std::move(setting_.coverage);
  return result;
}

void World::act() {
  Random& random = setting_.random;
  const uint64_t roll = random.below(1'000);
  if (roll < 100) {
    move_clock();
    return;
  }
  if (roll < 130 && log_.arrive()) {
    setting_.note("a late batch arrives");
    return;
  }
  if (roll >= 130 && roll < 133) {
    lose_power();
    return;
  }
  Seat* const seat = some_node();
  if (seat == nullptr || roll < 200) {
    for (const auto& down : seats_) {
      if (down->node == nullptr && random.chance(500)) {
        start(*down);
        return;
      }
    }
  }
  if (seat == nullptr) {
    return;
  }
  if (roll < 215) {
    crash(*seat);
  } else if (roll < 235) {
    talk_rubbish(*seat);
  } else if (roll < 450) {
    step(*seat);
  } else {
    for (uint64_t left = 1 + random.below(4); left > 0; --left) {
      ask(*seat, workload_.next(seat->origin));
    }
    if (random.chance(700)) {
      step(*seat);
    }
  }
}

Seat* World::some_node() {
  std::vector<Seat*> up;
  for (const auto& seat : seats_) {
    if (seat->node != nullptr) {
      up.push_back(seat.get());
    }
  }
  return up.empty() ? nullptr : setting_.random.pick(up);
}

void World::start(Seat& seat) {
  seat.journal.reopen();
  checker_.catch_up();
  node::Node::Options options;
  options.name = seat.name();
  options.origin = next_origin_++;
  options.hash_seed = setting_.random.next();
  constexpr std::array<size_t, 3> mailboxes = {4, 64, 65'536};
  options.mailbox.commands_max = setting_.random.pick(mailboxes);
  options.records.recent_bytes_max = setting_.random.chance(500) ? 0 : 2'000;
  constexpr std::array<size_t, 3> snapshots = {2'000, 10'000, 100'000};
  options.snapshot_bytes_min = setting_.random.pick(snapshots);
  if (seat.journal.snapshot_seq().n != 0) {
    setting_.coverage.count("fault", "restart from snapshot");
  }
  const uint32_t read_fail = std::exchange(setting_.rates.read_fail, 0);
  auto started = node::Node::start(seat.journal, seat, options);
  setting_.rates.read_fail = read_fail;
  if (!started) {
    verdict_.fail(Check::snapshot,
                  text("node {} cannot start: {}", seat.number(), started.error().detail));
    return;
  }
  seat.node = std::move(*started);
  seat.origin = seat.node->origin();
  setting_.note(
      text("node {} starts as {} at {}", seat.number(), seat.origin, seat.node->machine().seq().n));
  checker_.started(seat.number(), seat.origin, seat.node->machine());
  seat.outbox_sender =
      node::OutboxSender([](const core::OutboxItem&) { return std::string("{}"); });
  seat.outbox_sender.start(seat.node->machine());
  seat.telling.clear();
  checker_.compare(seat.number(), seat.node->machine(), Check::snapshot);
  check_bodies(seat);
}

void World::crash(Seat& seat) {
  setting_.coverage.count("fault", "crash");
  setting_.note(text("node {} crashes", seat.number()));
  seat.node.reset();
  seat.journal.crash();
  checker_.crashed(seat.number());
}

void World::lose_power() {
  setting_.coverage.count("fault", "power loss");
  checker_.catch_up();
  for (const auto& seat : seats_) {
    if (seat->node != nullptr) {
      crash(*seat);
    }
  }
  const size_t lost = log_.lose_power();
  setting_.coverage.count("fault", "records lost", lost);
  setting_.note(text("power is lost, and {} records", lost));
  checker_.power_lost();
}

void World::ask(Seat& seat, const Ask& ask) {
  const auto ticket = seat.node->submit(ask.workspace, ask.actor, ask.command);
  if (ticket) {
    checker_.submitted(seat.number(), *ticket);
  } else {
    setting_.coverage.count("code", base::info(ticket.error().code).name);
  }
}

// As the front of a broker does it.
void World::send_owed(Seat& seat) {
  if (setting_.canary == Canary::notice_forgotten) {
    return;
  }
  seat.outbox_sender.run(
      seat.node->machine(), setting_.clock.now(),
      [&seat](Seq seq) { return seat.node->records().read(seq); },
      [&](const node::OutboxSender::Job& job, core::Send send) {
        if (setting_.canary == Canary::stage_strays && send.envelope.kind == core::Kind::request) {
          send.envelope.thread = "elsewhere";
        }
        const auto ticket = seat.node->submit(job.workspace, core::broker_name, std::move(send));
        if (ticket) {
          checker_.submitted(seat.number(), *ticket);
          seat.telling[*ticket] = job;
        } else {
          seat.outbox_sender.put_off(job, setting_.clock.now());
        }
      });
}

void World::step(Seat& seat) {
  send_owed(seat);
  const auto stepped = seat.node->step(setting_.clock.now());
  checker_.catch_up();
  if (!stepped) {
    setting_.note(text("node {} gives up: {}", seat.number(), stepped.error().detail));
    crash(seat);
    return;
  }
  checker_.compare(seat.number(), seat.node->machine(), Check::equal);
  check_bodies(seat);
}

void World::check_body(Seat& seat, Seq seq) {
  const auto record = seat.node->records().read(seq);
  if (!record || *record != log_.at(seq).payload) {
    verdict_.fail(Check::body, text("node {} has lost record {}", seat.number(), seq.n));
  }
}

void World::check_bodies(Seat& seat) {
  if (setting_.canary != Canary::none && setting_.canary != Canary::body_lost) {
    return;  // What is fresh may be altered.
  }
  for (const Seq seq : seat.node->machine().live()) {
    check_body(seat, seq);
  }
}

void World::move_clock() {
  Random& random = setting_.random;
  const uint64_t roll = random.below(100);
  const auto ms = [&](uint64_t from, uint64_t span) {
    return base::milliseconds(static_cast<int64_t>(from + random.below(span)));
  };
  base::Duration move = ms(1, 30);
  if (roll < 35) {
    move = ms(100, 2'000);
  } else if (roll < 50) {
    const Time next = checker_.machine().next_deadline();
    move = next == base::time_max ? move : std::max(base::Duration{}, next - setting_.clock.now());
  } else if (roll < 56) {
    move = ms(60'000, 60'000);
  } else if (roll < 58) {
    move = base::hours(static_cast<int64_t>(1 + random.below(30)));
  } else if (roll < 61) {
    setting_.coverage.count("fault", "clock back");
    setting_.clock.set(base::Duration{-ms(1, 400).us});
  } else if (roll < 63) {
    set_clock();
  }
  setting_.clock.advance(move);
  check_time();
}

// Someone sets the machine's clock to another hour, or right again.
void World::set_clock() {
  Random& random = setting_.random;
  const auto by = base::seconds(static_cast<int64_t>(2 + random.below(100'000)));
  switch (random.below(3)) {
    case 0:
      setting_.coverage.count("fault", "clock set forward");
      setting_.clock.set(by);
      break;
    case 1:
      setting_.coverage.count("fault", "clock set back");
      setting_.clock.set(base::Duration{-by.us});
      break;
    default:
      setting_.coverage.count("fault", "clock set right");
      setting_.clock.set_right();
      break;
  }
  setting_.note(text("the clock is set to {}", setting_.clock.wall().us));
}

// Whatever is done to the clock, time passes, and at most a tenth slower than it does.
void World::check_time() {
  const Time steady = setting_.clock.steady();
  const Time now = setting_.clock.now();
  const int64_t passed_us = (steady - steady_at_).us;
  const int64_t counted_us = (now - time_at_).us;
  const bool jumped = setting_.clock.jumps() > jumps_;
  constexpr int64_t step_us = base::PacedClock::step_max.us;
  if (counted_us < passed_us - passed_us / 10 - 1) {
    verdict_.fail(Check::time, text("{} us passed, {} were counted", passed_us, counted_us));
  } else if (counted_us > passed_us + step_us && !jumped) {
    verdict_.fail(Check::time, text("{} us were counted, {} passed", counted_us, passed_us));
  }
  if (jumped) {
    setting_.coverage.count("fault", "clock believed");
  }
  steady_at_ = steady;
  time_at_ = now;
  jumps_ = setting_.clock.jumps();
}

// Bytes that are no command, or nearly one: the decoder refuses them, or reads what they say.
void World::talk_rubbish(Seat& seat) {
  Random& random = setting_.random;
  std::string bytes;
  if (log_.last().n > 0 && random.chance(700)) {
    bytes = log_.at(Seq{1 + random.below(log_.last().n)}).payload;
    for (uint64_t left = 1 + random.below(3); left > 0 && !bytes.empty(); --left) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    bytes.resize(random.chance(200) ? random.below(bytes.size() + 1) : bytes.size());
  } else {
    for (uint64_t left = random.below(200); left > 0; --left) {
      bytes.push_back(static_cast<char>(random.next()));
    }
  }
  const auto entry = core::decode_entry(Seq{1}, Time{}, bytes);
  setting_.coverage.count("rubbish", entry ? "decoded" : "refused");
  if (!entry) {
    return;
  }
  std::string again;
  core::encode(*entry, again);
  if (again != bytes) {
    verdict_.fail(Check::promise, "a record decodes that nothing encodes to");
  }
  // Nobody but a node says these, and it says that it started once and runs what is owed already.
  const auto* const send = std::get_if<core::Send>(&entry->command);
  const bool is_own = std::holds_alternative<core::StartNode>(entry->command) ||
                      (send != nullptr && send->outbox_item != 0);
  ask(seat, Ask{entry->workspace, is_own ? "ghost" : std::string(entry->actor), entry->command});
}

void World::after_step() {
  for (const auto& seat : seats_) {
    seat->journal.pass_time();
  }
  checker_.catch_up();
}

// The faults end; what is owed must come.
void World::finish() {
  setting_.rates = FaultRates{};
  setting_.clock.set_right();
  setting_.note("the faults end");
  while (log_.arrive()) {
  }
  checker_.catch_up();
  for (const auto& seat : seats_) {
    if (seat->node != nullptr && seat->node->trouble()) {
      crash(*seat);
    }
    if (seat->node == nullptr) {
      start(*seat);
    }
  }
  withdraw_approvals();
  quiesce();
  if (!verdict_.failed()) {
    drain();
    quiesce();
  }
  for (const auto& seat : seats_) {
    if (verdict_.failed()) {
      return;
    }
    checker_.check_answered(seat->number());
    check_bodies(*seat);
  }
  if (checker_.unsent_items() > 0) {
    std::string which;
    for (const auto& [id, workspace] : checker_.machine().workspaces()) {
      for (const auto& [number, item] : workspace.tables().outbox.all()) {
        which += text(" {} {} for {}", number, core::outbox_kind_name(item.kind), item.to);
      }
    }
    verdict_.fail(Check::notice,
                  text("{} outbox items are never sent:{}", checker_.unsent_items(), which));
  }
  const auto full = core::Machine::restore(checker_.machine().snapshot());
  if (!full || full->snapshot() != checker_.machine().snapshot()) {
    verdict_.fail(Check::snapshot, "the last state does not restore to itself");
  }
}

// Who asked people takes that back, so that nobody is reminded of it for ever.
void World::withdraw_approvals() {
  std::vector<Ask> asks;
  for (const auto& [id, workspace] : checker_.machine().workspaces()) {
    for (const auto& [number, approval] : workspace.tables().approvals.all()) {
      if (approval.is_open()) {
        asks.push_back(Ask{id, approval.asker,
                           core::DecideApproval{.id = number,
                                                .digest = approval.digest,
                                                .decision = core::ApprovalDecision::withdraw,
                                                .comment = {},
                                                .modification = {}}});
      }
    }
  }
  for (const Ask& asked : asks) {
    ask(*seats_.front(), asked);
    step(*seats_.front());
    if (verdict_.failed() || seats_.front()->node == nullptr) {
      return;
    }
  }
}

void World::quiesce() {
  constexpr int rounds_max = 60;
  for (int round = 0; round < rounds_max && !verdict_.failed(); ++round) {
    bool busy = false;
    for (const auto& seat : seats_) {
      step(*seat);
      if (seat->node == nullptr) {
        verdict_.fail(Check::answer, "a node gave up without a fault");
        return;
      }
      busy |= seat->node->has_work(setting_.clock.now());
      const Time next = seat->outbox_sender.next();
      if (next != base::time_max && setting_.canary != Canary::notice_forgotten) {
        busy = true;
        setting_.clock.advance(std::max(base::Duration{}, next - setting_.clock.now()));
      }
    }
    after_step();
    if (!busy && round > 8) {
      return;
    }
  }
  verdict_.fail(Check::answer, "the nodes do not come to rest");
}

// Everyone reads and acks what is theirs, until nothing is left.
void World::drain() {
  constexpr int rounds_max = 60;
  for (int round = 0; round < rounds_max && checker_.unsettled() > 0; ++round) {
    withdraw_approvals();
    std::vector<Ask> asks;
    for (const auto& [id, workspace] : checker_.machine().workspaces()) {
      const core::Tables& t = workspace.tables();
      for (const auto& [began, session] : t.sessions.all()) {
        if (session.status == core::SessionStatus::paused) {
          asks.push_back(Ask{id, std::string(core::broker_name),
                             core::ChangeSession{session.id, core::SessionAct::resume}});
        }
      }
      t.messages.each_delivery([&](core::DeliveryRef ref, const core::Delivery& delivery) {
        if (core::is_final(delivery.state)) {
          return;
        }
        const std::string& receiver = t.agents[delivery.receiver].name;
        const core::Target target{t.messages.message_of(ref).seq, {}};
        if (delivery.attempts == 0) {
          asks.push_back(Ask{id, receiver, core::Read{target}});
        }
        asks.push_back(Ask{id, receiver, core::Ack{target, {}}});
      });
    }
    for (const Ask& asked : asks) {
      Seat& seat = *seats_[setting_.random.below(seats_.size())];
      ask(seat, asked);
      step(seat);
      if (verdict_.failed() || seat.node == nullptr) {
        return;
      }
    }
    after_step();
  }
  if (checker_.unsettled() > 0) {
    verdict_.fail(Check::settle, text("{} deliveries never settle", checker_.unsettled()));
  }
}

}  // namespace

Result run(const Options& options) { return World(options).run(); }

std::string replay_command(const Options& options) {
  std::string command = text("parley_sim --seed {} --steps {}", options.seed, options.steps);
  for (const CanaryInfo& info : all_canaries()) {
    if (info.canary == options.canary) {
      command += text(" --canary {}", info.name);
    }
  }
  return command;
}

}  // namespace parley::sim
