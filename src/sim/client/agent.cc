// SPDX-License-Identifier: Apache-2.0
#include "sim/client/agent.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/crypto.h"

namespace parley::edge_sim {

using sim::text;

Agent::Agent(Stage& stage, Profile profile, std::string token) : stage_(stage) {
  begin(std::move(profile), std::move(token));
}

void Agent::begin(Profile profile, std::string token) {
  profile_ = std::move(profile);
  if (!token_.empty()) {
    notes_.ended_tokens.push_back(token_);
  }
  token_ = std::move(token);
  if (!profile_.webhook_secret.empty()) {
    secrets_.push_back(profile_.webhook_secret);
  }
  is_here_ = true;
  woken_ = true;
  mcp_.reset();
  if (profile_.way == Way::mcp) {
    mcp_ = std::make_unique<McpClient>(stage_, name(), token_, profile_.era);
    mcp_->call("", "", [](const McpClient::Called&) {});
  }
}

void Agent::leave() {
  note("is removed");
  notes_.was_removed = true;
  ++notes_.life;
  hang_up();
  is_here_ = false;
  for (auto& [id, mail] : std::exchange(notes_.mail, {})) {
    notes_.former.push_back(mail);
  }
  for (Sent& sent : notes_.sent) {
    // Of one that it was told no place of, the next may not know the id: it has other forms.
    const bool is_known = sent.fate != Sent::Fate::open && sent.seq > 0;
    sent.fate = is_known ? sent.fate : Sent::Fate::unknown;
  }
  notes_.subscribed.clear();
  undertakings_.leave();
  wanted_.clear();
  fetching_.clear();
  mark_.clear();
}

void Agent::note(std::string_view what) {
  stage_.setting.note(text("{} {}: {}", stage_.step, name(), what));
}

CallWire& Agent::wire(std::unique_ptr<CallWire>& held) {
  if (held == nullptr || held->is_over()) {
    held = std::make_unique<CallWire>(stage_.connect());
  }
  return *held;
}

void Agent::ask(const Ask& ask, CallWire::Done done) {
  wire(calls_).ask(ask, token_, [this, ask, done = std::move(done)](const Reply& reply) {
    stage_.hear(name(), ask, reply);
    if (stage_.setting.verbose) {
      note(text("{} {} -> {} {}", ask.method, ask.target,
                reply.lost ? "lost" : std::to_string(reply.status), reply.body.substr(0, 300)));
    }
    done(reply);
  });
}

void Agent::act() {
  if (!is_here_) {
    return;
  }
  sim::Random& random = stage_.random();
  const size_t waiting =
      (calls_ != nullptr ? calls_->waiting() : 0) + (uses_tools() ? mcp_->waiting() : 0);
  if (waiting > 8) {
    return;  // it waits for its answers
  }
  const uint64_t roll = random.below(100);
  if (roll < 45) {
    send_something();
  } else if (roll < 50) {
    send_batch();
  } else if (roll < 60) {
    send_again();
  } else if (roll < 63) {
    subscribe();
  } else if (roll < 68) {
    undertakings_.act();
  } else if (roll < 70) {
    stalled_ = random.chance(300);
    pace_ = random.chance(500) ? SIZE_MAX : 1 + random.below(2'000);
  } else if (roll < 71) {
    try_ended_token();
  } else if (roll < 73 && !uses_tools()) {
    go_offline();
  } else if (roll < 75 && uses_tools()) {
    look_around();
  } else if (!has_push() || random.chance(100)) {
    poll(random.chance(600));
  } else {
    open_push();
  }
  // What was put off is seen to now and then.
  if (random.chance(300)) {
    for (auto& [id, mail] : notes_.mail) {
      if (mail.sightings > 0 && mail.state == Mail::State::none && random.chance(200)) {
        decide(mail);
        break;
      }
    }
  }
  if (profile_.way == Way::socket && random.chance(100)) {
    acknowledge_upto();
  }
}

void Agent::read() {
  const auto pump = [](auto& held, size_t bytes) {
    if (held != nullptr) {
      held->pump(bytes);
    }
  };
  sim::Random& random = stage_.random();
  const size_t most = random.chance(100) ? 1 + random.below(400) : SIZE_MAX;
  const size_t pushed = stage_.draining ? SIZE_MAX : stalled_ ? 0 : pace_;
  pump(calls_, stage_.draining ? SIZE_MAX : most);
  pump(polls_, stage_.draining ? SIZE_MAX : most);
  pump(events_, pushed);
  pump(socket_, pushed);
  pump(mcp_, stage_.draining ? SIZE_MAX : most);
  if (calls_ != nullptr && calls_->is_streaming()) {  // its own streams have a wire of theirs
    stage_.fail("token", text("{}'s token was replaced, and is good for a stream", name()));
  }
  if (socket_ != nullptr && socket_->is_over()) {
    socket_.reset();
    forget_operations();
  }
  if (events_ != nullptr && events_->is_over()) {
    events_.reset();
  }
}

void Agent::drain() {
  if (!is_here_) {
    return;
  }
  stalled_ = false;
  send_again();
  undertakings_.drain();
  const std::set<std::string> wanted = wanted_;
  for (const std::string& id : wanted) {
    fetch(id);
  }
  if (!has_push() || stage_.random().chance(300)) {
    poll(false);
  } else {
    open_push();
  }
  std::vector<std::string> open;
  for (const auto& [id, mail] : notes_.mail) {
    const bool can = mail.state == Mail::State::none || mail.state == Mail::State::unknown;
    if (mail.sightings > 0 && can) {
      open.push_back(id);
    }
  }
  for (const std::string& id : open) {
    Mail& mail = notes_.mail[id];
    if (mail.state == Mail::State::unknown && refs_.empty()) {
      mail.state = Mail::State::none;  // what was asked on a socket that is gone is asked again
    }
    decide(mail);
  }
}

void Agent::crash(bool forgets) {
  note(forgets ? "crashes and forgets" : "crashes");
  hang_up();
  remembers_mark_ = !forgets;
  if (forgets) {
    mark_.clear();
  }
}

void Agent::lose_connection() {
  sim::Random& random = stage_.random();
  // What was on its way may have got there in part; an answer may be lost at any byte.
  const auto cut = [&](auto& held) {
    const auto broken = std::move(held);
    if (broken != nullptr) {
      stage_.cut(*broken);
      Link& link = broken->link();
      link.up.resize(random.below(link.up.size() + 1));
      link.down.resize(random.below(link.down.size() + 1));
      link.client_gone = true;
      link.server_gone = true;  // as the client sees it
      broken->pump(SIZE_MAX);
    }
  };
  if (uses_tools()) {
    mcp_->lose_connection();
  }
  switch (random.below(4)) {
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

void Agent::hang_up() {
  const auto drop = [this](auto& held) {
    const auto left = std::move(held);
    if (left != nullptr) {
      stage_.cut(*left);
      left->link().server_gone = true;
      left->link().down.clear();
      left->pump(SIZE_MAX);
    }
  };
  drop(calls_);
  drop(polls_);
  drop(events_);
  drop(socket_);
  forget_operations();
  if (uses_tools()) {
    mcp_->hang_up();
  }
}

// Until it does something: what must not wait for it is tried again meanwhile.
void Agent::go_offline() {
  note("goes offline");
  events_.reset();
  socket_.reset();
  forget_operations();
  ask({"POST", "/v1/agents/" + percent(name()) + "/heartbeat", R"({"status":"offline"})"},
      [this](const Reply& reply) {
        if (reply.status == 200) {
          stage_.setting.coverage.count("client", "goes offline");
        }
      });
}

// Of what was asked on a socket that is gone nobody will hear.
void Agent::forget_operations() {
  refs_.clear();
  for (Sent& sent : notes_.sent) {
    sent.in_flight = sent.in_flight && sent.target != "ws";
  }
}

bool Agent::is_idle() const {
  const bool sends = std::ranges::any_of(
      notes_.sent, [](const Sent& sent) { return sent.fate == Sent::Fate::open; });
  const bool settles = std::ranges::any_of(notes_.mail, [](const auto& each) {
    return each.second.state == Mail::State::asked || each.second.state == Mail::State::unknown ||
           (each.second.state == Mail::State::none && each.second.sightings > 0);
  });
  return !sends && !settles && (calls_ == nullptr || calls_->waiting() == 0) && !polling_ &&
         (!uses_tools() || mcp_->waiting() == 0) && fetching_.empty() && wanted_.empty();
}

std::string Agent::pending() const {
  return text("{} calls, {} of tools{}, {} wanted, {} asked for",
              calls_ == nullptr ? 0 : calls_->waiting(), uses_tools() ? mcp_->waiting() : 0,
              uses_tools() ? mcp_->pending() : "", wanted_.size(), fetching_.size());
}

void Agent::take_token(std::string token) {
  note("has a new token");
  notes_.ended_tokens.push_back(std::exchange(token_, std::move(token)));
}

// A token that was replaced is good for nothing.
void Agent::try_ended_token() {
  if (notes_.ended_tokens.empty()) {
    return;
  }
  const std::string& token = stage_.random().pick(notes_.ended_tokens);
  const std::array<Ask, 6> asks = {{
      {.target = "/v1/inbox"},
      {.target = "/v1/outbox"},
      {.target = "/v1/topics"},
      {.target = "/v1/stream"},
      {"POST", "/v1/messages", notes_.sent.empty() ? "{}" : notes_.sent.back().text},
      {"POST",
       "/mcp",
       R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)"
       R"("2025-11-25","capabilities":{},"clientInfo":{"name":"sim","version":"1"}}})",
       {{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}}},
  }};
  // The marker decides: a number that is drawn would change all that follows.
  const Ask& one = asks[stage_.last_marker % asks.size()];
  const auto done = [this, one](const Reply& reply) {
    stage_.hear(name(), one, reply);
    if (reply.lost || reply.status >= 500 || reply.status == too_slow) {
      return;
    }
    const std::string what = text("{} {} {}", one.method, one.target, reply.status);
    stage_.setting.coverage.count("ended token", what);
    if (reply.status != 401) {
      stage_.fail("token", text("{}'s token was replaced, and is good for {}: {}", name(), what,
                                reply.body.substr(0, 300)));
    }
  };
  // With something to call for its events a stream shows while it is open: see `read`.
  wire(calls_).ask(one, token, done, [](std::string_view, std::string_view) {});
}

void Agent::wake(const Reply& request) {
  if (!is_here_) {
    return;
  }
  constexpr std::string_view prefix = "whsec_";
  stage_.read(name(), request.body);
  each_marker(request.body, [&](std::string_view marker) {
    stage_.fail("privacy", text("{}'s webhook is told words of a message: {}", name(), marker));
  });
  const bool is_proven = std::ranges::any_of(secrets_, [&](const std::string& each) {
    const auto key = lib::base64_decoded(std::string_view(each).substr(prefix.size()));
    std::array<uint8_t, 32> secret{};
    std::ranges::copy(key->substr(0, secret.size()), secret.begin());
    const std::string proof =
        "v1," + lib::base64(lib::hmac_sha256(
                    secret, text("{}.{}.{}", request.header("webhook-id"),
                                 request.header("webhook-timestamp"), request.body)));
    return request.header("webhook-signature").find(proof) != std::string_view::npos;
  });
  if (!is_proven) {
    stage_.fail("webhook", text("{} is woken without a proof: {}", name(), request.body));
  }
  stage_.setting.coverage.count("woken by", "a webhook");
  woken_ = true;
}

}  // namespace parley::edge_sim
