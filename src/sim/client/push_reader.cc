// SPDX-License-Identifier: Apache-2.0
#include "sim/client/push_reader.h"

#include <algorithm>

#include "sim/client/agent.h"
#include "sim/client/messages.h"
#include "sim/edge/schemas.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

// The part behind the dash of a mark: its place on its stream.
uint64_t place_of(std::string_view mark) {
  uint64_t place = 0;
  for (const char c : mark.substr(std::min(mark.find('-') + 1, mark.size()))) {
    place = place * 10 + static_cast<uint64_t>(c - '0');
  }
  return place;
}

}  // namespace

void PushReader::open() {
  if (agent_.connections().is_pushed_to()) {
    return;
  }
  sim::Random& random = run_.random();
  const uint64_t connection = ++run_.connections;
  connection_ = connection;
  opened_ = run_.step;
  upto_.clear();
  upto_seq_ = 0;
  newest_.clear();
  const bool resumes = !mark_.empty() && random.chance(700);
  const uint64_t window = random.chance(500) ? 64 : 1 + random.below(5);
  agent_.note(text("opens a stream {} with window {}{}", connection, window,
                   resumes ? text(" after {}", mark_) : ""));
  const std::string after = resumes ? mark_ : "";
  if (agent_.profile().way == Agent::Way::events) {
    open_events(after, window);
  } else {
    open_socket(after, window);
  }
}

void PushReader::open_events(const std::string& after, uint64_t window) {
  Ask open{.target = text("/v1/stream?window={}", window)};
  if (!after.empty()) {
    open.headers.emplace_back("Last-Event-ID", after);
  }
  agent_.connections().open_events(
      open,
      [this](const Reply& reply) {
        run_.hear(agent_.name(), {.target = "/v1/stream"}, reply);
        agent_.note(text("the stream ends: {} {}", reply.status, reply.body.substr(0, 200)));
      },
      [this, connection = connection_](std::string_view id, std::string_view data) {
        if (!data.empty()) {
          on_frame(data, connection);
        }
        if (data.empty() || id == mark_) {
          keep_mark(id, connection);
        } else {
          run_.fail("schema", text("{} gets an event {} of {}", agent_.name(), id, mark_));
        }
      });
}

void PushReader::open_socket(const std::string& after, uint64_t window) {
  const Ask open{
      .target = text("/v1/ws?window={}{}", window, after.empty() ? "" : text("&after={}", after))};
  const auto on_end = [this](const Reply& reply) {
    if (reply.status >= 400 && reply.status < 600) {
      run_.hear(agent_.name(), {.target = "/v1/ws"}, reply);
    }
    run_.read(agent_.name(), reply.body);
    agent_.note(text("the socket ends: {} {}", reply.status, reply.body.substr(0, 200)));
  };
  const auto on_text = [this, connection = connection_](std::string_view frame) {
    on_frame(frame, connection);
  };
  agent_.connections().open_socket(open, SocketWire::Heard{on_text, on_end});
}

void PushReader::on_frame(std::string_view words, uint64_t connection) {
  run_.read(agent_.name(), words);
  lib::JsonDocument document;
  const auto frame = document.parse(words);
  if (!frame) {
    run_.fail("schema", text("{} gets a frame that is no JSON: {}", agent_.name(), words));
    return;
  }
  if (run_.setting.verbose) {
    agent_.note(text("hears {}", words.substr(0, 300)));
  }
  if (string_of(*frame, "op") == "resumed") {
    keep_mark(string_of(*frame, "mark"), connection);
    return;
  }
  if (string_of(*frame, "op") != "message") {
    if (const Json error = frame->find("error")) {
      if (const std::string wrong = published_schemas().fault("Problem", error); !wrong.empty()) {
        run_.fail("schema", text("{} is refused: {}: {}", agent_.name(), wrong, words));
      }
    }
    agent_.connections().operations().hear(*frame);
    return;
  }
  on_message(*frame, words, connection);
}

void PushReader::on_message(Json frame, std::string_view words, uint64_t connection) {
  const uint64_t seq = number_of(frame, "seq");
  run_.check_message(agent_.name(), agent_.dialect(), frame.find("message"));
  Mail& mail = agent_.reader().see(frame.find("message"), seq, "a push");
  if (mail.sightings == 1 && !mail.may_repeat && number_of(frame, "attempt") == 1) {
    check_order(mail);
  }
  agent_.reader().check_repeat(mail, opened_, connection, "a push");
  agent_.reader().check_rendering(mail, words);
  keep_mark(string_of(frame, "mark"), connection);
  if (place_of(mark_) == 0) {
    run_.fail("schema",
              text("{} gets a frame without a mark: {}", agent_.name(), words.substr(0, 200)));
  }
  upto_seq_ = seq;
  mail.mark = place_of(mark_);
  mail.connection = connection;
  mail.pushed = run_.now();
  mail.given_back = false;
  agent_.settler().decide(mail);
}

// Keeps the newest mark. With the first one of a stream that was resumed, all that was seen until
// then is held on that stream.
void PushReader::keep_mark(std::string_view mark, uint64_t connection) {
  if (place_of(mark) == 0) {
    for (auto& [id, mail] : agent_.record().mail) {
      if (mail.connection == marked_on_ && mail.mark <= place_of(mark_)) {
        mail.connection = connection;
        mail.mark = 0;
      }
    }
    run_.setting.coverage.count("stream", "resumed");
  } else if (marked_on_ == connection && place_of(mark) <= place_of(mark_) && mark != mark_) {
    run_.fail("order", text("{} gets the mark {} after {}", agent_.name(), mark, mark_));
  }
  mark_ = mark;
  marked_on_ = connection;
  upto_ = mark;
}

// First deliveries on one connection come in the order of their channel.
void PushReader::check_order(const Mail& mail) {
  if (agent_.dialect() == "inbox" && mail.priority == "high") {
    return;  // Critical messages of other dialects look the same.
  }
  Newest& newest = newest_[mail.from + " " + mail.to + " " + mail.priority];
  if (mail.seq <= newest.seq) {
    agent_.record().disordered.push_back(
        {.mail = mail,
         .newer = newest.marker,
         .how = text("{} gets {} of {} to {} after {}", agent_.name(), mail.seq, mail.from, mail.to,
                     newest.seq)});
  } else {
    newest = {mail.seq, mail.marker};
  }
}

}  // namespace parley::edge_sim
