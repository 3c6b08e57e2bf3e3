// SPDX-License-Identifier: Apache-2.0
// Runs the simulator for one seed or many.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>

#include "sim/edge/world.h"
#include "sim/text.h"
#include "sim/world.h"

namespace {

using namespace parley;

struct Range {
  uint64_t from = 1;
  uint64_t to = 200;
};

std::optional<Range> parse_range(const std::string& text) {
  Range range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.from);
  if (first.ec != std::errc{} || std::string_view(first.ptr, end).substr(0, 2) != "..") {
    return std::nullopt;
  }
  const auto second = std::from_chars(first.ptr + 2, end, range.to);
  if (second.ec != std::errc{} || second.ptr != end || range.to < range.from) {
    return std::nullopt;
  }
  return range;
}

std::optional<sim::Canary> parse_canary(const std::string& name) {
  for (const sim::CanaryInfo& info : sim::all_canaries()) {
    if (info.name == name) {
      return info.canary;
    }
  }
  return name.empty() ? std::optional(sim::Canary::none) : std::nullopt;
}

// Of those that are planted beside the edges.
edge_sim::RoleCanary find_role_canary(const std::string& name) {
  const auto all = edge_sim::all_role_canaries();
  const auto at = std::ranges::find(all, name, &edge_sim::RoleCanaryInfo::name);
  return at == all.end() ? edge_sim::RoleCanary::none : at->canary;
}

// What a run that failed ends with.
struct Report {
  uint64_t seed = 0;
  std::string_view check;
  std::string_view detail;
  std::string replay;
  size_t lines_max = 0;  // Of the history: 0 where it was printed as it happened.
};

void print(const Report& report, const std::vector<std::string>& history) {
  std::cout << "seed " << report.seed << " fails the check `" << report.check
            << "`: " << report.detail << '\n';
  for (size_t n = history.size() - std::min(history.size(), report.lines_max); n < history.size();
       ++n) {
    std::cout << "  " << history[n] << '\n';
  }
  std::cout << "replay: " << report.replay << std::endl;
}

int run_edge(const Range& range, edge_sim::Options options, uint64_t failures_max) {
  sim::Coverage coverage;
  uint64_t entries = 0;
  uint64_t messages = 0;
  uint64_t seen = 0;
  uint64_t failures = 0;
  uint64_t seeds = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t seed = range.from; seed <= range.to && failures < failures_max; ++seed) {
    options.seed = seed;
    ++seeds;
    const edge_sim::Result result = edge_sim::run(options);
    coverage.add(result.coverage);
    entries += result.entries;
    messages += result.messages;
    seen += result.seen;
    if (result.fault) {
      print({.seed = seed,
             .check = result.fault->check,
             .detail = result.fault->detail,
             .replay = edge_sim::replay_command(options),
             .lines_max = options.verbose ? size_t{0} : 40},
            result.history);
      ++failures;
    }
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  std::cout << sim::text(
      "{} edge seeds of {} steps: {} entries, {} messages, {} seen, {} faults, {} failures; "
      "{} ms\n",
      seeds, options.steps, entries, messages, seen, coverage.sum("fault"), failures,
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  if (options.verbose) {
    for (const auto& [name, times] : coverage.all()) {
      std::cout << times << ' ' << name << '\n';
    }
  }
  return failures == 0 ? 0 : 1;
}

int run_all(const Range& range, sim::Options options, uint64_t failures_max, bool digests) {
  sim::Coverage coverage;
  uint64_t entries = 0;
  const auto begin = std::chrono::steady_clock::now();
  uint64_t failures = 0;
  uint64_t seeds = 0;
  for (uint64_t seed = range.from; seed <= range.to && failures < failures_max; ++seed) {
    options.seed = seed;
    ++seeds;
    const sim::Result result = sim::run(options);
    coverage.add(result.coverage);
    entries += result.entries;
    if (digests) {
      std::cout << sim::text("digest of {}: {}\n", seed, result.digest);
    }
    if (result.failure) {
      print({.seed = seed,
             .check = sim::check_name(result.failure->check),
             .detail = result.failure->detail,
             .replay = sim::replay_command(options),
             .lines_max = options.verbose ? size_t{0} : 30},
            result.history);
      ++failures;
    }
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  std::cout << sim::text(
      "{} seeds of {} steps: {} entries, {} messages, {} deliveries, {} faults, "
      "{} failures; {} ms, {} entries/s\n",
      seeds, options.steps, entries, coverage.of("done send"), coverage.of("effect deliver"),
      coverage.sum("fault"), failures, ms,
      entries * 1'000 / static_cast<uint64_t>(std::max<int64_t>(ms, 1)));
  for (const std::string& name : sim::Coverage::expected()) {
    if (coverage.of(name) == 0 && seeds >= 100) {
      std::cout << "never reached: " << name << '\n';
    }
  }
  if (options.verbose) {
    for (const auto& [name, times] : coverage.all()) {
      std::cout << times << ' ' << name << '\n';
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The whole of Parley in one thread from one seed, with faults and checks.");
  std::string seeds = "1..200";
  std::string canary;
  uint64_t seed = 0;
  uint64_t steps = 0;
  bool edge = false;
  bool greedy = false;
  bool digests = false;
  uint64_t failures_max = 5;
  sim::Options options;
  app.add_option("--seeds", seeds, "FROM..TO");
  app.add_option("--seed", seed, "one seed");
  app.add_option("--steps", steps, "steps of one run");
  app.add_flag("--edge", edge, "with the edges: clients at the bytes; what they recorded decides");
  app.add_flag("--greedy", greedy, "the edges, with agents that take all they can get");
  app.add_option("--failures", failures_max, "stop after so many");
  app.add_flag("--digests", digests,
               "print one of each seed: a change of form leaves them as they are");
  app.add_option("--canary", canary, "plant a bug that the checks must catch");
  app.add_flag("--verbose", options.verbose, "print every entry and fault");
  CLI11_PARSE(app, argc, argv);
  const auto range = seed != 0 ? std::optional(Range{seed, seed}) : parse_range(seeds);
  const edge_sim::RoleCanary role_canary = find_role_canary(canary);
  const bool is_of_roles = role_canary != edge_sim::RoleCanary::none;
  const auto planted = is_of_roles ? std::optional(sim::Canary::none) : parse_canary(canary);
  edge = edge || greedy;
  if (!range) {
    std::cerr << "--seeds wants FROM..TO, such as 1..200; \"" << seeds << "\" is not\n";
    return 2;
  }
  if (!planted) {
    std::cerr << "there is no canary \"" << canary << "\"; there are:";
    for (const sim::CanaryInfo& info : sim::all_canaries()) {
      std::cerr << ' ' << info.name;
    }
    std::cerr << "; with --edge:";
    for (const edge_sim::RoleCanaryInfo& info : edge_sim::all_role_canaries()) {
      std::cerr << ' ' << info.name;
    }
    std::cerr << '\n';
    return 2;
  }
  if (is_of_roles && (!edge || greedy)) {
    std::cerr << canary << " is planted beside the edges: add --edge, and leave out --greedy\n";
    return 2;
  }
  if (edge && *planted != sim::Canary::none) {
    std::cerr << "--canary plants its bug in the core's simulator: leave out --edge. Defects that "
                 "the edges must catch are planted by tools/planted\n";
    return 2;
  }
  if (edge && digests) {
    std::cerr << "--digests are of the core's simulator: leave out --edge\n";
    return 2;
  }
  if (edge) {
    edge_sim::Options edge_options{
        .verbose = options.verbose, .greedy = greedy, .canary = role_canary};
    edge_options.steps = steps > 0 ? static_cast<uint32_t>(steps) : edge_options.steps;
    return run_edge(*range, edge_options, failures_max);
  }
  options.steps = steps > 0 ? static_cast<uint32_t>(steps) : options.steps;
  options.canary = *planted;
  return run_all(*range, options, failures_max, digests);
}
