// SPDX-License-Identifier: Apache-2.0
// The only place that picks concrete classes and joins them.
#include "app/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/commands.h"
#include "app/config.h"
#include "edge/api.h"
#include "journal/file.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"
#include "node/broker.h"

namespace parley::app {

namespace {

using base::Code;

std::unexpected<Error> cannot_write(const std::string& path) {
  return std::unexpected(
      Error{Code::storage_failed, "cannot write " + path + ": " + std::strerror(errno), {}});
}

// Whole and durable, or not at all; readable by the owner only.
std::expected<void, Error> write_private(const std::string& path, const std::string& text) {
  const std::string made = path + ".new";
  const int file = ::open(made.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    return cannot_write(path);
  }
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file) == 0;
  ::close(file);
  if (!written || ::rename(made.c_str(), path.c_str()) != 0) {
    return cannot_write(path);
  }
  return {};
}

// One command of the broker's own, before it serves anyone.
std::expected<void, Error> ask_now(node::Broker& broker, base::Clock& clock,
                                   core::Command command) {
  std::optional<core::Outcome> heard;
  broker.ask(core::workspace_first, core::broker_name, std::move(command),
             [&heard](const core::Outcome& outcome, std::span<const core::Effect>) {
               heard = outcome;
             });
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

// The first start makes the admin's token. The file comes first: a token that is registered but
// not written down would lock everyone out.
std::expected<void, Error> make_admin(node::Broker& broker, base::Clock& clock,
                                      const std::string& data) {
  if (has_admin(broker.machine())) {
    return {};
  }
  const std::string token = lib::random_token();
  if (auto written = write_private(data + "/admin.token", token + "\n"); !written) {
    return written;
  }
  return ask_now(broker, clock,
                 core::Register{.name = "admin",
                                .kind = core::PrincipalKind::admin,
                                .token = lib::sha256(token)});
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

// As it stands in a URL and in Host.
std::string host_of(const Config& config) {
  const bool is_v6 = config.listen.host.find(':') != std::string::npos;
  return is_v6 ? "[" + config.listen.host + "]" : config.listen.host;
}

std::string url_of(const Config& config, uint16_t port) {
  return std::string(config.tls_certificate.empty() ? "http://" : "https://") + host_of(config) +
         ":" + std::to_string(port);
}

// Waits for SIGTERM or SIGINT on a thread of its own, so that nothing runs inside a handler.
class StopOnSignal {
 public:
  explicit StopOnSignal(net::Server& server) {
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

  // Before any thread starts: all of them inherit it.
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

std::expected<void, Error> check(const Config& config) {
  if (!is_loopback(config.listen.host) && config.tls_certificate.empty() && !config.insecure) {
    return std::unexpected(Error{
        Code::bad_request,
        "listening on " + config.listen.host +
            " without TLS would send tokens in the clear; give tls.certificate and tls.key, listen "
            "on 127.0.0.1, or say --insecure",
        {}});
  }
  return {};
}

std::expected<void, Error> serve(const Config& config) {
  if (auto good = check(config); !good) {
    return good;
  }
  StopOnSignal::block();
  base::SystemClock clock;
  auto journal = journal::FileJournal::open({.directory = config.data + "/journal"}, clock);
  if (!journal) {
    return std::unexpected(journal.error());
  }
  node::Node::Options options;
  // Later lives have greater ones; two nodes that start at once differ by chance.
  options.origin = static_cast<uint64_t>(clock.now().us) << 12 | (lib::random_u64() & 0xfff);
  options.hash_seed = lib::random_u64();
  auto broker = node::Broker::start(**journal, options);
  if (!broker) {
    return std::unexpected(broker.error());
  }
  if (auto made = make_admin(**broker, clock, config.data); !made) {
    return made;
  }
  if (auto set = set_rules(**broker, clock, config); !set) {
    return set;
  }
  std::vector<std::string> hosts = config.allowed_hosts;
  hosts.push_back(host_of(config));
  edge::Api api(**broker, clock, {.version = PARLEY_VERSION, .hosts = std::move(hosts)});
  auto server = net::Server::listen({.host = config.listen.host,
                                     .port = config.listen.port,
                                     .tls_certificate = config.tls_certificate,
                                     .tls_key = config.tls_key,
                                     .limits = config.server},
                                    api);
  if (!server) {
    return std::unexpected(server.error());
  }
  api.attach(**server);
  const std::string url = url_of(config, (*server)->port());
  const std::string place = config.data + "/broker.json";
  std::string text;
  lib::JsonWriter(text).object().key("url").text(url).key("pid").number(int64_t{::getpid()})
      .end_object();
  if (auto written = write_private(place, text + "\n"); !written) {
    return written;
  }
  {
    const StopOnSignal stop(**server);
    std::printf("ready %s\n", url.c_str());
    std::fflush(stdout);
    (*server)->run();
  }
  ::unlink(place.c_str());
  return {};
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("serve", "Run the broker");
  auto flags = std::make_shared<ConfigFlags>();
  flags->add_to(*command);
  add_example(*command, "parley serve --data ./data --listen 127.0.0.1:7455");
  command->callback([flags, &exit_code] {
    const auto config = load_config(flags->sources());
    const auto served =
        config ? serve(*config) : std::expected<void, Error>(std::unexpected(config.error()));
    if (!served) {
      std::fprintf(stderr, "parley: %s\n", served.error().detail.c_str());
      exit_code = 1;
    }
  });
}

}  // namespace parley::app
