// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/step.h"

namespace parley::sim {

// Someone who is registered, as the model has it.
struct Principal {
  core::PrincipalKind kind = core::PrincipalKind::agent;
  core::Dialect dialect = core::Dialect::flow;
  std::set<std::string> topics;
  uint64_t sent = 0;    // Messages on `day`.
  uint64_t tokens = 0;  // Tokens on `day`.
  int64_t day = 0;
  uint64_t nacks = 0;                   // In a row.
  size_t pressure = 0;                  // The worst level it was told of since it recovered.
  std::array<Time, 3> pressure_told{};  // By level: when it was told last.
  std::vector<std::pair<Time, uint64_t>> caused{};  // Deliveries, by when.
  std::vector<std::pair<Time, uint64_t>> urgent{};  // Critical messages, by when.
  std::vector<std::string> capabilities;
  std::string role;
  core::Webhook webhook;
  std::string status;       // As it said.
  Seq registered;           // By which entry: what is older has its name from another.
  Time heard;               // When it last asked for something.
  Time since;               // From when on its silence counts. Zero: it does not.
  bool silent = false;      // For too long.
  bool unanswered = false;  // It did not answer a request, and was not heard of since.
  std::string missed_by;    // The only one who waited for it then. Empty: several did.

  void miss(const std::string& sender) {
    missed_by = !unanswered || missed_by == sender ? sender : "";
    unanswered = true;
  }
};

// A stream that is open.
struct Stream {
  std::string agent;
  uint32_t window = 0;
  core::ResumeMark after{};  // Its client saw everything up to here.
  core::ResumeMark last{};   // The newest mark that was handed out.
};

}  // namespace parley::sim
