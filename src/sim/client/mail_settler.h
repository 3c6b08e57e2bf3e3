// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "sim/client/record.h"
#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What an agent does about a message that it got: acknowledges it, gives it back, rejects it,
// answers it or puts it off.
class MailSettler {
 public:
  MailSettler(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  void decide(Mail& mail);
  void settle(Mail& mail, Mail::Act act, std::string_view more = {});
  // Everything that came on the socket that is open.
  void acknowledge_upto();

 private:
  void settle_over_http(Mail& mail, Mail::Act act, std::string_view more);
  void settle_over_socket(Mail& mail, Mail::Act act, std::string_view more);
  void settle_by_tool(const Mail& mail, Mail::Act act);
  void acknowledge_upto_early(const Mail& mail);
  void on_settled(const std::string& id, Mail::Act act, const Reply& reply);

  RunState& run_;
  Agent& agent_;
};

}  // namespace parley::edge_sim
