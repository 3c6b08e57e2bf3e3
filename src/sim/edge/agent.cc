// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/agent.h"

#include <algorithm>

namespace parley::edge_sim {

using sim::text;

Agent::Agent(Stage& stage, Profile profile, std::string token)
    : stage_(stage), profile_(std::move(profile)), token_(std::move(token)) {}

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
  const std::string what = ask.method + " " + ask.target;
  wire(calls_).ask(ask, token_, [this, what, done = std::move(done)](const Reply& reply) {
    stage_.read(name(), reply.body);
    if (stage_.setting.verbose) {
      note(text("{} -> {} {}", what, reply.lost ? "lost" : std::to_string(reply.status),
                reply.body.substr(0, 300)));
    }
    done(reply);
  });
}

void Agent::act() {
  sim::Random& random = stage_.random();
  if (calls_ != nullptr && calls_->waiting() > 8) {
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
  } else if (profile_.way == Way::poll || random.chance(100)) {
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
  if (socket_ != nullptr && socket_->is_over()) {
    socket_.reset();
    forget_operations();
  }
  if (events_ != nullptr && events_->is_over()) {
    events_.reset();
  }
}

void Agent::drain() {
  stalled_ = false;
  send_again();
  undertakings_.drain();
  const std::set<std::string> wanted = wanted_;
  for (const std::string& id : wanted) {
    fetch(id);
  }
  if (profile_.way == Way::poll || stage_.random().chance(300)) {
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
    decide(notes_.mail[id]);
  }
}

void Agent::crash(bool forgets) {
  note(forgets ? "crashes and forgets" : "crashes");
  hang_up();
  remembers_mark_ = !forgets;
  if (forgets) {
    mark_ = 0;
  }
}

void Agent::lose_connection() {
  sim::Random& random = stage_.random();
  // What was on its way may have got there in part; an answer may be lost at any byte.
  const auto cut = [&](auto& held) {
    const auto broken = std::move(held);
    if (broken != nullptr) {
      Link& link = broken->link();
      link.up.resize(random.below(link.up.size() + 1));
      link.down.resize(random.below(link.down.size() + 1));
      link.client_gone = true;
      link.server_gone = true;  // as the client sees it
      broken->pump(SIZE_MAX);
    }
  };
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
  const auto drop = [](auto& held) {
    const auto left = std::move(held);
    if (left != nullptr) {
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
         fetching_.empty() && wanted_.empty();
}

}  // namespace parley::edge_sim
