// SPDX-License-Identifier: Apache-2.0
#include "app/bench/load.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "app/bench/bare.h"
#include "app/text/compose.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using Kind = BenchCase::Kind;

constexpr std::string_view prefix = "parley-bench-";
constexpr uint32_t receive_window = 4096;  // the most that a broker takes by its usual rules
// Publishes that are confirmed, but not yet consumed, beside those in the window.
constexpr uint32_t ahead_factor = 4;
constexpr int64_t patience_ns = 30'000'000'000;
constexpr int64_t pause_ns = 1'000'000;

constexpr std::string_view confirmed_text = R"({"ref":1,"ok":true)";
constexpr std::string_view acked_text = R"({"ref":2,"ok":true)";
constexpr std::string_view message_text = R"({"op":"message","seq":)";
constexpr std::string_view id_text = R"("id":")";
constexpr std::string_view no_uuid = "00000000-0000-0000-0000-000000000000";
constexpr size_t uuid_chars = no_uuid.size();
constexpr size_t counter_chars = 12;  // the last group of a UUID

// Where the part of a message's id that counts lies in its frame.
size_t counter_at(std::string_view frame) {
  return frame.find(id_text) + id_text.size() + uuid_chars - counter_chars;
}

void write_counter(char* to, uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (size_t n = counter_chars; n-- > 0; value >>= 4) {
    to[n] = digits[value & 15];
  }
}

uint64_t number_after(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  uint64_t value = 0;
  if (at != text.npos) {
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), value);
  }
  return value;
}

uint64_t place_of(std::string_view pushed) {
  uint64_t value = 0;
  std::from_chars(pushed.data() + message_text.size(), pushed.data() + pushed.size(), value);
  return value;
}

// A whole message: a broker fills nothing in unless it is asked to.
std::string message(std::string type, const std::string& from, std::string to, uint32_t bytes) {
  base::SystemClock clock;
  Draft draft;
  draft.type = std::move(type);
  draft.to = std::move(to);
  draft.thread = "benchmark of " + from;
  if (draft.type == "response") {
    draft.in_reply_to = no_uuid;
  }
  std::string text = compose(draft, std::string(bytes, 'x'), lib::random_uuid(), clock.now());
  return text.insert(text.find(R"("receiver":)"), R"("sender":")" + from + R"(",)");
}

std::string send_operation(std::string_view message) {
  return std::string(R"({"op":"send","ref":1,"message":)").append(message) + "}";
}

void acknowledge(BenchSocket& socket, uint64_t upto, std::string_view ref) {
  std::array<char, 96> text{};
  constexpr std::string_view begin = R"({"op":"ack","upto":)";
  char* at = std::ranges::copy(begin, text.data()).out;
  at = std::to_chars(at, text.data() + text.size(), upto).ptr;
  at = std::ranges::copy(ref, at).out;
  *at++ = '}';
  socket.send({text.data(), static_cast<size_t>(at - text.data())});
}

std::unexpected<Failure> refused(const HttpReply& reply) {
  Failure failure = refusal(reply);
  failure.detail = "the broker stopped the benchmark: " + failure.detail;
  return std::unexpected(std::move(failure));
}

}  // namespace

const std::vector<BenchCase>& bench_cases() {
  static const std::vector<BenchCase> all = {
      {"publish-1x1", Kind::publish, 1, 0, 1},
      {"publish-1x64", Kind::publish, 1, 0, 64},
      {"publish-1x1024", Kind::publish, 1, 0, 1024},
      {"publish-8x1", Kind::publish, 8, 0, 1},
      {"publish-8x64", Kind::publish, 8, 0, 64},
      {"publish-8x1024", Kind::publish, 8, 0, 1024},
      {"end-to-end-1:1", Kind::end_to_end, 1, 1, 1024},
      {"end-to-end-8:8", Kind::end_to_end, 8, 8, 1024},
      {"request-1", Kind::request, 1, 1, 1},
      {"request-64", Kind::request, 1, 1, 64},
      {"fan-out-100", Kind::fan_out, 1, 100, 64},
      {"crowd-10", Kind::crowd, 8, 0, 64, 2, 2},
      {"crowd-10000", Kind::crowd, 8, 0, 64, 9'992, 992},
  };
  return all;
}

BenchAgents::BenchAgents(BrokerAddress admin)
    : admin_(std::move(admin)), client_(place_of(admin_)) {
  std::array<char, 8> digits{};
  uint64_t random = lib::random_u64();
  for (char& digit : digits) {
    digit = "0123456789abcdef"[random & 15];
    random >>= 4;
  }
  run_.assign(digits.data(), digits.size());
}

BenchAgents::~BenchAgents() {
  for (const std::string& name : names_) {
    (void)client_.request("DELETE", "/v1/agents/" + name);
  }
}

std::string BenchAgents::topic(std::string_view what) const {
  return "parley-bench." + run_ + "-" + std::string(what);
}

std::expected<BenchAgents::Agent, Failure> BenchAgents::add(std::string_view what,
                                                            std::string_view topic) {
  const std::string name =
      std::string(prefix) + run_ + "-" + std::string(what) + "-" + std::to_string(names_.size());
  std::string body;
  lib::JsonWriter writer(body);
  writer.object().key("id").text(name).key("dialect").text("flow").key("subscriptions").array();
  if (!topic.empty()) {
    writer.text(topic);
  }
  writer.end_array().end_object();
  if (bench_interrupted()) {
    return std::unexpected(Failure{"", "interrupted", {}});
  }
  const auto response =
      client_.request("POST", "/v1/agents", body, {{"Content-Type", "application/json"}});
  if (!response) {
    return std::unexpected(failure_of(response.error()));
  }
  if (response->status != 201) {
    return refused({response->status, response->body, {}});
  }
  names_.push_back(name);
  lib::JsonDocument document;
  const auto answer = document.parse(response->body);
  return Agent{name, {admin_.url, answer ? text_of(*answer, "token") : "", admin_.ca}};
}

Load::Load(BenchAgents& agents, BenchSockets& sockets, const BenchCase& wanted, uint32_t bytes)
    : agents_(agents), sockets_(sockets), case_(wanted), bytes_(bytes) {}

std::expected<void, Failure> Load::set_up() {
  switch (case_.kind) {
    case Kind::publish:
      return set_up_publish();
    case Kind::end_to_end:
      return set_up_end_to_end();
    case Kind::request:
      return set_up_request();
    case Kind::fan_out:
      return set_up_fan_out();
    case Kind::crowd: {
      auto added = add_bystanders();
      return added ? set_up_publish() : added;
    }
  }
  return {};
}

std::expected<BenchSocket*, Failure> Load::open(const BenchAgents::Agent& agent, uint32_t window) {
  auto socket = sockets_.open(agent.address, window);
  if (socket) {
    (*socket)->on_text = [this](std::string_view text) { (void)is_confirmation(text); };
  }
  return socket;
}

Load::Sender& Load::add_sender(BenchSocket& socket, std::string_view message) {
  Sender& sender = senders_.emplace_back();
  sender.socket = &socket;
  sender.frame = frame_of(send_operation(message));
  sender.id_at = counter_at(sender.frame);
  sender.sent_at.resize(std::bit_ceil(uint64_t{case_.window} * ahead_factor));
  sender.received.resize(sender.sent_at.size());
  socket.on_burst = [this, &sender] { fill(sender); };
  return sender;
}

// To a topic that nobody subscribes to: what it costs to store, with nobody to deliver to.
std::expected<void, Failure> Load::set_up_publish() {
  for (uint32_t n = 0; n < case_.senders; ++n) {
    const auto agent = agents_.add("publisher");
    const auto socket = agent ? open(*agent, 0) : std::unexpected(agent.error());
    if (!socket) {
      return std::unexpected(socket.error());
    }
    Sender& sender =
        add_sender(**socket, message("broadcast", agent->name, agents_.topic("unheard"), bytes_));
    (*socket)->on_text = [this, &sender](std::string_view text) {
      if (is_confirmation(text)) {
        count(sender, sender.confirmed, 1);
        ++sender.confirmed;
        ++sender.completed;
      }
    };
  }
  return {};
}

// Pairs of a sender and a receiver. A message is timed until it is delivered, and counted when the
// broker has confirmed its acknowledgement.
std::expected<void, Failure> Load::set_up_end_to_end() {
  for (uint32_t n = 0; n < case_.senders; ++n) {
    const auto from = agents_.add("sender");
    const auto to = from ? agents_.add("receiver") : from;
    const auto out = to ? open(*from, 0) : std::unexpected(to.error());
    const auto in = out ? open(*to, receive_window) : out;
    if (!in) {
      return std::unexpected(in.error());
    }
    Sender& sender = add_sender(**out, message("notification", from->name, to->name, bytes_));
    (*out)->on_text = [this, &sender](std::string_view text) {
      sender.confirmed += is_confirmation(text) ? 1 : 0;
    };
    (*in)->on_text = [this, &sender](std::string_view text) {
      if (text.starts_with(message_text)) {
        sender.newest = place_of(text);
        count(sender, sender.delivered++, 0);
      } else if (text.starts_with(acked_text)) {
        const uint64_t acked = number_after(text, R"("count":)");
        sender.completed += acked;
        measured_->count += sending_ ? acked : 0;
      } else {
        (void)is_confirmation(text);
      }
    };
    (*in)->on_burst = [this, &sender, socket = *in] {
      if (sender.newest != 0) {
        acknowledge(*socket, sender.newest, R"(,"ref":2)");
        sender.newest = 0;
      }
      fill(sender);
    };
  }
  return {};
}

// Two durable messages a round trip. The answer settles the question; the one who asked settles
// answers together with its next questions.
std::expected<void, Failure> Load::set_up_request() {
  const auto asking = agents_.add("asking");
  const auto answering = asking ? agents_.add("answering") : asking;
  const auto from = answering ? open(*asking, receive_window) : std::unexpected(answering.error());
  const auto to = from ? open(*answering, receive_window) : from;
  if (!to) {
    return std::unexpected(to.error());
  }
  const std::string answer =
      frame_of(send_operation(message("response", answering->name, asking->name, bytes_)));
  (*to)->on_text = [this, answer, answering_wire = *to, question_at = answer.find(no_uuid),
                    id_at = counter_at(answer), sent = uint64_t{0}](std::string_view text) mutable {
    if (!text.starts_with(message_text)) {
      (void)is_confirmation(text);
      return;
    }
    char* frame = answering_wire->send_frame(answer);
    write_counter(frame + id_at, ++sent);
    std::ranges::copy(text.substr(text.find(id_text) + id_text.size(), uuid_chars),
                      frame + question_at);
  };
  Sender& questions = add_sender(**from, message("request", asking->name, answering->name, bytes_));
  (*from)->on_text = [this, &questions](std::string_view text) {
    if (text.starts_with(message_text)) {
      questions.newest = place_of(text);
      count(questions, questions.completed++, 1);
    } else {
      questions.confirmed += is_confirmation(text) ? 1 : 0;
    }
  };
  (*from)->on_burst = [this, &questions] {
    if (questions.newest != 0) {
      acknowledge(*questions.socket, questions.newest, "");
      questions.newest = 0;
    }
    fill(questions);
  };
  return {};
}

std::expected<void, Failure> Load::set_up_fan_out() {
  const std::string topic = agents_.topic("heard");
  const auto publisher = agents_.add("publisher");
  const auto out = publisher ? open(*publisher, 0) : std::unexpected(publisher.error());
  if (!out) {
    return std::unexpected(out.error());
  }
  Sender& sender = add_sender(**out, message("broadcast", publisher->name, topic, bytes_));
  (*out)->on_text = [this, &sender](std::string_view text) {
    sender.confirmed += is_confirmation(text) ? 1 : 0;
  };
  for (uint32_t n = 0; n < case_.receivers; ++n) {
    const auto agent = agents_.add("subscriber", topic);
    const auto in = agent ? open(*agent, receive_window) : std::unexpected(agent.error());
    if (!in) {
      return std::unexpected(in.error());
    }
    (*in)->on_text = [this, &sender, got = uint64_t{0}](std::string_view text) mutable {
      if (text.starts_with(message_text)) {
        sender.newest = place_of(text);
        count(sender, got, 1);
        // Each gets them in order: who is last with one was not before it with an earlier one.
        if (++sender.received[got & (sender.received.size() - 1)] == case_.receivers) {
          sender.received[got & (sender.received.size() - 1)] = 0;
          sender.completed = got + 1;
        }
        ++got;
      } else {
        (void)is_confirmation(text);
      }
    };
    (*in)->on_burst = [this, &sender, socket = *in] {
      if (sender.newest != 0) {
        acknowledge(*socket, sender.newest, "");
        sender.newest = 0;
      }
      fill(sender);
    };
  }
  return {};
}

std::expected<void, Failure> Load::add_bystanders() {
  for (uint32_t n = 0; n < case_.bystanders; ++n) {
    const auto agent = agents_.add("bystander");
    if (!agent) {
      return std::unexpected(agent.error());
    }
    if (n < case_.bystander_sockets) {
      if (const auto socket = open(*agent, receive_window); !socket) {
        return std::unexpected(socket.error());
      }
    }
    if (n % 256 == 0) {  // answers the broker's pings
      if (auto ran = sockets_.run_once(now_ns() + pause_ns); !ran) {
        return ran;
      }
    }
  }
  return {};
}

bool Load::has_room(const Sender& sender) const {
  const uint64_t ahead = case_.kind == Kind::end_to_end ? ahead_factor : 1;
  return sender.sent < sender.confirmed + case_.window &&
         sender.sent < sender.completed + case_.window * ahead;
}

void Load::fill(Sender& sender) {
  while (sending_ && has_room(sender)) {
    sender.sent_at[sender.sent & (sender.sent_at.size() - 1)] = sockets_.now();
    char* frame = sender.socket->send_frame(sender.frame);
    write_counter(frame + sender.id_at, ++sender.sent);
  }
}

void Load::count(const Sender& sender, uint64_t number, uint64_t events) {
  if (sending_) {  // what ends later is not within the time that is measured
    const int64_t sent_at = sender.sent_at[number & (sender.sent_at.size() - 1)];
    measured_->latencies.add(sockets_.now() - sent_at);
    measured_->count += events;
  }
}

bool Load::is_confirmation(std::string_view text) {
  if (text.starts_with(confirmed_text)) {
    return true;
  }
  if (!failure_) {
    lib::JsonDocument document;
    const auto answer = document.parse(text);
    const lib::Json error = answer ? answer->find("error") : lib::Json();
    failure_ = refused({0, std::string(error ? error.raw() : text), {}}).error();
  }
  return false;
}

bool Load::is_quiet() const {
  return std::ranges::all_of(senders_, [](const Sender& sender) {
    return sender.completed == sender.sent && sender.confirmed >= sender.sent;
  });
}

std::expected<void, Failure> Load::run(double seconds, Measured& measured) {
  measured_ = &measured;
  const uint64_t count_before = measured.count;
  const int64_t begin = now_ns();
  const int64_t end = begin + static_cast<int64_t>(seconds * 1e9);
  if (auto ran = sockets_.run_once(begin); !ran) {  // sets now()
    return ran;
  }
  sending_ = true;
  for (Sender& sender : senders_) {
    fill(sender);
  }
  while (sending_ || !is_quiet()) {
    if (auto ran =
            sockets_.run_once(sending_ ? std::max(end, now_ns() + pause_ns) : end + patience_ns);
        !ran) {
      return ran;
    }
    if (failure_) {
      return std::unexpected(*failure_);
    }
    const int64_t now = now_ns();
    if (now > end + patience_ns) {
      return std::unexpected(
          Failure{"TIMEOUT", "the broker did not answer all that was sent within 30s", {}});
    }
    // A slow disk may need longer for the first than a short run has.
    if (sending_ && now >= end && measured.count > count_before) {
      sending_ = false;
      measured.seconds += static_cast<double>(now - begin) / 1e9;
    }
  }
  return {};
}

}  // namespace parley::app
