// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "app/bench/bare.h"
#include "app/bench/broker.h"
#include "app/bench/load.h"
#include "app/bench/stats.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

using Kind = BenchCase::Kind;

// Each case runs in so many parts, in turn with the bare log and the bare echo: what else goes on
// in the machine then hits all of them.
constexpr int rounds = 4;
// Of the time of a case.
constexpr double log_share = 0.5;
constexpr double echo_share = 0.1;
constexpr double warm_up_share = 0.2;

struct Options {
  ClientOptions client;
  bool self = false;
  double seconds = 1;
  std::vector<std::string> cases;
  std::vector<uint32_t> sizes = {256, 1024};
  std::string directory;
};

std::string_view unit_of(Kind kind) {
  switch (kind) {
    case Kind::publish:
    case Kind::end_to_end:
    case Kind::crowd:
      return "messages";
    case Kind::request:
      return "round trips";
    case Kind::fan_out:
      return "deliveries";
  }
  return "";
}

// A name that is whole means that case alone: `publish-1x1` is not `publish-1x1024` too.
bool is_meant(const std::string& wanted, const BenchCase& each) {
  const bool is_whole = std::ranges::count(bench_cases(), wanted, &BenchCase::name) > 0;
  return is_whole ? each.name == wanted : each.name.starts_with(wanted);
}

// The crowd only by its name: it registers 10,000 agents.
bool is_wanted(const Options& options, const BenchCase& each) {
  if (options.cases.empty()) {
    return each.kind != Kind::crowd;
  }
  return std::ranges::any_of(options.cases,
                             [&](const std::string& wanted) { return is_meant(wanted, each); });
}

// Thousands of sockets want as many descriptors; the private broker inherits it.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// Where files are made: on a disk. The usual place for temporary files is often in memory, where a
// sync costs nothing and says nothing.
std::string place_for_files(const Options& options) {
  if (!options.directory.empty()) {
    return options.directory;
  }
  const char* variable = std::getenv("TMPDIR");
  return variable != nullptr && *variable != '\0' ? variable : "/var/tmp";
}

// On standard error, so that the result stays clean; one line, written over where that works.
class Progress {
 public:
  explicit Progress(size_t total) : total_(total), rewrites_(::isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (rewrites_) {
      std::fprintf(stderr, "\r\x1b[K");
    }
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void next(const std::string& what) {
    std::fprintf(stderr, rewrites_ ? "\r\x1b[K[%zu/%zu] %s" : "[%zu/%zu] %s\n", ++at_, total_,
                 what.c_str());
    std::fflush(stderr);
  }

 private:
  size_t total_;
  size_t at_ = 0;
  bool rewrites_;
};

// What all cases share.
struct Bench {
  BrokerAddress address;
  std::string directory;
  double seconds;
  PrivateBroker own;  // if there is one
  BareEcho echo;
};

std::expected<BenchRow, Failure> measure(Bench& bench, const BenchCase& each, uint32_t bytes) {
  BenchRow row;
  row.name = each.name;
  row.unit = unit_of(each.kind);
  row.senders = each.senders;
  row.receivers = each.receivers;
  row.window = each.window;
  row.bytes = bytes;
  row.log_batch = each.window;
  BenchAgents agents(bench.address);
  BenchSockets sockets;
  Load load(agents, sockets, each, bytes);
  const double part = bench.seconds / rounds;
  Measured warm_up;
  auto done = load.set_up();
  if (done) {
    done = load.run(bench.seconds * warm_up_share, warm_up);
  }
  for (int round = 0; round < rounds && done; ++round) {
    done = measure_log(bench.directory, row.log_batch, bytes, part * log_share, row.log);
    if (done) {
      done = bench.echo.measure(bytes, part * echo_share, row.echo);
    }
    if (done) {
      const int64_t before = bench.own.cpu_ns();
      done = load.run(part, row.broker);
      row.cpu_ns += bench.own.cpu_ns() - before;
    }
  }
  if (bench.own.is_running()) {
    agents.abandon();  // they go with it
  }
  if (!done) {
    return std::unexpected(done.error());
  }
  return row;
}

// A broker that holds messages up measures its own limits, and nothing else.
std::expected<void, Failure> check_limits(const BrokerAddress& address) {
  const auto reply = exchange(address, {"GET", "/v1/rules"});
  if (!reply || reply->status != 200) {
    return std::unexpected(reply ? refusal(*reply) : reply.error());
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(reply->body);
  const lib::Json rules = parsed ? parsed->find("rules") : lib::Json();
  std::string bound;
  for (const lib::Json rule : rules ? rules.elements() : lib::Json::Elements()) {
    const std::string name = text_of(rule, "name");
    if (std::ranges::find(bench_limits, name) != bench_limits.end() &&
        text_of(rule, "value") != "0") {
      bound += (bound.empty() ? "" : ", ") + name + " = " + text_of(rule, "value");
    }
  }
  if (bound.empty()) {
    return {};
  }
  return std::unexpected(
      Failure{"RATE_LIMITED", "the broker's limits bind the benchmark's agents: " + bound,
              "Set these rules to 0 while you measure (PATCH /v1/rules), or take --self."});
}

std::expected<BenchReport, Failure> run_cases(const Options& options) {
  Bench bench{.directory = place_for_files(options), .seconds = options.seconds};
  BenchReport report;
  if (options.self) {
    if (auto started = bench.own.start(bench.directory); !started) {
      return std::unexpected(started.error());
    }
    bench.address = bench.own.address();
    bench.directory = bench.own.directory();
    report.idle_rss_bytes = bench.own.rss_bytes();
  } else {
    auto found = find_broker(options.client);
    if (!found) {
      return std::unexpected(found.error());
    }
    bench.address = std::move(*found);
    if (auto free = check_limits(bench.address); !free) {
      return std::unexpected(free.error());
    }
  }
  report.url = bench.address.url;
  report.directory = bench.directory;
  if (auto started = bench.echo.start(); !started) {
    return std::unexpected(started.error());
  }
  std::vector<std::pair<BenchCase, uint32_t>> plan;
  for (const uint32_t bytes : options.sizes) {
    for (const BenchCase& each : bench_cases()) {
      if (is_wanted(options, each)) {
        plan.emplace_back(each, bytes);
      }
    }
  }
  Progress progress(plan.size());
  for (const auto& [each, bytes] : plan) {
    progress.next(each.name + ", " + std::to_string(bytes) + " bytes");
    auto row = measure(bench, each, bytes);
    if (!row) {
      return std::unexpected(row.error());
    }
    report.rows.push_back(std::move(*row));
  }
  return report;
}

int bench(const Options& options) {
  catch_interrupts();
  raise_descriptor_limit();
  const auto report = run_cases(options);
  if (!report) {
    return complain(report.error());
  }
  if (options.client.json) {
    print_json(bench_json(*report));
  } else {
    std::printf("%s", bench_table(*report, wants_colours()).c_str());
  }
  return 0;
}

constexpr const char* details =
    "\nAll over WebSocket, with durable messages of agents that it registers (parley-bench-…)\n"
    "and removes again. A case is named by its numbers:\n"
    "  publish-PxW     P publishers, each W messages ahead of the broker's answers, to a topic "
    "that\n"
    "                  nobody hears: accepting and storing\n"
    "  end-to-end-P:C  publish, deliver, acknowledge; timed to the delivery, counted when the\n"
    "                  acknowledgement is confirmed\n"
    "  request-N       a question and its answer, two messages; N in flight\n"
    "  fan-out-N       one publish to N subscribers, who acknowledge; counts deliveries\n"
    "  crowd-N         publish-8x64 among N agents, up to 1,000 of them connected; only if "
    "named\n\n"
    "LOG is an append of W records of the body's size with one fdatasync; ECHO a round trip over\n"
    "loopback. P50/(SYNC+ECHO) is the median beside one such append and one echo.";

}  // namespace

void add_bench(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand(
      "bench", "Measure a broker beside a bare log and a bare TCP echo, in the same run");
  command->add_flag("--self", options->self,
                    "Start a private broker in a new directory, and remove both at the end");
  command
      ->add_option("--case", options->cases,
                   "Only this case, or those that begin so; may be repeated")
      ->type_name("NAME")
      ->takes_one()
      ->check([](const std::string& text) {
        const bool known = std::ranges::any_of(
            bench_cases(), [&](const BenchCase& each) { return each.name.starts_with(text); });
        return known ? "" : "no case begins with \"" + text + "\"; see the list above";
      });
  command->add_option("--size", options->sizes, "Bytes of a body; may be repeated; 256 and 1024")
      ->type_name("BYTES")
      ->takes_one()
      ->in_range(1u, 65'536u);
  command->add_option("--seconds", options->seconds, "How long each case loads the broker; 1")
      ->type_name("SECONDS")
      ->in_range(0.01, 3600.0);
  command
      ->add_option("--dir", options->directory,
                   "Where the bare log and a private broker write; else TMPDIR, else /var/tmp")
      ->type_name("DIR");
  add_client_options(*command, options->client);
  add_example(*command, "parley bench --self --case publish --seconds 3",
              details + std::string("\n"));
  command->callback([=, &exit_code] { exit_code = bench(*options); });
}

}  // namespace parley::app
