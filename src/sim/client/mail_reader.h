// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "sim/client/record.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// How messages come to an agent: it polls listings and reads what they name, or it opens a stream
// of events or a socket. Checks what can be checked of a message when it comes.
class MailReader {
 public:
  MailReader(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  void poll(bool waits);
  void open_push();
  // While a run ends: reads what was listed and is not read yet.
  void fetch_listed();
  // Records a message that came.
  Mail& see(lib::Json message, uint64_t seq, std::string_view how);

  // There may be mail.
  void wake() { woken_ = true; }
  // The agent crashed: it knows its newest mark still, or it does not.
  void crash(bool forgets);
  // The agent is removed.
  void leave();
  bool is_idle() const { return !polling_ && fetching_.empty() && listed_.empty(); }
  std::string pending() const;

  // The stream that is open.
  uint64_t push_connection() const { return push_connection_; }
  // The newest mark on it, and the seq of the message that had it.
  const std::string& upto() const { return upto_; }
  uint64_t upto_seq() const { return upto_seq_; }

 private:
  // The newest of a channel.
  struct Newest {
    uint64_t seq = 0;
    std::string marker;
  };

  void poll_by_tool(bool waits, uint64_t limit);
  void on_listing(std::string_view body, uint64_t asked_at);
  void fetch(const std::string& id);
  void fetch_by_tool(const std::string& id);
  void fetch_next();
  void on_fetched(std::string_view body, bool is_former);
  void open_events(const std::string& after, uint64_t window);
  void open_socket(const std::string& after, uint64_t window);
  void on_frame(std::string_view text, uint64_t connection);
  void on_message(lib::Json frame, std::string_view words, uint64_t connection);
  void keep_mark(std::string_view mark, uint64_t connection);
  void hear_failure(std::string_view notice);
  void check_repeat(const Mail& mail, uint64_t since, uint64_t connection, std::string_view how);
  void check_order(const Mail& mail);
  void check_rendering(const Mail& mail, std::string_view words);

  RunState& run_;
  Agent& agent_;
  bool polling_ = false;
  bool woken_ = true;
  std::set<std::string> listed_;    // And not read yet.
  std::set<std::string> fetching_;  // Of these: asked for.
  uint64_t push_connection_ = 0;    // The number of the stream that is open.
  uint64_t push_opened_ = 0;        // The step.
  std::string mark_;                // The newest on any stream.
  uint64_t marked_on_ = 0;          // The number of that stream.
  bool remembers_mark_ = false;
  std::string upto_;
  uint64_t upto_seq_ = 0;
  std::map<std::string, Newest> newest_;  // By channel, on this stream.
};

}  // namespace parley::edge_sim
