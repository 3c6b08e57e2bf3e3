// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "edge/api/api.h"
#include "node/broker.h"
#include "sim/edge/server.h"
#include "sim/faulty_journal.h"
#include "view/runner.h"

namespace parley::edge_sim {

// Limits of a run: the defaults, or small ones, which reach the corners.
struct Shape {
  net::Server::Limits server{};
  node::Mailbox::Limits mailbox{};
  size_t snapshot_bytes = 256 * 1'024;
  size_t fresh_bytes = 32 * 1'024 * 1'024;
  size_t feed_bytes = size_t{32} << 20;
  std::map<std::string, std::string> rules{};
  bool is_busy = false;  // As PipeServer has it.
};

// The broker as a process: what `parley serve` joins, on a journal that fails and a clock that is
// moved, without threads. It can be killed at any time and started again; its disk outlives it.
class Host {
 public:
  // Brings what webhooks ask; as edge::Webhooks::Options::send.
  using Bring = std::function<bool(edge::Poster::Request, edge::Poster::Done)>;

  // `directory` is for the files of the view and of MCP.
  Host(sim::Setting& setting, sim::SharedLog& log, std::string directory, Shape shape, Bring bring);
  ~Host();

  bool is_up() const { return life_ != nullptr; }
  std::expected<void, base::Error> start();
  // The process ends here and now.
  void kill();
  // The same, and what was not synced may be gone.
  void lose_power();

  void connect(std::shared_ptr<BytePipe> pipe);
  // One turn of the loop.
  Time turn();
  // What the other threads do: a part of it. False when there was nothing to do.
  bool work_behind();
  // Lets the journal's slow answers come.
  void pass_time() { journal_.pass_time(); }
  // The storage failed: only a new start helps.
  bool is_stuck() const;
  bool has_work() const;

  const std::string& admin_token() const { return admin_token_; }
  PipeServer& server();
  const core::Machine& machine() const;

 private:
  struct Life;

  std::expected<void, base::Error> start_view(Life& life);
  std::expected<void, base::Error> start_broker(Life& life);
  std::expected<void, base::Error> ask_now(Life& life, core::Command command);
  std::expected<void, base::Error> prepare(Life& life);
  void end(bool keeps_unsynced);

  sim::Setting& setting_;
  sim::SharedLog& log_;
  const std::string directory_;
  const Shape shape_;
  const Bring bring_;
  sim::FaultyJournal journal_;
  lib::SecretKey mcp_key_;
  std::string admin_token_;
  uint64_t lives_ = 0;
  std::unique_ptr<Life> life_;
};

}  // namespace parley::edge_sim
