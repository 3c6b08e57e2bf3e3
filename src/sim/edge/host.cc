// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/host.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "lib/crypto.h"

namespace parley::edge_sim {

namespace {

using base::Error;
namespace fs = std::filesystem;

}  // namespace

// As in `serve`: the server outlives all who post to it.
struct Host::Life {
  std::unique_ptr<PipeServer> server;
  std::unique_ptr<view::Runner> view;
  std::unique_ptr<node::Broker> broker;
  std::unique_ptr<edge::Api> api;
};

Host::Host(sim::Setting& setting, sim::SharedLog& log, std::string directory, Shape shape,
           Bring bring)
    : setting_(setting),
      log_(log),
      directory_(std::move(directory)),
      shape_(std::move(shape)),
      bring_(std::move(bring)),
      journal_(setting, log, 0),
      mcp_key_(lib::random_key()),
      admin_token_(lib::random_token()) {
  journal_.on_save = [](const journal::Snapshot&) {};
}

Host::~Host() = default;

std::expected<void, Error> Host::start() {
  CHECK(!is_up());
  journal_.reopen();
  auto life = std::make_unique<Life>();
  if (auto done = start_view(*life); !done) {
    return done;
  }
  if (auto done = start_broker(*life); !done) {
    return done;
  }
  if (auto done = prepare(*life); !done) {
    return done;
  }
  auto notes =
      edge::mcp::SavedSessions::open(directory_ + "/mcp.sessions", setting_.clock.now(), {});
  if (!notes) {
    return std::unexpected(notes.error());
  }
  edge::Api::Options options;
  options.version = "sim";
  options.view = life->view.get();
  options.mcp_key = mcp_key_;
  options.mcp_sessions = std::move(*notes);
  options.webhooks.send = bring_;
  options.webhooks.poster.reach.allowed.push_back(*net::Network::parse("127.0.0.0/8"));
  life->api = std::make_unique<edge::Api>(*life->broker, setting_.clock, std::move(options));
  life->server = std::make_unique<PipeServer>(shape_.server, *life->api, setting_.clock,
                                              setting_.random, shape_.is_busy);
  life->api->attach(*life->server);
  life_ = std::move(life);
  ++lives_;
  return {};
}

std::expected<void, Error> Host::start_view(Life& life) {
  view::Runner::Options options;
  options.path = directory_ + "/history.db";
  options.read = [this](base::Seq after, base::Seq upto,
                        const view::VisitRecord& visit) -> std::expected<void, Error> {
    for (base::Seq seq = after.next(); seq <= upto; seq = seq.next()) {
      const sim::SharedLog::Record& record = log_.at(seq);
      visit(seq, record.time, record.payload);
    }
    return {};
  };
  options.first = journal_.snapshot_seq();
  options.journal_last = journal_.last();
  options.feed.backlog.bytes_max = shape_.feed_bytes;
  options.feed.now = [this] {
    return view::Feed::TimePoint(std::chrono::microseconds(setting_.clock.now().us));
  };
  options.now = [this] { return setting_.clock.now(); };
  options.post = [&life](std::function<void()> work) { life.server->post(std::move(work)); };
  options.threads = false;
  auto view = view::Runner::start(std::move(options));
  if (!view) {
    return std::unexpected(view.error());
  }
  life.view = std::move(*view);
  return {};
}

std::expected<void, Error> Host::start_broker(Life& life) {
  view::Feed& feed = life.view->feed();
  node::Node::Options options;
  options.origin = static_cast<uint64_t>(setting_.clock.now().us) << 12 | (lives_ & 0xfff);
  options.hash_seed = lib::random_u64();
  options.mailbox = shape_.mailbox;
  options.snapshot_bytes_min = shape_.snapshot_bytes;
  options.records.recent_bytes_max = shape_.fresh_bytes;
  options.tell_after = feed.position();
  options.view_position = [&feed] { return feed.durable(); };
  options.view_full = [&feed](core::WorkspaceId workspace, std::string_view actor) {
    return feed.full_for(workspace, actor);
  };
  options.clock = &setting_.clock;
  auto broker = node::Broker::start(journal_, options);
  if (!broker) {
    return std::unexpected(broker.error());
  }
  life.broker = std::move(*broker);
  life.broker->observe([&feed, &machine = life.broker->machine()](const auto&... told) {
    feed.push(machine, told...);
  });
  return life.broker->step(setting_.clock.now());
}

std::expected<void, Error> Host::ask_now(Life& life, core::Command command) {
  std::optional<core::Outcome> heard;
  life.broker->ask(
      core::workspace_first, core::broker_name, std::move(command),
      [&heard](const core::Outcome& outcome, std::span<const core::Effect>) { heard = outcome; });
  while (!heard) {
    journal_.pass_time();
    if (auto stepped = life.broker->step(setting_.clock.now()); !stepped) {
      return stepped;
    }
  }
  return heard->has_value() ? std::expected<void, Error>{} : std::unexpected(heard->error());
}

// What the configuration says goes through the journal: the admin, and rules that differ.
std::expected<void, Error> Host::prepare(Life& life) {
  const core::Tables& t = life.broker->machine().find(core::workspace_first)->tables();
  if (t.agents.find("admin") == core::none) {
    auto made = ask_now(life, core::Register{.name = "admin",
                                             .kind = core::PrincipalKind::admin,
                                             .token = lib::sha256(admin_token_),
                                             .only_token = true});
    if (!made) {
      return made;
    }
  }
  core::SetRules changes;
  for (const core::RuleInfo& info : core::all_rules()) {
    const auto wanted = shape_.rules.find(std::string(info.name));
    if (wanted != shape_.rules.end() && core::rule_value(t.rules, info) != wanted->second) {
      changes.values.emplace_back(info.name, wanted->second);
    }
  }
  return changes.values.empty() ? std::expected<void, Error>{} : ask_now(life, std::move(changes));
}

void Host::kill() { end(true); }

void Host::lose_power() {
  end(false);
  log_.lose_power();
}

// The files as the process leaves them, not as an orderly end would: SQLite would bring its log
// into the file. Without power also that log is gone, which is synced with each checkpoint only.
void Host::end(bool keeps_unsynced) {
  const std::string path = directory_ + "/history.db";
  const std::string kept = directory_ + "/kept";
  const auto copy = fs::copy_options::overwrite_existing;
  if (life_ != nullptr) {
    fs::copy_file(path, kept, copy);
    const bool has_log = fs::exists(path + "-wal");
    if (has_log) {
      fs::copy_file(path + "-wal", kept + "-wal", copy);
    }
    life_->api.reset();
    life_->broker.reset();
    life_->view.reset();
    life_.reset();
    fs::rename(kept, path);
    fs::remove(path + "-shm");
    fs::remove(path + "-wal");
    if (has_log && keeps_unsynced) {
      fs::rename(kept + "-wal", path + "-wal");
    }
  }
  journal_.crash();
}

void Host::connect(std::shared_ptr<BytePipe> pipe) {
  if (is_up()) {
    life_->server->connect(std::move(pipe));
  } else {
    pipe->server_gone = true;
  }
}

Time Host::turn() { return is_up() ? life_->server->turn() : base::time_max; }

bool Host::work_behind() {
  if (!is_up()) {
    return false;
  }
  const bool folded = life_->view->step();
  return life_->view->questions().step() || folded;
}

bool Host::is_stuck() const {
  return is_up() && life_->broker->node().trouble() &&
         life_->broker->node().trouble()->code != base::Code::storage_full;
}

bool Host::has_work() const {
  return is_up() && (life_->server->has_work() || life_->broker->has_work(setting_.clock.now()));
}

PipeServer& Host::server() { return *life_->server; }
const core::Machine& Host::machine() const { return life_->broker->machine(); }

}  // namespace parley::edge_sim
