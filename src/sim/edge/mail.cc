// SPDX-License-Identifier: Apache-2.0
// What comes to an agent: listings, events, frames.
#include "sim/edge/agent.h"
#include "sim/edge/letters.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

void Agent::poll(bool waits) {
  if (polling_) {
    return;
  }
  polling_ = true;
  const uint64_t limit = stage_.draining ? 1'000 : 1 + stage_.random().below(20);
  const uint64_t asked_at = stage_.step;
  wire(polls_).ask({.target = text("/v1/inbox?limit={}{}", limit, waits ? "&wait=20s" : "")},
                   token_, [this, asked_at](const Reply& reply) {
                     polling_ = false;
                     stage_.read(name(), reply.body);
                     on_listing(reply, asked_at);
                   });
}

void Agent::on_listing(const Reply& reply, uint64_t asked_at) {
  if (reply.status != 200) {
    return;
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (!parsed) {
    stage_.fail("schema", text("{} gets a listing that is no JSON: {}", name(), reply.body));
    return;
  }
  for (const Json item : parsed->find("notifications").elements()) {
    const std::string id(string_of(item, "id"));
    const auto known = notes_.mail.find(id);
    if (known != notes_.mail.end()) {
      ++known->second.listings;
      check_repeat(known->second, asked_at, 0, "a listing");
    }
    wanted_.insert(id);
    fetch(id);
  }
}

void Agent::fetch(const std::string& id) {
  if (!fetching_.insert(id).second) {
    return;
  }
  ask({.target = "/v1/messages/" + percent(id)}, [this, id](const Reply& reply) {
    fetching_.erase(id);
    if (reply.lost || reply.status >= 500) {
      return;  // it is asked for again
    }
    wanted_.erase(id);
    lib::JsonDocument document;
    const auto parsed = reply.status == 200 ? document.parse(reply.body)
                                            : std::expected<Json, base::Error>(Json{});
    if (!parsed) {
      stage_.fail("schema", text("{} gets a message that is no JSON: {}", name(), reply.body));
    } else if (*parsed) {
      Mail& mail = see(*parsed, 0, "a read");
      if (reply.header("parley-delivery").empty()) {
        check_rendering(mail, reply.body);
      }
      // Of inbox all but tasks are settled by being read.
      if (dialect() == "inbox" && !mail.wants_answer) {
        mail.ever_acked = true;
        mail.act = Mail::Act::ack;
        mail.state = Mail::State::confirmed;
        mail.confirmed_at = stage_.step;
      }
      decide(mail);
    }
  });
}

void Agent::open_push() {
  if (events_ != nullptr || socket_ != nullptr) {
    return;
  }
  sim::Random& random = stage_.random();
  const uint64_t connection = ++stage_.connections;
  push_connection_ = connection;
  push_opened_ = stage_.step;
  upto_ = 0;
  newest_.clear();
  const bool resumes = mark_ > 0 && remembers_mark_ && random.chance(700);
  remembers_mark_ = true;
  const uint64_t window = random.chance(500) ? 64 : 1 + random.below(5);
  note(text("opens a stream {} with window {}{}", connection, window,
            resumes ? text(" after {}", mark_) : ""));
  if (profile_.way == Way::events) {
    Ask open{.target = text("/v1/stream?window={}", window)};
    if (resumes) {
      open.headers.emplace_back("Last-Event-ID", std::to_string(mark_));
    }
    events_ = std::make_unique<CallWire>(stage_.connect());
    events_->ask(
        open, token_,
        [this](const Reply& reply) {
          stage_.read(name(), reply.body);
          note(text("the stream ends: {} {}", reply.status, reply.body.substr(0, 200)));
        },
        [this, connection](std::string_view, std::string_view data) {
          on_frame(data, connection);
        });
    return;
  }
  const Ask open{.target =
                     text("/v1/ws?window={}{}", window, resumes ? text("&after={}", mark_) : "")};
  socket_ = std::make_unique<SocketWire>(
      stage_.connect(), open, token_,
      SocketWire::Heard{[this, connection](std::string_view frame) {
                          on_frame(frame, connection);
                        },
                        [this](const Reply& reply) {
                          stage_.read(name(), reply.body);
                          note(text("the socket ends: {} {}", reply.status,
                                    reply.body.substr(0, 200)));
                        }},
      random);
}

void Agent::on_frame(std::string_view words, uint64_t connection) {
  stage_.read(name(), words);
  lib::JsonDocument document;
  const auto frame = document.parse(words);
  if (!frame) {
    stage_.fail("schema", text("{} gets a frame that is no JSON: {}", name(), words));
    return;
  }
  if (stage_.setting.verbose) {
    note(text("hears {}", words.substr(0, 300)));
  }
  if (string_of(*frame, "op") != "message") {
    on_socket_reply(*frame);
    return;
  }
  const uint64_t seq = number_of(*frame, "seq");
  Mail& mail = see(frame->find("message"), seq, "a push");
  if (mail.sightings == 1 && number_of(*frame, "attempt") == 1) {
    check_order(mail);
  }
  check_repeat(mail, push_opened_, connection, "a push");
  check_rendering(mail, words);
  const uint64_t mark = frame->find("mark") ? number_of(*frame, "mark") : seq;
  mail.mark = mark;
  mail.connection = connection;
  mail.given_back = false;
  mark_ = std::max(mark_, mark);
  upto_ = std::max(upto_, mark);
  decide(mail);
}

void Agent::on_socket_reply(Json reply) {
  const auto at = refs_.find(number_of(reply, "ref"));
  if (at != refs_.end()) {
    const auto done = std::move(at->second);
    refs_.erase(at);
    done(reply);
  }
}

Mail& Agent::see(Json message, uint64_t seq, std::string_view how) {
  const Letter letter = letter_in(dialect(), message);
  Mail& mail = notes_.mail[letter.id];
  if (mail.sightings++ == 0) {
    mail.id = letter.id;
    mail.marker = letter.marker;
    mail.from = letter.from;
    mail.to = letter.to;
    mail.type = letter.type;
    mail.priority = letter.priority;
    mail.task = letter.task;
    mail.thread = letter.thread;
    mail.wants_answer = letter.wants_answer;
    mail.may_repeat = letter.may_repeat;
    mail.first = stage_.now();
    stage_.setting.coverage.count("seen by", how);
  }
  mail.to = letter.to;  // as it is now: it may have been given to another
  mail.seq = seq != 0 ? seq : mail.seq;
  if (!mail.marker.empty()) {
    notes_.markers_seen.insert(mail.marker);
  }
  const bool is_asked_again = mail.may_repeat && mail.state == Mail::State::confirmed;
  if (mail.state == Mail::State::unknown || is_asked_again) {
    mail.state = Mail::State::none;  // what was asked did not get there in time
  }
  return mail;
}

// What was confirmed as done with does not come again: not to what was asked after that.
void Agent::check_repeat(const Mail& mail, uint64_t since, uint64_t connection,
                         std::string_view how) {
  const bool is_done = mail.state == Mail::State::confirmed &&
                       (mail.act == Mail::Act::ack || mail.act == Mail::Act::reject);
  if (!is_done || mail.may_repeat) {
    return;
  }
  if (since > mail.confirmed_at || (connection != 0 && connection == mail.confirmed_on)) {
    stage_.fail("again", text("{} has {} confirmed in step {}, and {} begun in step {} has it "
                              "again ({})",
                              name(), mail.id, mail.confirmed_at, how, since, mail.marker));
  }
}

// One who gets a message reads itself in it, or a topic, or everyone; not another agent.
void Agent::check_rendering(const Mail& mail, std::string_view words) {
  if (mail.to != name() && stage_.find(mail.to) != nullptr) {
    stage_.fail("rendering", text("{} gets {}, which says that it is for {}: {}", name(), mail.id,
                                  mail.to, words.substr(0, 600)));
  }
}

// First deliveries on one connection come in the order of their channel.
void Agent::check_order(const Mail& mail) {
  uint64_t& newest = newest_[mail.from + " " + mail.to + " " + mail.priority];
  if (mail.seq <= newest) {
    stage_.fail("order", text("{} gets {} of {} to {} after {}", name(), mail.seq, mail.from,
                              mail.to, newest));
  }
  newest = std::max(newest, mail.seq);
}

}  // namespace parley::edge_sim
