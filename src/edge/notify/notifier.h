// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/machine.h"
#include "edge/notify/settings.h"
#include "edge/notify/templates.h"
#include "edge/notify/told.h"
#include "edge/waits.h"
#include "edge/webhooks/limits.h"
#include "edge/webhooks/poster.h"

namespace parley::edge::notify {

// Tells places outside that people are wanted: of each escalation and each approval of the first
// workspace once, as long as it is open. One request at a time for a target, in the order in which
// they came; what fails is tried again with pauses that double, and holds up no other target. A
// crash may tell one a second time, with the same id. On the server's thread but for the requests.
class Notifier {
 public:
  struct Options {
    std::vector<Target> targets{};
    Poster::Options poster{};
    WebhookLimits limits{};
    std::string told_file{};  // what was told; empty: a restart tells what is open again
    std::string version{};
    // Gets a line for the log when a target begins to fail, or works again.
    std::function<void(const std::string&)> warn{};
    // Sends a request; false when too many wait. Empty: a Poster does.
    std::function<bool(Poster::Request, Poster::Done)> send{};
  };
  struct Environment {
    std::function<base::Time()> now;
    // Runs something on the server's thread; called on another.
    std::function<void(std::function<void()>)> post;
    // The record at this place is in memory when this calls `done`, now or later.
    std::function<void(base::Seq, std::function<void()> done)> warm;
    // The subject of the message at this place, if it is in memory; empty: it has none.
    std::function<std::string(base::Seq)> subject;
  };
  Notifier(const core::Machine& machine, Waits& waits, Options options, Environment environment);

  // Tells what came while the broker was stopped.
  void start();
  // Something may have come. Called for each entry: quick where nothing has.
  void applied();

  uint64_t sent() const { return sent_; }
  uint64_t failures() const { return failed_; }
  uint64_t dropped() const { return dropped_; }

 private:
  using Item = std::pair<What, uint64_t>;
  struct Line {
    Target target;
    std::string key;  // of the target, in the file of what was told
    std::deque<Item> items{};
    bool is_busy = false;   // a request is under way, or waits for its time
    uint64_t failures = 0;  // in a row
  };

  const core::Tables& tables() const;
  void add(What what, uint64_t id);
  bool is_open(const Item& item) const;
  bool concerns(const Line& line, const Item& item) const;
  bool is_p0(const Item& item) const;
  void go_on(size_t line);
  void send(size_t line);
  void finish(size_t line, const Poster::Result& result);
  Notice notice_of(const Item& item) const;
  void warn(const Line& line, const std::string& what) const;

  const core::Machine& machine_;
  Waits& waits_;
  Options options_;
  const Environment environment_;
  Told told_;
  std::vector<Line> lines_;
  uint64_t newest_escalation_ = 0;  // that was looked at
  uint64_t newest_approval_ = 0;
  uint64_t sent_ = 0;
  uint64_t failed_ = 0;
  uint64_t dropped_ = 0;
  std::optional<Poster> poster_;  // last: it calls the others
};

}  // namespace parley::edge::notify
