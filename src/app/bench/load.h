// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/bench/sockets.h"
#include "app/bench/stats.h"
#include "net/client/client.h"

namespace parley::app {

// The agents that a benchmark registers, under names that no one else has. Removes them when it
// goes, also after an error or an interrupt.
class BenchAgents {
 public:
  explicit BenchAgents(BrokerAddress admin);
  ~BenchAgents();
  BenchAgents(const BenchAgents&) = delete;
  BenchAgents& operator=(const BenchAgents&) = delete;

  // How to talk to the broker as this new agent.
  struct Agent {
    std::string name;
    BrokerAddress address;
  };
  std::expected<Agent, Failure> add(std::string_view what, std::string_view topic = {});
  // A topic of this run alone.
  std::string topic(std::string_view what) const;
  // Leaves them to the broker, which is about to go itself.
  void abandon() { names_.clear(); }

 private:
  BrokerAddress admin_;
  net::Client client_;
  std::string run_;  // tells one run from another
  std::vector<std::string> names_;
};

// What a case does to the broker.
struct BenchCase {
  enum class Kind : uint8_t { publish, end_to_end, request, fan_out, crowd };

  std::string name;
  Kind kind = Kind::publish;
  uint32_t senders = 1;
  uint32_t receivers = 0;
  uint32_t window = 1;
  uint32_t bystanders = 0;         // agents beside these, which do nothing
  uint32_t bystander_sockets = 0;  // how many of the bystanders have a WebSocket open
};

// Every case, in the order of the table.
const std::vector<BenchCase>& bench_cases();

// One case on its way: agents, sockets and what is in flight between them.
class Load {
 public:
  Load(BenchAgents& agents, BenchSockets& sockets, const BenchCase& wanted, uint32_t bytes);

  std::expected<void, Failure> set_up();
  // Keeps the broker busy for so long, or until something has come to its end; counts what did,
  // then lets the rest end.
  std::expected<void, Failure> run(double seconds, Measured& measured);

 private:
  // Sends messages, so many ahead of what came of them.
  struct Sender {
    BenchSocket* socket = nullptr;
    std::string frame;  // of a message, but for its id
    size_t id_at = 0;   // where the counting part of the id lies in it
    uint64_t sent = 0;
    uint64_t confirmed = 0;          // the broker has answered that it is stored
    uint64_t delivered = 0;          // it came to the receiver
    uint64_t completed = 0;          // nothing more is to come of it
    std::vector<int64_t> sent_at;    // by number, in a ring
    std::vector<uint32_t> received;  // by how many; the same ring
    uint64_t newest = 0;             // place of what came in last and is to be acknowledged
  };

  std::expected<BenchSocket*, Failure> open(const BenchAgents::Agent& agent, uint32_t window);
  std::expected<void, Failure> set_up_publish();
  std::expected<void, Failure> set_up_end_to_end();
  std::expected<void, Failure> set_up_request();
  std::expected<void, Failure> set_up_fan_out();
  std::expected<void, Failure> add_bystanders();

  Sender& add_sender(BenchSocket& socket, std::string_view message);
  void fill(Sender& sender);
  bool has_room(const Sender& sender) const;
  // True for a reply that says so; anything else that is no pushed message ends the run.
  bool is_confirmation(std::string_view text);
  void count(const Sender& sender, uint64_t number, uint64_t events);
  bool is_quiet() const;

  BenchAgents& agents_;
  BenchSockets& sockets_;
  BenchCase case_;
  uint32_t bytes_;
  std::deque<Sender> senders_;  // their places must stay
  bool sending_ = false;
  Measured* measured_ = nullptr;
  std::optional<Failure> failure_;
};

}  // namespace parley::app
