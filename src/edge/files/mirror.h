// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/effect.h"
#include "edge/api/context.h"
#include "edge/files/active_thread.h"
#include "edge/files/intake.h"
#include "edge/files/jobs.h"
#include "edge/files/options.h"
#include "edge/files/thread.h"

namespace parley::edge::files {

// Keeps the tree of files in step with the agents of squad in the first workspace: what waits for
// one is a file in its `pending`, what it moves to its `archive` is acknowledged, what is put into
// the tree is sent. Begins with the first such agent. Keeps nothing that a restart would miss: what
// waits is in the engine, and which file is which message in the ledger of the tree. On the
// server's thread; all that waits for the disk is done by another.
class Mirror {
 public:
  Mirror(Context& context, const Options& options);
  ~Mirror();

  // Must be called once, when the server is there.
  void start();
  // Called for each entry that was applied, so it must be quick.
  void applied(const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects);
  // The agent's work is over for good: its directory goes some time later, unless it is back.
  void ended(std::string_view agent);

 private:
  enum class FileState : uint8_t {
    wanted,    // it is to be written
    asked,     // the thread writes it
    there,     // in pending, or there shall be none
    archived,  // its receiver is done with it, and the engine is asked to know that
  };
  struct Mailbox {
    BoxOwner owner;
    bool has_ended = false;
    std::map<base::Seq, FileState> files{};
  };

  const core::Tables& tables() const { return context_.tables(core::workspace_first); }
  void begin();
  void add_principal(const core::Agent& agent);
  void add_box(const std::string& box, BoxOwner owner);
  void remove_principal(std::string_view name);
  void work(Job job);
  // Does it in a turn that has time for it; boxes take turns.
  void later(const std::string& box, std::function<void()> step);

  // The agents whose mail is in this box.
  std::vector<core::AgentRef> readers(const Mailbox& box) const;
  bool is_open(const Mailbox& box, base::Seq seq) const;
  bool is_visible(const Mailbox& box, base::Seq seq) const;
  std::string box_of(core::AgentRef receiver, base::Seq message) const;

  void mark(const std::string& box);
  void fill_some();
  std::vector<base::Seq> wanted(const std::string& name, const Mailbox& box);
  void write(const std::string& name, base::Seq seq);
  void settle(const std::string& name, base::Seq seq);
  void look_after_some();

  void hear(std::vector<Report> reports);
  void hear_some();
  void on(const Placed& report);
  void on(const Missing& report);
  void on(const ReadBack& report);
  void on_taken(const Found& found, base::Seq seq, bool may_stay);
  void acknowledge(const std::string& name, base::Seq seq);

  Context& context_;
  const Options options_;
  Intake intake_;
  ActiveThread active_thread_;
  std::map<std::string, Mailbox, std::less<>> boxes_;
  std::set<std::string> humans_;
  std::set<std::string> marked_;  // boxes that may have mail without a file
  bool is_filling_ = false;
  std::set<std::pair<std::string, base::Seq>> writing_;  // that the thread was asked for
  std::string looked_after_;                             // the box that was looked after last
  std::deque<Report> reports_;
  bool is_hearing_ = false;
  std::unique_ptr<FileThread> thread_;  // last: it calls the others
};

}  // namespace parley::edge::files
