// SPDX-License-Identifier: Apache-2.0
// The only place that picks concrete classes and joins them to a broker.
#include "app/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/config.h"
#include "app/disk_room.h"
#include "app/posix.h"
#include "app/text/terminal.h"
#include "base/clock/paced_clock.h"
#include "edge/api/api.h"
#include "edge/telemetry/otlp.h"
#include "journal/file/file.h"
#include "lib/crypto.h"
#include "lib/file.h"
#include "lib/json_writer.h"
#include "net/socket_server.h"
#include "node/broker.h"
#include "view/runner.h"

namespace parley::app {

namespace {

using base::Code;

// Batches of this size and more are synced by another thread. Waking that thread, and the loop
// again, takes about as long as making this much of a batch.
constexpr size_t sync_behind_bytes = 256 * 1024;

std::unexpected<Error> cannot_write(const std::string& path) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  return std::unexpected(Error{is_full ? Code::storage_full : Code::storage_failed,
                               "cannot write " + path + ": " + std::strerror(errno),
                               {}});
}

// Writes a file that only its owner can read. After a crash or a loss of power, the file is whole
// with the new text, or as it was before; once this has returned, it has the new text.
std::expected<void, Error> write_private(const std::string& path, const std::string& text) {
  const std::string made = path + ".new";
  // What lies there is of a start that was cut short, or of someone who wants to read along: never
  // written to, nor followed.
  if (::unlink(made.c_str()) != 0 && errno != ENOENT) {
    return cannot_write(path);
  }
  const int file = ::open(made.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    return cannot_write(path);
  }
  const bool written = lib::write_all(file, text) && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::rename(made.c_str(), path.c_str()) != 0) {
    return cannot_write(path);
  }
  // Without this, a loss of power may undo the renaming: a token would be registered and its file
  // gone.
  if (!sync_directory(std::filesystem::path(path).parent_path())) {
    return cannot_write(path);
  }
  return {};
}

// Whoever may write into the directory could put files of its own in the place of the broker's.
// One that is not there yet is made by the journal, for its owner alone.
std::expected<void, Error> check_directory(const std::string& data) {
  struct stat found{};
  if (::stat(data.c_str(), &found) != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return {};
  }
  return std::unexpected(Error{Code::forbidden,
                               "the data directory " + data +
                                   " can be written by other users; run `chmod go-w " + data +
                                   "`, or name another directory with --data",
                               {}});
}

// Carries out one command of the broker's own, before it serves anyone.
std::expected<void, Error> ask_now(node::Broker& broker, base::Clock& clock,
                                   core::Command command) {
  std::optional<core::Outcome> heard;
  broker.ask(
      core::workspace_first, core::broker_name, std::move(command),
      [&heard](const core::Outcome& outcome, std::span<const core::Effect>) { heard = outcome; });
  while (!heard) {
    if (auto stepped = broker.step(clock.now()); !stepped) {
      return stepped;
    }
  }
  return heard->has_value() ? std::expected<void, Error>{} : std::unexpected(heard->error());
}

bool has_admin(const core::Machine& machine) {
  const core::Agents& agents = machine.find(core::workspace_first)->tables().agents;
  const core::AgentRef admin = agents.find("admin");
  return admin != core::none && agents[admin].kind == core::PrincipalKind::admin;
}

// Makes the admin's token at the first start, and at a start without its file: then the old token
// is no longer valid. The file comes first, because a token that is registered but not written down
// would lock everyone out.
std::expected<void, Error> make_admin(node::Broker& broker, base::Clock& clock,
                                      const std::string& data) {
  if (has_admin(broker.machine()) && ::access((data + "/admin.token").c_str(), F_OK) == 0) {
    return {};
  }
  const std::string token = lib::random_token();
  if (auto written = write_private(data + "/admin.token", token + "\n"); !written) {
    return written;
  }
  return ask_now(broker, clock,
                 core::Register{.name = "admin",
                                .kind = core::PrincipalKind::admin,
                                .token = lib::sha256(token),
                                .only_token = true});
}

// Policy values of the configuration go through the journal like every other change.
std::expected<void, Error> set_rules(node::Broker& broker, base::Clock& clock,
                                     const Config& config) {
  const core::Rules& rules = broker.machine().find(core::workspace_first)->tables().rules;
  core::SetRules command;
  for (const core::RuleInfo& info : core::all_rules()) {
    const auto wanted = config.rules.find(std::string(info.name));
    if (wanted != config.rules.end() && core::rule_value(rules, info) != wanted->second) {
      command.values.emplace_back(info.name, wanted->second);
    }
  }
  return command.values.empty() ? std::expected<void, Error>{}
                                : ask_now(broker, clock, std::move(command));
}

// A host as it stands in a URL and in the header Host: an IPv6 address in brackets.
std::string host_of(const std::string& host) {
  return host.find(':') != std::string::npos ? "[" + host + "]" : host;
}

// The URL for clients on this machine. Where the broker listens on all addresses, that is the
// loopback address: one cannot connect to 0.0.0.0, and the broker answers to loopback names.
std::string url_of(const Config& config, uint16_t port) {
  std::string host = config.listen.host;
  if (host == "0.0.0.0") {
    host = "127.0.0.1";
  } else if (host == "::") {
    host = "::1";
  }
  return std::string(config.tls_certificate.empty() ? "http://" : "https://") +
         format_address({host, port});
}

// Waits for SIGTERM or SIGINT on a thread of its own, so that nothing runs inside a handler.
class StopOnSignal {
 public:
  explicit StopOnSignal(net::SocketServer& server) {
    sigset_t signals = wanted();
    thread_ = std::thread([&server, signals] {
      int signal = 0;
      sigwait(&signals, &signal);
      server.stop();
    });
  }
  ~StopOnSignal() {
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  // Called before any thread starts: all of them inherit the blocked signals.
  static void block() {
    sigset_t signals = wanted();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }

 private:
  static sigset_t wanted() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    return signals;
  }

  std::thread thread_;
};

void warn(const std::string& text) { std::fprintf(stderr, "parley: %s\n", text.c_str()); }

void tell_jump(base::Duration by, bool believed) {
  const std::string text = base::format_duration(base::rough(by));
  warn(believed ? "the machine's clock stayed ahead by " + text + ", so the broker's time is set"
                : "the machine's clock was set forward by " + text +
                      "; the broker's time follows if that lasts a minute");
}

void warn_of(const view::History::Report& report, const std::string& path) {
  if (!report.set_aside.empty()) {
    warn("the history could not be used and is now " + report.set_aside +
         "; it is made anew from what the journal has");
  }
  if (report.missing_upto.n > 0) {
    warn("the history " + path + " lacks what happened from entry " +
         std::to_string(report.missing_from.n) + " to " + std::to_string(report.missing_upto.n) +
         ": the journal keeps it no longer");
  }
  if (report.removed > 0) {
    warn(std::to_string(report.removed) +
         " messages were taken out of the history: the journal lost them with the power, before "
         "anyone was told of them");
  }
}

// Null when no collector is configured.
std::unique_ptr<edge::SpanExporter> start_exporter(const Config& config) {
  if (config.otlp_endpoint.empty()) {
    return nullptr;
  }
  edge::SpanExporter::Options options;
  options.endpoint = config.otlp_endpoint;
  for (const std::string& header : config.otlp_headers) {
    const size_t equals = header.find('=');
    options.headers.emplace_back(header.substr(0, equals), header.substr(equals + 1));
  }
  options.trusted_file = config.otlp_ca;
  options.history = config.data + "/history.db";
  options.version = PARLEY_VERSION;
  options.limits = config.otlp;
  return std::make_unique<edge::SpanExporter>(std::move(options));
}

// Null when the history cannot be opened: the broker serves without it, and says so.
std::unique_ptr<view::Runner> start_view(const Config& config, journal::Journal& journal,
                                         view::Feed::Post post, edge::SpanExporter* exporter) {
  view::Runner::Options options;
  options.path = config.data + "/history.db";
  options.directory = config.data + "/journal";
  options.first = journal.snapshot_seq();
  options.journal_last = journal.last();
  options.feed.backlog.bytes_max = config.history_feed_bytes_max;
  options.post = std::move(post);
  options.retention = config.history_keep;
  if (exporter != nullptr) {
    options.folded = [exporter](const view::Facts& facts) { exporter->folded(facts); };
  }
  if (journal.last().n > 0 && !std::filesystem::exists(options.path)) {
    warn("there is no history at " + options.path + "; it is made anew from what the journal has");
  }
  const std::string path = options.path;
  auto view = view::Runner::start(std::move(options));
  if (!view) {
    warn("cannot open the history, so old messages cannot be found: " + view.error().detail);
    return nullptr;
  }
  warn_of((*view)->report(), path);
  return std::move(*view);
}

struct Clocks {
  base::Clock& clock;
  base::Clock& steady;
};

// Starts the broker, and lets it and its view catch up with the journal.
std::expected<std::unique_ptr<node::Broker>, Error> start_broker(const Config& config,
                                                                 journal::FileJournal& journal,
                                                                 DiskRoom& disk,
                                                                 const Clocks& clocks,
                                                                 view::Runner* view) {
  auto& [clock, steady] = clocks;
  node::Node::Options options;
  // A later life of this node has a greater number. Two nodes that start at once differ by chance.
  options.origin = static_cast<uint64_t>(clock.now().us) << 12 | (lib::random_u64() & 0xfff);
  options.hash_seed = lib::random_u64();
  options.steady = &steady;
  options.warn = [](const Error& error) { warn(error.detail); };
  options.clock = &clock;
  options.room_min = config.disk_reserve;
  options.room = [&journal, &disk, view] {
    return disk.left(journal.room(), view == nullptr ? 0 : view->feed().lag().growth_bytes);
  };
  if (view != nullptr) {
    view::Feed& feed = view->feed();
    options.tell_after = feed.position();
    options.view_position = [&feed] { return feed.durable(); };
    options.view_full = [&feed](core::WorkspaceId workspace, std::string_view actor) {
      return feed.full_for(workspace, actor);
    };
  }
  auto broker = node::Broker::start(journal, options);
  if (!broker) {
    return broker;
  }
  if (view != nullptr) {
    (*broker)->observe([&feed = view->feed(), &machine = (*broker)->machine()](
                           const auto&... applied) { feed.push(machine, applied...); });
  }
  // The view gets the entries that it missed.
  do {
    if (auto stepped = (*broker)->step(clock.now()); !stepped) {
      return std::unexpected(stepped.error());
    }
  } while ((*broker)->node().is_behind());
  return broker;
}

edge::Webhooks::Options webhooks(const Config& config) {
  edge::Webhooks::Options options;
  for (const std::string& network : config.webhook_allowed_networks) {
    options.poster.reach.allowed.push_back(*net::Network::parse(network));  // checked before
  }
  options.poster.trusted_file = config.webhook_ca;
  options.poster.timeout = config.webhook.timeout;
  options.limits = config.webhook;
  options.version = PARLEY_VERSION;
  if (config.log_level >= LogLevel::warning) {
    options.warn = [](const std::string& text) { warn(printable(text)); };
  }
  return options;
}

edge::notify::Notifier::Options notifications(const Config& config) {
  const edge::Webhooks::Options like = webhooks(config);
  return {.targets = config.notify,
          .poster = like.poster,
          .limits = like.limits,
          .told_file = config.data + "/notified",
          .version = like.version,
          .warn = like.warn};
}

// Empty root: there is no tree of files.
edge::files::Options files(const Config& config) {
  edge::files::Options options{.limits = config.files};
  if (config.squad_files) {
    options.root =
        config.squad_files_root.empty() ? config.data + "/memory" : config.squad_files_root;
  }
  for (const std::string& sender : config.squad_file_senders) {
    options.senders.push_back(*edge::files::parse_file_sender(sender));  // checked before
  }
  if (config.log_level >= LogLevel::warning) {
    options.warn = [](const std::string& text) { warn(printable(text)); };
  }
  return options;
}

// What is wrong with a target is known as soon as it is read: nobody should find it out by a
// notification that does not come.
std::expected<void, Error> check_notifications(const Config& config) {
  const edge::Reach reach = webhooks(config).poster.reach;
  for (size_t n = 0; n < config.notify.size(); ++n) {
    if (const auto good = reach.check(config.notify[n].url); !good) {
      return std::unexpected(
          Error{Code::bad_rule_value,
                "[[notify]] number " + std::to_string(n + 1) + ": " + good.error().detail,
                {}});
    }
  }
  return {};
}

// The secret of the webhook of GitHub, as it is set or as its file has it. Empty: there is none.
std::expected<std::string, Error> github_secret(const Config& config) {
  constexpr size_t secret_bytes_max = 4'096;
  if (config.github_secret_file.empty()) {
    return config.github_secret;
  }
  std::ifstream file(config.github_secret_file, std::ios::binary);
  std::string text(secret_bytes_max, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  text = text.substr(0, text.find_last_not_of("\r\n") + 1);  // editors end a file with a line
  if (text.empty()) {
    return std::unexpected(Error{Code::bad_request,
                                 "github.secret_file names " + config.github_secret_file +
                                     ", which cannot be read or is empty; write the secret of the "
                                     "webhook into it, for its owner alone",
                                 {}});
  }
  return text;
}

std::expected<edge::events::Options, Error> events(const Config& config) {
  auto secret = github_secret(config);
  if (!secret) {
    return std::unexpected(secret.error());
  }
  edge::events::Options options{.secret = std::move(*secret),
                                .supervisor = config.github_as,
                                .bots = config.github_bots,
                                .body_bytes_max = config.github_body_bytes_max,
                                .tables = config.events};
  if (config.log_level >= LogLevel::warning) {
    options.warn = [](const std::string& text) { warn(printable(text)); };
  }
  return options;
}

double bytes_in(const std::string& directory) {
  double bytes = 0;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(directory, ignored)) {
    const auto size = file.file_size(ignored);
    bytes += ignored ? 0 : static_cast<double>(size);
  }
  return bytes;
}

std::vector<edge::Gauge> gauges(const Config& config, journal::FileJournal& journal,
                                const DiskRoom& disk, const edge::SpanExporter* exporter,
                                base::PacedClock& clock) {
  const auto total = [exporter](uint64_t (edge::SpanExporter::*count)() const) {
    return [exporter, count] {
      return exporter == nullptr ? 0.0 : static_cast<double>((exporter->*count)());
    };
  };
  return {
      {"parley_otlp_spans_total", "Spans that the collector took.",
       total(&edge::SpanExporter::exported)},
      {"parley_otlp_dropped_total", "Messages whose spans the collector did not get.",
       total(&edge::SpanExporter::dropped)},
      {"parley_otlp_failures_total", "Requests that the collector did not take.",
       total(&edge::SpanExporter::failures)},
      {"parley_disk_free_bytes", "What is free on the disk of the data directory.",
       [&disk] { return static_cast<double>(disk.free()); }},
      {"parley_disk_reserve_bytes", "What stays free there: disk.reserve.",
       [bytes = config.disk_reserve] { return static_cast<double>(bytes); }},
      {"parley_journal_bytes", "Size of the journal's files, reserved space included.",
       [directory = config.data + "/journal"] { return bytes_in(directory); }},
      {"parley_journal_written_bytes_total", "Bytes of records that were written.",
       [&journal] { return static_cast<double>(journal.totals().bytes); }},
      {"parley_journal_syncs_total", "Batches of records that were synced.",
       [&journal] { return static_cast<double>(journal.totals().syncs); }},
      {"parley_snapshot_seq", "Place of the newest stored snapshot.",
       [&journal] { return static_cast<double>(journal.snapshot_seq().n); }},
      {"process_start_time_seconds", "When the process started, since 1970.",
       [started = clock.now()] { return static_cast<double>(started.us) / 1e6; }},
      {"parley_clock_ahead_seconds", "How far the journal's time is ahead of the machine's clock.",
       [&clock] { return static_cast<double>(clock.ahead().us) / 1e6; }},
      {"parley_clock_jumps_total", "Times that the machine's clock was set forward, and believed.",
       [&clock] { return static_cast<double>(clock.jumps()); }},
  };
}

// Serves until a signal comes. Meanwhile broker.json tells clients on this machine where to
// connect.
std::expected<void, Error> run(const Config& config, net::SocketServer& server) {
  const std::string url = url_of(config, server.port());
  const std::string path = config.data + "/broker.json";
  std::string text;
  lib::JsonWriter(text)
      .object()
      .key("url")
      .text(url)
      .key("pid")
      .number(int64_t{::getpid()})
      .end_object();
  auto written = write_private(path, text + "\n");
  if (!written && written.error().code == Code::storage_full) {
    // What a former life left there gives a block, and would name the wrong address.
    ::unlink(path.c_str());
    written = write_private(path, text + "\n");
  }
  if (!written && written.error().code != Code::storage_full) {
    return written;
  }
  if (!written) {
    warn(written.error().detail + "; until then clients must be told the address " + url);
  }
  {
    const StopOnSignal stop(server);
    std::printf("ready %s\n", url.c_str());
    std::fflush(stdout);
    server.run();
  }
  ::unlink(path.c_str());
  return {};
}

// The key that MCP sessions are sealed with. It is kept in a file, so that sessions outlive a
// restart.
std::expected<lib::SecretKey, Error> mcp_key(const std::string& data) {
  const std::string path = data + "/mcp.key";
  lib::SecretKey key{};
  std::ifstream file(path, std::ios::binary);
  if (file.read(reinterpret_cast<char*>(key.data()), static_cast<std::streamsize>(key.size()))) {
    return key;
  }
  key = lib::random_key();
  const std::string bytes(reinterpret_cast<const char*>(key.data()), key.size());
  if (auto written = write_private(path, bytes); !written) {
    return std::unexpected(written.error());
  }
  return key;
}

std::expected<void, Error> make_test_agent(node::Broker& broker, base::Clock& clock,
                                           const Config& config, const TestAccess& access) {
  if (!is_loopback(config.listen.host)) {
    return std::unexpected(Error{Code::bad_request,
                                 access.flag + " lets anyone in who can connect: listen on a "
                                               "loopback address, or leave it out",
                                 {}});
  }
  return ask_now(
      broker, clock,
      core::Register{
          .name = access.agent, .token = lib::sha256(lib::random_token()), .only_token = true});
}

// The parts that a broker's process is made of. They are destroyed in reverse order, because a
// later one uses those before it: the threads of the journal and of the view post to the server, so
// the server goes last but for the clocks.
class BrokerProcess {
 public:
  explicit BrokerProcess(const Config& config) : config_(config) { clock_.on_jump = &tell_jump; }

  // Brings the state up: the journal, the view, the broker, and what has to be in the state before
  // the first request.
  std::expected<void, Error> start();
  // Listens, and serves until a signal comes.
  std::expected<void, Error> serve(const TestAccess* access);

 private:
  std::expected<edge::Api::Options, Error> api_options(const TestAccess* access);
  std::expected<void, Error> listen(edge::Api& api);

  const Config& config_;
  DiskRoom disk_{{.data = config_.data, .reserve = config_.disk_reserve}};
  base::SystemClock wall_;
  base::BootClock steady_;
  base::PacedClock clock_{wall_, steady_};
  std::unique_ptr<net::SocketServer> server_;
  std::unique_ptr<journal::FileJournal> journal_;
  std::unique_ptr<edge::SpanExporter> exporter_;  // fed by the view
  std::unique_ptr<view::Runner> view_;
  std::unique_ptr<node::Broker> broker_;
};

std::expected<void, Error> BrokerProcess::start() {
  if (const auto full = disk_.make_room_to_start()) {
    warn(*full);
  }
  auto journal = journal::FileJournal::open(
      {.directory = config_.data + "/journal", .keep_free = config_.disk_reserve}, clock_);
  if (!journal) {
    return std::unexpected(journal.error());
  }
  journal_ = std::move(*journal);
  clock_.not_before(journal_->last_time());
  exporter_ = start_exporter(config_);
  view_ = start_view(
      config_, *journal_, [this](std::function<void()> work) { server_->post(std::move(work)); },
      exporter_.get());
  auto broker = start_broker(config_, *journal_, disk_, {clock_, steady_}, view_.get());
  if (!broker) {
    return std::unexpected(broker.error());
  }
  broker_ = std::move(*broker);
  if (auto made = make_admin(*broker_, clock_, config_.data); !made) {
    return made;
  }
  return set_rules(*broker_, clock_, config_);
}

std::expected<edge::Api::Options, Error> BrokerProcess::api_options(const TestAccess* access) {
  const auto key = mcp_key(config_.data);
  if (!key) {
    return std::unexpected(key.error());
  }
  auto saved = edge::mcp::SavedSessions::open(config_.data + "/mcp.sessions", clock_.now(),
                                              {.life = config_.mcp.session_life});
  if (!saved && !disk_.is_full()) {
    return std::unexpected(saved.error());
  }
  if (!saved) {
    warn(saved.error().detail + "; sessions of MCP that end now can be resumed by nobody");
  }
  if (access != nullptr) {
    if (auto made = make_test_agent(*broker_, clock_, config_, *access); !made) {
      return std::unexpected(made.error());
    }
  }
  if (const auto good = check_notifications(config_); !good) {
    return std::unexpected(good.error());
  }
  auto intake = events(config_);
  if (!intake) {
    return std::unexpected(intake.error());
  }
  std::vector<std::string> hosts = config_.allowed_hosts;
  hosts.push_back(host_of(config_.listen.host));
  edge::Api::Options options{.version = PARLEY_VERSION,
                             .hosts = std::move(hosts),
                             .view = view_.get(),
                             .questions_per_principal_max = config_.history_questions_max,
                             .gauges = gauges(config_, *journal_, disk_, exporter_.get(), clock_),
                             .mcp = config_.mcp,
                             .mcp_key = *key,
                             .mcp_sessions = saved ? std::move(*saved) : nullptr,
                             .webhooks = webhooks(config_),
                             .events = std::move(*intake),
                             .files = files(config_),
                             .notify = notifications(config_)};
  if (access != nullptr) {
    access->add(options);
  }
  return options;
}

std::expected<void, Error> BrokerProcess::listen(edge::Api& api) {
  auto listening = net::SocketServer::listen({.host = config_.listen.host,
                                              .port = config_.listen.port,
                                              .tls_certificate = config_.tls_certificate,
                                              .tls_key = config_.tls_key,
                                              .limits = config_.server,
                                              .clock = &clock_},
                                             api);
  if (!listening) {
    return std::unexpected(listening.error());
  }
  server_ = std::move(*listening);
  api.attach(*server_);
  // The server steps the broker after whatever is posted to it, and so finds the stored batch.
  journal_->sync_behind(sync_behind_bytes, [this] { server_->post([] {}); });
  journal_->fetch_behind([this] { server_->post([] {}); });
  return {};
}

std::expected<void, Error> BrokerProcess::serve(const TestAccess* access) {
  auto options = api_options(access);
  if (!options) {
    return std::unexpected(options.error());
  }
  edge::Api api(*broker_, clock_, std::move(*options));
  if (auto listening = listen(api); !listening) {
    return listening;
  }
  return run(config_, *server_);
}

}  // namespace

std::expected<void, Error> serve(const Config& config, const TestAccess* access) {
  StopOnSignal::block();
  ::umask(077);  // what agents tell each other is for nobody else on the machine
  if (auto safe = check_directory(config.data); !safe) {
    return safe;
  }
  BrokerProcess process(config);
  if (auto started = process.start(); !started) {
    return started;
  }
  return process.serve(access);
}

}  // namespace parley::app
