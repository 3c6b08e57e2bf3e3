// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/role_client.h"

#include "sim/client/messages.h"

namespace parley::edge_sim {

using sim::text;

void RoleClient::ask(const Ask& ask, CallWire::Done done) {
  if (wire_ == nullptr || wire_->is_over()) {
    wire_ = std::make_unique<CallWire>(run_.connect(name()));
  }
  wire_->ask(ask, profile_.token, [this, ask, done = std::move(done)](const Reply& reply) {
    run_.hear(profile_.sees_all ? "*" : name(), ask, reply);
    if (run_.setting.verbose) {
      note(text("{} {} {} -> {} {}", ask.method, ask.target, ask.body.substr(0, 300),
                reply.lost ? "lost" : std::to_string(reply.status), reply.body.substr(0, 500)));
    }
    done(reply);
  });
}

void RoleClient::read() {
  if (wire_ != nullptr) {
    const bool is_slow = !run_.draining && run_.random().chance(100);
    wire_->pump(is_slow ? 1 + run_.random().below(400) : SIZE_MAX);
  }
}

void RoleClient::lose_connection() {
  if (const auto broken = std::move(wire_); broken != nullptr) {
    run_.lose(*broken);
  }
}

void RoleClient::note(std::string_view what) {
  run_.setting.note(text("{} {}: {}", run_.step, name(), what));
}

std::string code_of(const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  return std::string(parsed ? string_of(*parsed, "code") : "");
}

}  // namespace parley::edge_sim
