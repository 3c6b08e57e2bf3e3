// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "sim/model/model.h"

namespace parley::sim {

// What each owner holds in one table, and what went of it for room with the entry at hand.
struct Holdings {
  std::map<std::string, uint64_t> kept;
  std::map<std::string, uint64_t> gone;
};

// What goes for room is of one who holds most: as much as anyone else who holds less than 64, and
// at least half as much as anyone.
void check_fair(Model& model, const Step& step, std::string_view table, const Holdings& holdings);

// Checks the shares of what is open: no principal fills a table that all share, and an open
// escalation stays until it is resolved.
class ShareChecks {
 public:
  explicit ShareChecks(Model& model) : model_(model) {}

  // After all effects. Comes last: what it finds is what was before the next entry.
  void check(const Step& step);

 private:
  using Counts = std::map<std::string, uint64_t>;

  void check_letters(const Step& step);
  void check_escalations(const Step& step);
  void at_most(const Step& step, std::string_view what, const Counts& counts, Counts& before,
               uint64_t places);

  Model& model_;
  Counts topics_;  // By who made them.
  Counts active_;  // Threads with a pending request, by owner.
  Counts escalations_;
  std::set<uint64_t> open_escalations_;
};

}  // namespace parley::sim
