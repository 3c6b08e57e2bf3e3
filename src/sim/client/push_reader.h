// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "sim/client/record.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// How messages are pushed to an agent: it opens a stream of events or a socket, one at a time, and
// the next one goes on after the newest mark that it knows. Checks that marks only grow on one
// stream, and the order of each channel.
class PushReader {
 public:
  PushReader(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  // Opens one, if none is open.
  void open();
  // The agent lost what it wrote down: the next stream begins anew.
  void forget_mark() { mark_.clear(); }

  // The number of the newest stream.
  uint64_t connection() const { return connection_; }
  // The newest mark on it, and the seq of the message that had it.
  const std::string& upto() const { return upto_; }
  uint64_t upto_seq() const { return upto_seq_; }

 private:
  // The newest of a channel.
  struct Newest {
    uint64_t seq = 0;
    std::string marker;
  };

  void open_events(const std::string& after, uint64_t window);
  void open_socket(const std::string& after, uint64_t window);
  void on_frame(std::string_view text, uint64_t connection);
  void on_message(lib::Json frame, std::string_view words, uint64_t connection);
  void keep_mark(std::string_view mark, uint64_t connection);
  void check_order(const Mail& mail);

  RunState& run_;
  Agent& agent_;
  uint64_t connection_ = 0;
  uint64_t opened_ = 0;     // The step.
  std::string mark_;        // The newest on any stream.
  uint64_t marked_on_ = 0;  // The number of that stream.
  std::string upto_;
  uint64_t upto_seq_ = 0;
  std::map<std::string, Newest> newest_;  // By channel, on this stream.
};

}  // namespace parley::edge_sim
