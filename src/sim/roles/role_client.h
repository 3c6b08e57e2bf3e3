// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// A principal of the cast: its name, its token and one connection, which may be lost at any byte.
// It keeps a notebook of all that it reads.
class RoleClient {
 public:
  struct Profile {
    std::string name;
    std::string token{};
    std::string dialect = "flow";
    bool sees_all = false;  // A maintainer.
  };

  RoleClient(RunState& run, Profile profile) : run_(run), profile_(std::move(profile)) {}

  const std::string& name() const { return profile_.name; }
  const std::string& dialect() const { return profile_.dialect; }
  // What is asked on a connection that breaks is told as lost.
  void ask(const Ask& ask, CallWire::Done done);
  size_t waiting() const { return wire_ == nullptr ? 0 : wire_->waiting(); }
  void read();
  void lose_connection();
  void hang_up() { wire_.reset(); }
  // Adds a line to the history of the run.
  void note(std::string_view what);

 private:
  RunState& run_;
  const Profile profile_;
  std::unique_ptr<CallWire> wire_;
};

// Nobody knows what came of it: it is asked again.
inline bool is_unknown(const Reply& reply) {
  return reply.lost || reply.status >= 500 || reply.status == too_slow;
}

// The code of a refusal.
std::string code_of(const Reply& reply);

}  // namespace parley::edge_sim
