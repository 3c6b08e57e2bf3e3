// SPDX-License-Identifier: Apache-2.0
#include "sim/greed/bystander.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/json.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

// A member of an answer that is an object.
std::string member_of(const Reply& reply, std::string_view name) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (!parsed) {
    return {};
  }
  const uint64_t number = number_of(*parsed, name);
  return number > 0 ? std::to_string(number) : std::string(string_of(*parsed, name));
}

// The id of the first row of a list that `is_it` is true of.
template <class IsIt>
std::string find_id(const Reply& reply, std::string_view list, const IsIt& is_it) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  const Json rows = parsed && reply.status == 200 ? parsed->find(list) : Json{};
  if (rows) {
    for (const Json row : rows.elements()) {
      if (is_it(row)) {
        return std::to_string(number_of(row, "id"));
      }
    }
  }
  return {};
}

bool has(const Reply& reply, std::string_view words) {
  return reply.body.find(words) != std::string::npos;
}

Fact status_of(const Reply& reply) { return {text("{}", reply.status), reply.body}; }

}  // namespace

Draft Bystander::draft(std::string receiver) const {
  Draft draft{.sender = profile_.name, .receiver = std::move(receiver)};
  draft.conversation = profile_.name + "-chat";
  draft.words = "a word";
  return draft;
}

std::string Bystander::make(const Call& call, const Ask& ask) {
  const Reply reply = call(ask, profile_.token);
  if (reply.status >= 300) {
    run_.fail("start", text("{} asks {} {} and is told {} {}", profile_.name, ask.method,
                            ask.target, reply.status, reply.body));
  }
  return member_of(reply, "id");
}

Ask Bystander::group(std::string_view path, std::string_view members) const {
  return {"POST", text("{}?lenient=true", path),
          text(R"({{},"message":{"type":"request","payload":{"content_type":"text","body":"x"}}})",
               members)};
}

void Bystander::prepare(const Call& call) {
  std::string id;
  Draft order = draft(profile_.friend_name);
  order.conversation = thread();
  order_ = encode("flow", order, run_.now(), id);
  const std::string sent = make(call, {"POST", "/v1/messages?lenient=true", order_});
  call({.target = "/v1/messages/" + sent}, profile_.friend_token);
  call({"POST", "/v1/messages/" + sent + "/ack", "{}"}, profile_.friend_token);
  open_ = make(call, {"POST", "/v1/messages?lenient=true",
                      encode("flow", draft(profile_.friend_name), run_.now(), id)});
  make(call,
       {"POST", "/v1/messages?lenient=true", encode("flow", draft(nobody()), run_.now(), id)});
  make(call, {"PUT", text("/v1/topics/{}.news/subscription", profile_.name)});
  make(call, {"PUT", text("/v1/topics/{}.*/subscription", profile_.name)});
  const std::string& other = profile_.friend_name;
  scatter_ = make(call, group("/v1/scatter", text(R"("receivers":["{}"],"timeout":"1h")", other)));
  pipeline_ = make(call, group("/v1/pipelines", text(R"("stages":["{}","{}"])", other, other)));
  wait_for_escalation(call);
}

void Bystander::wait_for_escalation(const Call& call) {
  std::string id;
  Draft question = draft(profile_.friend_name);
  question.type = "request";
  question.response_timeout = base::milliseconds(1);
  question.on_timeout = "escalate";
  make(call, {"POST", "/v1/messages?lenient=true", encode("flow", question, run_.now(), id)});
  constexpr int tries_max = 50;
  for (int n = 0; n < tries_max && escalation_.empty(); ++n) {
    escalation_ =
        find_id(call({.target = "/v1/escalations?limit=1000"}, profile_.admin_token), "escalations",
                [this](Json row) { return string_of(row, "agent") == profile_.name; });
  }
  if (escalation_.empty()) {
    run_.fail("start", text("what {} asked is not escalated", profile_.name));
  }
}

void Bystander::act() {
  if (wire_ == nullptr || wire_->is_over()) {
    wire_ = std::make_unique<CallWire>(run_.connect());
    is_known_ = false;
  }
  if (is_waiting()) {
    return;
  }
  const std::array<std::pair<std::string, std::string>, 5> questions = {{
      {"inbox", "/v1/inbox?limit=1"},
      {"threads", "/v1/threads?limit=5"},
      {"history", "/v1/outbox?limit=3"},
      {"itself", "/v1/agents/" + profile_.name},
      {"send", "/v1/messages?lenient=true"},
  }};
  const auto& [question, target] = questions[asked_++ % questions.size()];
  Ask ask{.target = target};
  if (question == "send") {
    std::string id;
    ask.method = "POST";
    ask.body = encode("flow", draft(profile_.friend_name), run_.now(), id);
  }
  waited_ = 0;
  wire_->ask(ask, profile_.token, [this, question](const Reply& reply) { hear(question, reply); });
}

void Bystander::hear(const std::string& question, const Reply& reply) {
  if (reply.lost) {
    return;
  }
  run_.setting.coverage.count("bystander", text("{} {}", question, reply.status));
  if (reply.status >= 300) {
    run_.fail("greed", text("{} asks `{}` and is told {} {}", profile_.name, question, reply.status,
                            reply.body));
  }
  if (is_known_) {
    uint64_t& longest = longest_[question];
    longest = std::max(longest, waited_);
  }
  is_known_ = true;
}

void Bystander::read() {
  ++waited_;
  if (wire_ != nullptr && !wire_->is_over()) {
    wire_->pump(SIZE_MAX);
  }
}

Facts Bystander::look(const Call& call) const {
  Facts facts;
  look_at_what_it_has(call, facts);
  look_for_room(call, facts);
  return facts;
}

void Bystander::look_at_what_it_has(const Call& call, Facts& facts) const {
  const Reply again = call({"POST", "/v1/messages?lenient=true", order_}, profile_.token);
  facts["its order, sent again"] = {
      has(again, R"("duplicate":true)") ? "is known" : "is sent twice", again.body};
  const Reply talk = call({.target = "/v1/threads/" + thread()}, profile_.token);
  facts["its thread"] = {
      text("{} of {}, {} messages{}", member_of(talk, "state"), member_of(talk, "owner"),
           member_of(talk, "message_count"), has(talk, R"("archived":true)") ? ", archived" : ""),
      talk.body};
  const Reply open = call({.target = "/v1/messages/" + open_ + "/delivery"}, profile_.token);
  facts["its open message"] = {has(open, R"("state":"queued")") ? "waits" : "is gone", open.body};
  const Reply letters = call({.target = "/v1/dead-letters?limit=1000"}, profile_.admin_token);
  const std::string letter = find_id(letters, "dead_letters", [this](Json row) {
    return string_of(row, "receiver") == nobody() &&
           string_of(row.find("resolution"), "status") == "pending";
  });
  facts["its dead letter"] = {letter.empty() ? "is gone" : "is there", letters.body.substr(0, 600)};
  facts["its escalation, resolved"] = status_of(
      call({"POST", text("/v1/escalations/{}/resolve", escalation_), R"({"resolution":"wait"})"},
           profile_.admin_token));
  const Reply topics = call({.target = "/v1/topics?limit=1000"}, profile_.token);
  const bool has_both = has(topics, text(R"("{}.news")", profile_.name)) &&
                        has(topics, text(R"("{}.*")", profile_.name));
  facts["its topics"] = {has_both ? "are there" : "are gone", topics.body.substr(0, 600)};
  const Reply scatter = call({.target = "/v1/scatter/" + scatter_}, profile_.token);
  facts["its scatter"] = {text("{} {}", scatter.status, member_of(scatter, "state")), scatter.body};
  const Reply pipe = call({.target = "/v1/pipelines/" + pipeline_}, profile_.token);
  facts["its pipeline"] = {text("{} {}", pipe.status, member_of(pipe, "state")), pipe.body};
}

void Bystander::look_for_room(const Call& call, Facts& facts) const {
  std::string id;
  const auto add = [&](const std::string& what, const Ask& ask) {
    facts["another " + what] = status_of(call(ask, profile_.token));
  };
  const auto send = [&](const std::string& what, const Draft& each) {
    add(what, {"POST", "/v1/messages?lenient=true", encode("flow", each, run_.now(), id)});
  };
  send("message", draft(profile_.friend_name));
  Draft other = draft(profile_.name + ".late");
  other.type = "broadcast";
  send("topic", other);
  send("dead letter", draft("nobody-else-of-" + profile_.name));
  other = draft(profile_.friend_name);
  other.conversation = profile_.name + "-more";
  other.type = "request";
  other.on_timeout = "escalate";
  send("question in a thread", other);
  other = draft(profile_.friend_name);
  other.priority = "critical";
  send("critical message", other);
  add("pattern", {"PUT", text("/v1/topics/{}.late.*/subscription", profile_.name)});
  add("scatter", group("/v1/scatter", text(R"("receivers":["{}"])", profile_.friend_name)));
  add("pipeline", group("/v1/pipelines", text(R"("stages":["{}","{}"])", profile_.friend_name,
                                              profile_.friend_name)));
  add("lock", {"PUT", "/v1/locks/of-" + profile_.name, R"({"lease":"4s"})"});
}

}  // namespace parley::edge_sim
