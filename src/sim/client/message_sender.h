// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "lib/json.h"
#include "sim/client/record.h"
#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What an agent sends, and what comes of it.
class MessageSender {
 public:
  MessageSender(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  void send_something();
  void send_batch();
  // Sends again what nobody knows of.
  void send_again();
  void answer(Mail& mail);
  void subscribe();

 private:
  void submit(Sent sent);
  void send(size_t index);
  void send_over_socket(size_t index);
  void send_by_tool(size_t index);
  size_t add_to_batch();
  void on_batch(const std::vector<size_t>& batch, const Reply& reply);
  void on_receipt(size_t index, const Reply& reply);
  void on_receipt(size_t index, lib::Json receipt);
  void on_awaited_answer(size_t index, lib::Json answer);
  void refused(size_t index, int status, std::string_view code);

  RunState& run_;
  Agent& agent_;
};

}  // namespace parley::edge_sim
