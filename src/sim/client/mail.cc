// SPDX-License-Identifier: Apache-2.0
// What comes to an agent: listings, events, frames.
#include <algorithm>
#include <charconv>

#include "sim/client/agent.h"
#include "sim/client/letters.h"
#include "sim/edge/schemas.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

// What is behind the dash of a mark: its place on its stream.
uint64_t place_of(std::string_view mark) {
  uint64_t place = 0;
  for (const char c : mark.substr(std::min(mark.find('-') + 1, mark.size()))) {
    place = place * 10 + static_cast<uint64_t>(c - '0');
  }
  return place;
}

}  // namespace

void Agent::poll(bool waits) {
  if (polling_ || !woken_) {
    return;
  }
  polling_ = true;
  const uint64_t most = uses_tools() ? 100 : 1'000;
  const uint64_t limit = stage_.draining ? most : 1 + stage_.random().below(20);
  if (uses_tools()) {
    poll_by_tool(waits, limit);
    return;
  }
  const uint64_t asked_at = stage_.step;
  const Ask list{.target = text("/v1/inbox?limit={}{}", limit, waits ? "&wait=20s" : "")};
  wire(polls_).ask(list, token_, [this, asked_at, list](const Reply& reply) {
    polling_ = false;
    stage_.hear(name(), list, reply);
    if (reply.status == 200) {
      on_listing(reply.body, asked_at);
    }
  });
}

void Agent::on_listing(std::string_view body, uint64_t asked_at) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed) {
    stage_.fail("schema", text("{} gets a listing that is no JSON: {}", name(), body));
    return;
  }
  uint64_t shown = 0;
  for (const Json item : parsed->find("notifications").elements()) {
    const std::string id(string_of(item, "id"));
    ++shown;
    const auto known = notes_.mail.find(id);
    if (known != notes_.mail.end()) {
      ++known->second.listings;
      check_repeat(known->second, asked_at, 0, "a listing");
    }
    wanted_.insert(id);
    fetch(id);
  }
  const uint64_t count = number_of(*parsed, "count");
  const bool more = parsed->find("more") && parsed->find("more").as_bool() == true;
  if (count < shown || more != (count > shown)) {
    stage_.fail("count", text("{} is shown {} of its mail, and told that there is: {}", name(),
                              shown, body.substr(0, 300)));
  }
  // One who is woken goes on until there is no more.
  woken_ = profile_.webhook_secret.empty() || count > 0;
}

void Agent::fetch(const std::string& id) {
  // Few at a time: a connection holds only so much of what its client has not read.
  constexpr size_t at_a_time = 3;
  if (fetching_.size() >= at_a_time || !fetching_.insert(id).second) {
    return;
  }
  if (uses_tools()) {
    fetch_by_tool(id);
    return;
  }
  ask({.target = "/v1/messages/" + percent(id)}, [this, id](const Reply& reply) {
    fetching_.erase(id);
    if (reply.lost || reply.status >= 500 || reply.status == too_slow) {
      return;  // it is asked for again
    }
    wanted_.erase(id);
    if (reply.status == 200) {
      on_fetched(reply.body, !reply.header("parley-delivery").empty());
    }
    fetch_next();
  });
}

void Agent::fetch_next() {
  for (const std::string& id : wanted_) {
    if (!fetching_.contains(id)) {
      fetch(id);
      return;
    }
  }
}

// `is_former`: it is not for this reader any more.
void Agent::on_fetched(std::string_view body, bool is_former) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed) {
    stage_.fail("schema", text("{} gets a message that is no JSON: {}", name(), body));
    return;
  }
  if (!uses_tools()) {
    stage_.check_message(name(), dialect(), *parsed);
  }
  Mail& mail = see(*parsed, 0, uses_tools() ? "a tool" : "a read");
  if (is_former) {  // it expired, say
    mail.state = mail.state == Mail::State::none ? Mail::State::refused : mail.state;
    return;
  }
  if (dialect() == "inbox") {
    check_rendering(mail, body);
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

void Agent::open_push() {
  if (events_ != nullptr || socket_ != nullptr) {
    return;
  }
  sim::Random& random = stage_.random();
  const uint64_t connection = ++stage_.connections;
  push_connection_ = connection;
  push_opened_ = stage_.step;
  upto_.clear();
  upto_seq_ = 0;
  newest_.clear();
  const bool resumes = !mark_.empty() && remembers_mark_ && random.chance(700);
  remembers_mark_ = true;
  const uint64_t window = random.chance(500) ? 64 : 1 + random.below(5);
  note(text("opens a stream {} with window {}{}", connection, window,
            resumes ? text(" after {}", mark_) : ""));
  if (profile_.way == Way::events) {
    Ask open{.target = text("/v1/stream?window={}", window)};
    if (resumes) {
      open.headers.emplace_back("Last-Event-ID", mark_);
    }
    events_ = std::make_unique<CallWire>(stage_.connect());
    events_->ask(
        open, token_,
        [this](const Reply& reply) {
          stage_.hear(name(), {.target = "/v1/stream"}, reply);
          note(text("the stream ends: {} {}", reply.status, reply.body.substr(0, 200)));
        },
        [this, connection](std::string_view id, std::string_view data) {
          if (!data.empty()) {
            on_frame(data, connection);
          }
          if (data.empty() || id == mark_) {
            keep_mark(id, connection);
          } else {
            stage_.fail("schema", text("{} gets an event {} of {}", name(), id, mark_));
          }
        });
    return;
  }
  const Ask open{.target =
                     text("/v1/ws?window={}{}", window, resumes ? text("&after={}", mark_) : "")};
  socket_ = std::make_unique<SocketWire>(
      stage_.connect(), open, token_,
      SocketWire::Heard{[this, connection](std::string_view frame) { on_frame(frame, connection); },
                        [this](const Reply& reply) {
                          if (reply.status >= 400 && reply.status < 600) {
                            stage_.hear(name(), {.target = "/v1/ws"}, reply);
                          }
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
  if (string_of(*frame, "op") == "resumed") {
    keep_mark(string_of(*frame, "mark"), connection);
    return;
  }
  if (string_of(*frame, "op") != "message") {
    if (const Json error = frame->find("error")) {
      if (const std::string wrong = published_schemas().fault("Problem", error); !wrong.empty()) {
        stage_.fail("schema", text("{} is refused: {}: {}", name(), wrong, words));
      }
    }
    on_socket_reply(*frame);
    return;
  }
  const uint64_t seq = number_of(*frame, "seq");
  stage_.check_message(name(), dialect(), frame->find("message"));
  Mail& mail = see(frame->find("message"), seq, "a push");
  if (mail.sightings == 1 && !mail.may_repeat && number_of(*frame, "attempt") == 1) {
    check_order(mail);
  }
  check_repeat(mail, push_opened_, connection, "a push");
  check_rendering(mail, words);
  keep_mark(string_of(*frame, "mark"), connection);
  if (place_of(mark_) == 0) {
    stage_.fail("schema", text("{} gets a frame without a mark: {}", name(), words.substr(0, 200)));
  }
  upto_seq_ = seq;
  mail.mark = place_of(mark_);
  mail.connection = connection;
  mail.pushed = stage_.now();
  mail.given_back = false;
  decide(mail);
}

// The newest. With the first of a stream that was resumed, all that was seen until then is held
// there.
void Agent::keep_mark(std::string_view mark, uint64_t connection) {
  if (place_of(mark) == 0) {
    for (auto& [id, mail] : notes_.mail) {
      if (mail.connection == marked_on_ && mail.mark <= place_of(mark_)) {
        mail.connection = connection;
        mail.mark = 0;
      }
    }
    stage_.setting.coverage.count("stream", "resumed");
  } else if (marked_on_ == connection && place_of(mark) <= place_of(mark_) && mark != mark_) {
    stage_.fail("order", text("{} gets the mark {} after {}", name(), mark, mark_));
  }
  mark_ = mark;
  marked_on_ = connection;
  upto_ = mark;
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
    mail.trace = letter.trace;
    mail.wants_answer = letter.wants_answer;
    mail.may_repeat = letter.may_repeat;
    mail.first = stage_.now();
    stage_.setting.coverage.count("seen by", how);
  }
  if (letter.from == "parley" && message.raw().find("delivery_failed") != std::string_view::npos) {
    hear_failure(message.raw());
  }
  mail.may_repeat |= stage_.repeated.contains(mail.marker);
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

// One of its own messages was given up, for one receiver; the broker may try it again.
void Agent::hear_failure(std::string_view notice) {
  constexpr std::string_view key = "seq";
  const size_t at = notice.find(key, notice.find("delivery_failed"));
  const size_t digits = at == notice.npos ? at : notice.find_first_of("0123456789", at);
  if (digits == notice.npos) {
    return;
  }
  uint64_t seq = 0;
  std::from_chars(notice.data() + digits, notice.data() + notice.size(), seq);
  for (const Sent& sent : notes_.sent) {
    if (sent.seq == seq || (!sent.id.empty() && notice.find(sent.id) != notice.npos)) {
      stage_.failed.insert(sent.marker);
      stage_.repeated.insert(sent.marker);
    }
  }
}

// What was confirmed as done with does not come again: not to what was asked after that.
void Agent::check_repeat(const Mail& mail, uint64_t since, uint64_t connection,
                         std::string_view how) {
  const bool is_done = mail.state == Mail::State::confirmed &&
                       (mail.act == Mail::Act::ack || mail.act == Mail::Act::reject);
  if (!is_done || mail.may_repeat || stage_.repeated.contains(mail.marker)) {
    return;
  }
  if (since > mail.confirmed_at || (connection != 0 && connection == mail.confirmed_on)) {
    stage_.fail("again", text("{} has {} confirmed in step {}, and {} begun in step {} has it "
                              "again ({})",
                              name(), mail.id, mail.confirmed_at, how, since, mail.marker));
  }
}

// One who gets a message reads itself in it, or a topic, or everyone; not another agent. Where it
// stands in another's place it reads itself in the words of inbox; in others provenance says so.
void Agent::check_rendering(const Mail& mail, std::string_view words) {
  const bool is_said = dialect() != "inbox" && words.find(R"("redirected_from":")") != words.npos;
  if (mail.to != name() && stage_.find(mail.to) != nullptr && !is_said) {
    stage_.fail("rendering", text("{} gets {}, which says that it is for {}: {}", name(), mail.id,
                                  mail.to, words.substr(0, 600)));
  }
}

// First deliveries on one connection come in the order of their channel.
void Agent::check_order(const Mail& mail) {
  if (dialect() == "inbox" && mail.priority == "high") {
    return;  // critical ones of other dialects read alike
  }
  Newest& newest = newest_[mail.from + " " + mail.to + " " + mail.priority];
  if (mail.seq <= newest.seq) {
    notes_.disordered.push_back({.mail = mail,
                                 .newer = newest.marker,
                                 .how = text("{} gets {} of {} to {} after {}", name(), mail.seq,
                                             mail.from, mail.to, newest.seq)});
  } else {
    newest = {mail.seq, mail.marker};
  }
}

}  // namespace parley::edge_sim
