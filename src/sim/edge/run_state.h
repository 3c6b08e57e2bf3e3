// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "sim/client/record.h"
#include "sim/client/wire.h"
#include "sim/edge/byte_pipe.h"
#include "sim/faulty_journal.h"
#include "sim/text.h"

namespace parley::edge_sim {

class Agent;
class Host;

// The first thing that was found wrong: what comes after it may only follow from it.
struct Fault {
  std::string check;
  std::string detail;
};

// What all clients of a run have in common.
struct RunState {
  sim::Setting& setting;
  Host& host;
  std::vector<std::unique_ptr<Agent>> agents{};
  std::vector<std::string> topics{};
  // By marker: who may see it. A topic's name stands for all who ever asked to subscribe to it.
  std::map<std::string, std::set<std::string>> readers{};
  std::map<std::string, std::set<std::string>> subscribers{};  // By topic: those.
  std::map<std::string, std::set<std::string>> sessions{};     // By id: who is in it.
  std::set<std::string> failed{};  // Markers of what senders were told was not delivered.
  // What was given up and tried again, as the admin is told when a run ends. Its sender may never
  // hear of it: who is removed before it reads the notice does not, nor who has its name then.
  struct Retried {
    uint64_t seq = 0;
    std::string receiver;
    std::string at;  // The time, as the broker writes it.

    auto operator<=>(const Retried&) const = default;
  };
  std::set<Retried> retried{};
  std::set<std::string> cut_off{};   // Markers of what the network lost on its way to a client.
  std::set<std::string> repeated{};  // Markers of what the broker sends again if it must.
  std::map<std::string, std::set<std::string>> groups{};  // By thread of a pipeline: who is in it.
  // Asks as who runs the broker, and goes on: for what is no longer its owner's to know.
  std::function<void(const Ask&, CallWire::Done)> ask_as_admin{};
  std::optional<Fault> fault{};
  uint64_t step = 0;
  uint64_t connections = 0;
  uint64_t last_marker = 0;
  bool draining = false;
  bool clock_was_set = false;
  bool keeps_notebooks = false;
  std::map<std::string, std::string> notebooks{};  // By client.
  // By marker: the check that says who may read it, where that is not `privacy`.
  std::map<std::string, std::string> guards{};

  sim::Random& random() { return setting.random; }
  Time now() { return setting.clock.now(); }
  void fail(std::string_view check, std::string detail);
  // A connection ends, and with it what the network had of it.
  void cut(Wire& wire);
  // It breaks: what was on its way may have got there in part, in both directions, to any byte.
  void lose(Wire& wire);
  // A connection of this client, which may keep a notebook.
  std::shared_ptr<BytePipe> connect(const std::string& reader = {});
  Agent* find(std::string_view name) const;
  std::string new_marker(std::string_view sender, const std::set<std::string>& readers);
  bool may_read(const std::string& reader, const std::set<std::string>& seen_by) const;
  // Every word that a client gets goes through here: whether it was for it.
  void read(std::string_view reader, std::string_view text);
  // Every answer, which is read: whether it is what the description of the interface says.
  void hear(std::string_view reader, const Ask& ask, const Reply& reply);
  // Every message, in the dialect of its reader.
  void check_message(std::string_view reader, std::string_view dialect, lib::Json message);
};

// `~ana-17~`: in the text of every message, so that its words can be told apart wherever they turn
// up. Calls `visit` with each that is in the text.
template <class Visit>
void each_marker(std::string_view text, const Visit& visit) {
  for (size_t at = text.find('~'); at != std::string_view::npos; at = text.find('~', at)) {
    const size_t end = text.find('~', at + 1);
    if (end == std::string_view::npos) {
      return;
    }
    visit(text.substr(at, end + 1 - at));
    at = end + 1;
  }
}

}  // namespace parley::edge_sim
