// SPDX-License-Identifier: Apache-2.0
#include "sim/client/connections.h"

#include <array>
#include <utility>

#include "sim/client/agent.h"

namespace parley::edge_sim {

using sim::text;

void Connections::begin(std::string token, bool mcp, McpClient::Era era) {
  token_ = std::move(token);
  mcp_.reset();
  if (mcp) {
    mcp_ = std::make_unique<McpClient>(run_, agent_.name(), token_, era);
    mcp_->call("", "", [](const McpClient::Called&) {});
  }
}

std::string Connections::replace_token(std::string token) {
  return std::exchange(token_, std::move(token));
}

CallWire& Connections::wire(std::unique_ptr<CallWire>& held) {
  if (held == nullptr || held->is_over()) {
    held = std::make_unique<CallWire>(run_.connect(agent_.name()));
  }
  return *held;
}

void Connections::ask(const Ask& ask, CallWire::Done done) {
  wire(calls_).ask(ask, token_, [this, ask, done = std::move(done)](const Reply& reply) {
    run_.hear(agent_.name(), ask, reply);
    if (run_.setting.verbose) {
      agent_.note(text("{} {} -> {} {}", ask.method, ask.target,
                       reply.lost ? "lost" : std::to_string(reply.status),
                       reply.body.substr(0, 300)));
    }
    done(reply);
  });
}

void Connections::ask_slowly(const Ask& ask, CallWire::Done done) {
  wire(polls_).ask(ask, token_, [this, ask, done = std::move(done)](const Reply& reply) {
    run_.hear(agent_.name(), ask, reply);
    done(reply);
  });
}

void Connections::try_ended_token(const std::string& token, const std::string& message) {
  const std::array<Ask, 6> asks = {{
      {.target = "/v1/inbox"},
      {.target = "/v1/outbox"},
      {.target = "/v1/topics"},
      {.target = "/v1/stream"},
      {"POST", "/v1/messages", message},
      {"POST",
       "/mcp",
       R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)"
       R"("2025-11-25","capabilities":{},"clientInfo":{"name":"sim","version":"1"}}})",
       {{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}}},
  }};
  // The marker decides, because a number that is drawn would change all that follows.
  const Ask& one = asks[run_.last_marker % asks.size()];
  const auto done = [this, one](const Reply& reply) {
    run_.hear(agent_.name(), one, reply);
    if (reply.lost || reply.status >= 500 || reply.status == too_slow) {
      return;
    }
    const std::string what = text("{} {} {}", one.method, one.target, reply.status);
    run_.setting.coverage.count("ended token", what);
    if (reply.status != 401) {
      run_.fail("token", text("{}'s token was replaced, and is good for {}: {}", agent_.name(),
                              what, reply.body.substr(0, 300)));
    }
  };
  // With something to call for its events a stream shows while it is open: see `read`.
  wire(calls_).ask(one, token, done, [](std::string_view, std::string_view) {});
}

void Connections::open_events(const Ask& ask, CallWire::Done done, CallWire::OnEvent on_event) {
  events_ = std::make_unique<CallWire>(run_.connect(agent_.name()));
  events_->ask(ask, token_, std::move(done), std::move(on_event));
}

void Connections::open_socket(const Ask& ask, SocketWire::Heard heard) {
  socket_ = std::make_unique<SocketWire>(run_.connect(agent_.name()), ask, token_, std::move(heard),
                                         run_.random());
}

void Connections::close_push() {
  events_.reset();
  socket_.reset();
  forget_operations();
}

SocketWire* Connections::socket() const {
  return socket_ != nullptr && socket_->is_open() ? socket_.get() : nullptr;
}

void Connections::read() {
  const auto pump = [](auto& held, size_t bytes) {
    if (held != nullptr) {
      held->pump(bytes);
    }
  };
  sim::Random& random = run_.random();
  const size_t most = random.chance(100) ? 1 + random.below(400) : SIZE_MAX;
  const size_t pushed = run_.draining ? SIZE_MAX : stalled_ ? 0 : pace_;
  pump(calls_, run_.draining ? SIZE_MAX : most);
  pump(polls_, run_.draining ? SIZE_MAX : most);
  pump(events_, pushed);
  pump(socket_, pushed);
  pump(mcp_, run_.draining ? SIZE_MAX : most);
  // The agent's own streams are on another connection.
  if (calls_ != nullptr && calls_->is_streaming()) {
    run_.fail("token", text("{}'s token was replaced, and is good for a stream", agent_.name()));
  }
  if (socket_ != nullptr && socket_->is_over()) {
    socket_.reset();
    forget_operations();
  }
  if (events_ != nullptr && events_->is_over()) {
    events_.reset();
  }
}

void Connections::change_pace() {
  sim::Random& random = run_.random();
  stalled_ = random.chance(300);
  pace_ = random.chance(500) ? SIZE_MAX : 1 + random.below(2'000);
}

template <class W>
void Connections::cut(std::unique_ptr<W>& held) {
  if (const auto broken = std::move(held); broken != nullptr) {
    run_.lose(*broken);
  }
}

void Connections::lose_one() {
  if (mcp_ != nullptr) {
    mcp_->lose_connection();
  }
  switch (run_.random().below(4)) {
    case 0:
      cut(calls_);
      break;
    case 1:
      cut(polls_);
      break;
    default:
      cut(events_);
      cut(socket_);
      forget_operations();
      break;
  }
}

template <class W>
void Connections::drop(std::unique_ptr<W>& held) {
  const auto left = std::move(held);
  if (left != nullptr) {
    run_.cut(*left);
    left->pipe().server_gone = true;
    left->pipe().down.clear();
    left->pump(SIZE_MAX);
  }
}

void Connections::hang_up() {
  drop(calls_);
  drop(polls_);
  drop(events_);
  drop(socket_);
  forget_operations();
  if (mcp_ != nullptr) {
    mcp_->hang_up();
  }
}

// Nobody will hear of what was asked on a socket that is gone.
void Connections::forget_operations() {
  operations_.forget();
  for (Sent& sent : agent_.record().sent) {
    sent.in_flight = sent.in_flight && sent.target != "ws";
  }
}

size_t Connections::waiting() const {
  return (calls_ != nullptr ? calls_->waiting() : 0) + (mcp_ != nullptr ? mcp_->waiting() : 0);
}

std::string Connections::pending() const {
  return text("{} calls, {} of tools{}", calls_ == nullptr ? 0 : calls_->waiting(),
              mcp_ != nullptr ? mcp_->waiting() : 0, mcp_ != nullptr ? mcp_->pending() : "");
}

}  // namespace parley::edge_sim
