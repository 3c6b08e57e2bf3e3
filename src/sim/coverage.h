// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parley::sim {

// Counts what a run reached, by name ("command send", "fault crash"): a test that cannot reach a
// state proves nothing about it.
class Coverage {
 public:
  void count(std::string_view group, std::string_view name, uint64_t times = 1) {
    counts_[std::string(group).append(" ").append(name)] += times;
  }
  void add(const Coverage& other) {
    for (const auto& [name, times] : other.counts_) {
      counts_[name] += times;
    }
  }
  uint64_t of(const std::string& name) const {
    const auto at = counts_.find(name);
    return at == counts_.end() ? 0 : at->second;
  }
  // The sum over a group: all faults.
  uint64_t sum(std::string_view group) const {
    uint64_t total = 0;
    const std::string prefix = std::string(group) + " ";
    for (const auto& [name, times] : counts_) {
      total += name.starts_with(prefix) ? times : 0;
    }
    return total;
  }
  const std::map<std::string, uint64_t>& all() const { return counts_; }

  // Everything that a good number of seeds must reach.
  static std::vector<std::string> expected();

 private:
  std::map<std::string, uint64_t> counts_;
};

}  // namespace parley::sim
