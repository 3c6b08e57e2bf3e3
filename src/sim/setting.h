// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "sim/canary.h"
#include "sim/clock.h"
#include "sim/coverage.h"
#include "sim/random.h"

namespace parley::sim {

using base::Error;
using base::Seq;
using base::Time;

// How often each fault strikes, in a thousand times that it could.
struct FaultRates {
  uint32_t refuse = 0;
  uint32_t fail = 0;
  uint32_t slow = 0;
  uint32_t lose = 0;
  uint32_t lag = 0;
  uint32_t read_fail = 0;
  uint32_t save_slow = 0;
  uint32_t save_fail = 0;
  uint32_t save_bad = 0;
};

// What the simulated system has in common: its chance, its clock, its faults, its planted bug.
struct Setting {
  Random random;
  Clock clock;
  FaultRates rates;
  Canary canary = Canary::none;
  // A planted bug of another simulation: the record as the broker reads it; nullopt: as it is.
  std::function<std::optional<std::string>(Seq, std::string_view)> plant{};
  Coverage coverage;
  std::deque<std::string> history;  // The newest last.
  bool verbose = false;

  // Keeps a line for those who look for the cause of a failure.
  void note(std::string line);
  bool strikes(uint32_t per_mille) { return per_mille > 0 && random.chance(per_mille); }
};

}  // namespace parley::sim
