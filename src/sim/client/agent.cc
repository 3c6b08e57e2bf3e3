// SPDX-License-Identifier: Apache-2.0
#include "sim/client/agent.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/crypto.h"
#include "sim/client/messages.h"

namespace parley::edge_sim {

using sim::text;

namespace {

// True when the signature is made with one of the secrets.
bool is_proven(const Reply& request, const std::vector<std::string>& secrets) {
  constexpr std::string_view prefix = "whsec_";
  return std::ranges::any_of(secrets, [&](const std::string& each) {
    const auto key = lib::base64_decoded(std::string_view(each).substr(prefix.size()));
    std::array<uint8_t, 32> secret{};
    std::ranges::copy(key->substr(0, secret.size()), secret.begin());
    const std::string proof =
        "v1," + lib::base64(lib::hmac_sha256(
                    secret, text("{}.{}.{}", request.header("webhook-id"),
                                 request.header("webhook-timestamp"), request.body)));
    return request.header("webhook-signature").find(proof) != std::string_view::npos;
  });
}

}  // namespace

Agent::Agent(RunState& run, Profile profile, std::string token) : run_(run) {
  begin(std::move(profile), std::move(token));
}

void Agent::begin(Profile profile, std::string token) {
  profile_ = std::move(profile);
  std::string former = connections_.replace_token({});
  if (!former.empty()) {
    record_.ended_tokens.push_back(std::move(former));
  }
  if (!profile_.webhook_secret.empty()) {
    secrets_.push_back(profile_.webhook_secret);
  }
  is_here_ = true;
  reader_.wake();
  connections_.begin(std::move(token), uses_tools(), profile_.era);
}

void Agent::leave() {
  note("is removed");
  record_.was_removed = true;
  ++record_.life;
  connections_.hang_up();
  is_here_ = false;
  for (auto& [id, mail] : std::exchange(record_.mail, {})) {
    record_.former.push_back(mail);
  }
  for (Sent& sent : record_.sent) {
    // The next agent may not know the id of a message whose seq nobody was told: it has other
    // forms.
    const bool is_known = sent.fate != Sent::Fate::open && sent.seq > 0;
    sent.fate = is_known ? sent.fate : Sent::Fate::unknown;
  }
  record_.subscribed.clear();
  jobs_.leave();
  reader_.leave();
  push_.forget_mark();
}

void Agent::note(std::string_view what) {
  run_.setting.note(text("{} {}: {}", run_.step, name(), what));
}

void Agent::act() {
  if (!is_here_) {
    return;
  }
  if (connections_.waiting() > 8) {
    return;  // It waits for its answers.
  }
  act_once();
  // What was put off is seen to now and then.
  sim::Random& random = run_.random();
  if (random.chance(300)) {
    for (auto& [id, mail] : record_.mail) {
      if (mail.sightings > 0 && mail.state == Mail::State::none && random.chance(200)) {
        settler_.decide(mail);
        break;
      }
    }
  }
  if (profile_.way == Way::socket && random.chance(100)) {
    settler_.acknowledge_upto();
  }
}

void Agent::act_once() {
  sim::Random& random = run_.random();
  const uint64_t roll = random.below(100);
  if (roll < 45) {
    sender_.send_something();
  } else if (roll < 50) {
    sender_.send_batch();
  } else if (roll < 60) {
    sender_.send_again();
  } else if (roll < 63) {
    sender_.subscribe();
  } else if (roll < 68) {
    jobs_.act();
  } else if (roll < 70) {
    connections_.change_pace();
  } else if (roll < 71) {
    try_ended_token();
  } else if (roll < 73 && !uses_tools()) {
    go_offline();
  } else if (roll < 75 && uses_tools()) {
    tools_.look_around();
  } else if (!profile_.is_pushed_to() || random.chance(100)) {
    reader_.poll(random.chance(600));
  } else {
    push_.open();
  }
}

void Agent::drain() {
  if (!is_here_) {
    return;
  }
  connections_.end_stall();
  sender_.send_again();
  jobs_.drain();
  reader_.fetch_listed();
  if (!profile_.is_pushed_to() || run_.random().chance(300)) {
    reader_.poll(false);
  } else {
    push_.open();
  }
  std::vector<std::string> open;
  for (const auto& [id, mail] : record_.mail) {
    const bool can = mail.state == Mail::State::none || mail.state == Mail::State::unknown;
    if (mail.sightings > 0 && can) {
      open.push_back(id);
    }
  }
  for (const std::string& id : open) {
    Mail& mail = record_.mail[id];
    if (mail.state == Mail::State::unknown && connections_.operations().empty()) {
      mail.state = Mail::State::none;  // What was asked on a socket that is gone is asked again.
    }
    settler_.decide(mail);
  }
}

void Agent::crash(bool forgets) {
  note(forgets ? "crashes and forgets" : "crashes");
  connections_.hang_up();
  if (forgets) {
    push_.forget_mark();
  }
}

// Until it does something. What must not wait for it is tried again meanwhile.
void Agent::go_offline() {
  note("goes offline");
  connections_.close_push();
  ask({"POST", "/v1/agents/" + percent_encoded(name()) + "/heartbeat", R"({"status":"offline"})"},
      [this](const Reply& reply) {
        if (reply.status == 200) {
          run_.setting.coverage.count("client", "goes offline");
        }
      });
}

bool Agent::is_idle() const {
  const bool sends = std::ranges::any_of(
      record_.sent, [](const Sent& sent) { return sent.fate == Sent::Fate::open; });
  const bool settles = std::ranges::any_of(record_.mail, [](const auto& each) {
    return each.second.state == Mail::State::asked || each.second.state == Mail::State::unknown ||
           (each.second.state == Mail::State::none && each.second.sightings > 0);
  });
  return !sends && !settles && connections_.waiting() == 0 && reader_.is_idle();
}

std::string Agent::pending() const {
  return text("{}, {}", connections_.pending(), reader_.pending());
}

void Agent::take_token(std::string token) {
  note("has a new token");
  record_.ended_tokens.push_back(connections_.replace_token(std::move(token)));
}

void Agent::try_ended_token() {
  if (record_.ended_tokens.empty()) {
    return;
  }
  connections_.try_ended_token(run_.random().pick(record_.ended_tokens),
                               record_.sent.empty() ? "{}" : record_.sent.back().text);
}

void Agent::wake(const Reply& request) {
  if (!is_here_) {
    return;
  }
  run_.read(name(), request.body);
  if (run_.keeps_notebooks) {
    run_.notebooks[name()].append(request.body);
  }
  each_marker(request.body, [&](std::string_view marker) {
    run_.fail("privacy", text("{}'s webhook is told words of a message: {}", name(), marker));
  });
  if (!is_proven(request, secrets_)) {
    run_.fail("webhook", text("{} is woken without a proof: {}", name(), request.body));
  }
  run_.setting.coverage.count("woken by", "a webhook");
  reader_.wake();
}

}  // namespace parley::edge_sim
