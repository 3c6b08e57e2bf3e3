// SPDX-License-Identifier: Apache-2.0
// What an agent sends, and what it is told of that.
#include <algorithm>
#include <array>

#include "sim/client/agent.h"
#include "sim/client/letters.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

constexpr std::array<std::string_view, 8> priorities = {"normal", "normal", "normal",   "normal",
                                                        "low",    "high",   "critical", "critical"};

}  // namespace

void Agent::send_something() {
  sim::Random& random = stage_.random();
  Draft draft{.sender = name()};
  Sent sent;
  draft.priority = random.pick(priorities);
  draft.conversation = text("talk-{}", random.below(40));
  draft.task = text("t-{}", stage_.last_marker + 1);
  const uint64_t roll = random.below(100);
  std::set<std::string> readers;
  if (roll < 12) {
    draft.receiver = random.pick(stage_.topics);
    draft.type = "broadcast";
    sent.kind = "topic";
    readers.insert(draft.receiver);
  } else if (roll < 16) {
    draft.receiver = "*";
    draft.type = "broadcast";
    draft.requires_ack = random.chance(500);
    sent.kind = draft.requires_ack ? "roll call" : "broadcast";
    readers.insert("*");
  } else {
    draft.receiver = random.pick(stage_.agents)->name();
    readers.insert(draft.receiver);
    sent.kind = "direct";
    if (roll < 45) {
      draft.type = random.chance(700) ? "request" : "query";
      draft.on_timeout = random.chance(300) ? "retry" : "";
      draft.response_timeout = random.chance(500) ? base::seconds(20) : Duration{};
      sent.kind = "request";
      sent.may_repeat = draft.on_timeout == "retry";
      sent.waits = !uses_tools() && random.chance(200);
      sent.task = dialect() == "inbox" && draft.type == "request" ? draft.task : "";
    } else if (random.chance(60)) {
      draft.ttl = base::seconds(static_cast<int64_t>(1 + random.below(60)));
    }
  }
  sent.marker = stage_.new_marker(name(), readers);
  sent.to = draft.receiver;
  sent.priority = draft.priority;
  sent.ttl = draft.ttl;
  draft.words = some_words(sent.marker, random);
  sent.body = draft.words;
  sent.text = written(uses_tools() ? "mcp" : dialect(), draft, stage_.now(), sent.id);
  if (sent.may_repeat || (dialect() == "collab" && sent.kind == "request")) {
    stage_.repeated.insert(sent.marker);
  }
  submit(std::move(sent));
}

void Agent::answer(Mail& mail) {
  sim::Random& random = stage_.random();
  if (stage_.find(mail.from) == nullptr) {
    settle(mail, Mail::Act::ack);
    return;
  }
  Sent sent;
  sent.kind = "answer";
  const auto group = stage_.groups.find(mail.thread);
  sent.marker = stage_.new_marker(
      name(), group == stage_.groups.end() ? std::set<std::string>{mail.from} : group->second);
  sent.to = mail.from;
  sent.answers = mail.id;
  Draft draft{.sender = name(), .receiver = mail.from, .type = "response"};
  draft.in_reply_to = mail.id;
  draft.task = mail.task;
  draft.conversation = "answers";
  draft.words = some_words(sent.marker, random);
  // In a pipeline mostly more than the next stage takes, if that one speaks inbox. The marker
  // decides: a number that is drawn would change all that follows.
  if (group != stage_.groups.end() && dialect() != "inbox" && stage_.last_marker % 3 != 0) {
    constexpr size_t inbox_content_bytes = 10 * 1'024;
    draft.words.append(inbox_content_bytes, 'z');
    stage_.setting.coverage.count("sends", "large answer");
  }
  sent.body = draft.words;
  sent.text = written(uses_tools() ? "mcp" : dialect(), draft, stage_.now(), sent.id);
  mail.act = Mail::Act::answer;
  mail.state = Mail::State::asked;
  submit(std::move(sent));
}

void Agent::submit(Sent sent) {
  sent.target = "/v1/messages";
  if (uses_tools()) {
    sent.target = "mcp";
  } else if (sent.waits) {
    sent.target += "?wait=15s";
  } else if (socket_ != nullptr && socket_->is_open() && stage_.random().chance(500)) {
    sent.target = "ws";
  }
  // Some are not to wait for one who is away: they are tried again. The marker decides, as above.
  if (sent.target == "/v1/messages" && sent.kind == "direct" && dialect() == "collab" &&
      stage_.last_marker % 3 != 0) {
    sent.target += "?on_unavailable=fail";
  }
  sent.life = notes_.life;
  sent.asked = stage_.now();
  sent.asked_at = stage_.step;
  stage_.setting.coverage.count("sends", sent.kind);
  note(text("sends {} {} to {} ({})", sent.kind, sent.marker, sent.to, sent.id));
  notes_.sent.push_back(std::move(sent));
  send(notes_.sent.size() - 1);
}

void Agent::send(size_t index) {
  Sent& sent = notes_.sent[index];
  sent.in_flight = true;
  ++sent.tries;
  if (sent.target == "mcp") {
    send_by_tool(index);
    return;
  }
  if (sent.target == "ws" && socket_ != nullptr && socket_->is_open()) {
    const uint64_t ref = ++last_ref_;
    refs_[ref] = [this, index](Json told) {
      Sent& told_of = notes_.sent[index];
      told_of.in_flight = false;
      if (told.find("ok") && told.find("ok").as_bool() == true) {
        on_receipt(index, told);
      } else {
        const Json error = told.find("error");
        const Json status = error ? error.find("status") : Json{};
        refused(index, static_cast<int>(status ? status.as_int64().value_or(0) : 0),
                error && error.find("code") ? *error.find("code").as_string() : "");
      }
    };
    socket_->send(text(R"({"op":"send","ref":{},"message":{}})", ref, sent.text));
    return;
  }
  const std::string target = sent.target == "ws" ? "/v1/messages" : sent.target;
  const auto done = [this, index](const Reply& reply) { on_receipt(index, reply); };
  if (sent.waits) {  // it holds up what is asked behind it
    const Ask post{"POST", target, sent.text};
    wire(polls_).ask(post, token_, [this, done, post](const Reply& reply) {
      stage_.hear(name(), post, reply);
      done(reply);
    });
    return;
  }
  ask({"POST", target, sent.text}, done);
}

void Agent::send_batch() {
  sim::Random& random = stage_.random();
  std::vector<size_t> batch;
  std::string body = "[";
  const uint64_t count = 1 + random.below(6);
  for (uint64_t n = 0; n < count; ++n) {
    Draft draft{.sender = name()};
    Sent sent;
    sent.kind = "direct";
    draft.receiver = sent.to = random.pick(stage_.agents)->name();
    draft.priority = sent.priority = random.pick(priorities);
    draft.conversation = text("batch-{}", random.below(20));
    sent.marker = stage_.new_marker(name(), {sent.to});
    draft.words = sent.body = some_words(sent.marker, random);
    sent.text = written(dialect(), draft, stage_.now(), sent.id);
    sent.target = "/v1/messages";
    sent.asked = stage_.now();
    sent.asked_at = stage_.step;
    sent.life = notes_.life;
    sent.tries = 1;
    sent.in_flight = true;
    body += (n > 0 ? "," : "") + sent.text;
    note(text("sends in a batch {} to {} ({})", sent.marker, sent.to, sent.id));
    notes_.sent.push_back(std::move(sent));
    batch.push_back(notes_.sent.size() - 1);
  }
  stage_.setting.coverage.count("sends", "batch");
  ask({"POST", "/v1/messages", body + "]"}, [this, batch](const Reply& reply) {
    lib::JsonDocument document;
    const auto parsed =
        reply.status == 202 ? document.parse(reply.body) : std::expected<Json, base::Error>(Json{});
    size_t at = 0;
    if (parsed && *parsed) {
      for (const Json result : parsed->find("results").elements()) {
        const size_t index = batch[std::min(at++, batch.size() - 1)];
        notes_.sent[index].in_flight = false;
        const Json code = result.find("code");
        if (!code) {
          on_receipt(index, result);
        } else {
          const Json status = result.find("status");
          refused(index, static_cast<int>(status ? status.as_int64().value_or(0) : 0),
                  code.as_string().value_or(""));
        }
      }
      if (at != batch.size()) {
        stage_.fail("answer",
                    text("{} sent a batch of {} and was told of {}", name(), batch.size(), at));
      }
    }
    for (; at < batch.size(); ++at) {
      notes_.sent[batch[at]].in_flight = false;
    }
  });
}

void Agent::on_receipt(size_t index, const Reply& reply) {
  notes_.sent[index].in_flight = false;
  if (reply.lost) {
    return;
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (!parsed) {
    stage_.fail("schema", text("{} gets an answer that is no JSON: {}", name(), reply.body));
    return;
  }
  if (reply.status == 202) {
    on_receipt(index, *parsed);
  } else if (reply.status == 200 && parsed->find("response")) {
    Sent& sent = notes_.sent[index];
    sent.fate = Sent::Fate::accepted;
    sent.told = stage_.now();
    sent.told_at = stage_.step;
    Mail& mail = see(parsed->find("response"), 0, "an awaited answer");
    mail.ever_acked = true;
    mail.may_repeat = true;                      // where that could not be stored, it comes again
    if (mail.state != Mail::State::confirmed) {  // it may have come otherwise, too
      mail.act = Mail::Act::ack;
      mail.state = Mail::State::confirmed;
      mail.confirmed_at = stage_.step;
    }
  } else {
    const Json code = parsed->find("code");
    refused(index, reply.status, code ? code.as_string().value_or("") : "");
  }
}

void Agent::on_receipt(size_t index, Json receipt) {
  Sent& sent = notes_.sent[index];
  const Json seq = receipt.find("seq");
  const uint64_t place = seq ? seq.as_uint64().value_or(0) : 0;
  if (sent.seq != 0 && place != sent.seq) {
    stage_.fail("receipt", text("{} was told that {} is {}, and now {}", name(), sent.marker,
                                sent.seq, place));
  }
  sent.seq = place;
  sent.was_put_off |= !!receipt.find("delay") || sent.tries > 1;  // a repeat is not told
  if (receipt.find("delay") && sent.target.ends_with("=fail")) {
    stage_.setting.coverage.count("sends", "to one who is away");
  }
  const std::string_view raw = receipt.raw();
  if (raw.find(R"("state":"dead")") != raw.npos || raw.find(R"("dead":)") != raw.npos) {
    stage_.repeated.insert(sent.marker);  // the broker tries it again, behind others
  }
  sent.id = sent.id.empty() ? std::string(string_of(receipt, "id")) : sent.id;
  if (sent.fate != Sent::Fate::accepted) {
    sent.fate = Sent::Fate::accepted;
    sent.told = stage_.now();
    sent.told_at = stage_.step;
    stage_.setting.coverage.count("accepted", sent.kind);
  }
  if (!sent.task.empty()) {
    undertakings_.gave_task(std::exchange(sent.task, {}), sent.marker);
  }
  if (!sent.answers.empty()) {
    Mail& mail = notes_.mail[sent.answers];
    if (mail.state != Mail::State::confirmed) {
      mail.act = Mail::Act::answer;  // not the ack that it asked for since: nobody was told of that
    }
    mail.state = Mail::State::confirmed;
    mail.confirmed_at = stage_.step;
  }
}

void Agent::refused(size_t index, int status, std::string_view code) {
  Sent& sent = notes_.sent[index];
  stage_.setting.coverage.count("refused", code);
  if (status == 401) {
    return;  // its token was replaced meanwhile
  }
  if (sent.waits && (code == "TIMEOUT" || code == "NOT_ANSWERED")) {
    sent.fate = Sent::Fate::accepted;
    sent.told = stage_.now();
    sent.told_at = stage_.step;
    return;
  }
  if (status >= 500 || status == too_slow) {
    return;  // it may be there all the same
  }
  sent.fate = Sent::Fate::refused;
  sent.code = code;
  if (!sent.answers.empty()) {
    Mail& mail = notes_.mail[sent.answers];
    mail.state = Mail::State::none;
    mail.cannot_answer = true;  // so it is acknowledged
  }
}

// What nobody knows of is sent again as it was: the broker tells repeats by their id.
void Agent::send_again() {
  for (size_t n = 0; n < notes_.sent.size(); ++n) {
    Sent& sent = notes_.sent[n];
    if (sent.fate == Sent::Fate::open && !sent.in_flight) {
      stage_.setting.coverage.count("sends", "again");
      // Every second caller that blocked does so no more: it finds the answer in its inbox.
      if (sent.waits && sent.asked_at % 2 == 0) {
        sent.waits = false;
        sent.target = "/v1/messages";
      }
      send(n);
      if (!stage_.draining) {
        return;
      }
    }
  }
}

void Agent::subscribe() {
  sim::Random& random = stage_.random();
  const std::string topic = random.pick(stage_.topics);
  const bool joins = random.chance(700);
  if (joins) {  // from now on it may be in
    stage_.subscribers[topic].insert(name());
  } else {  // from now on it may be out
    notes_.subscribed[topic].emplace_back(stage_.step, false);
  }
  ask({joins ? "PUT" : "DELETE", "/v1/topics/" + percent(topic) + "/subscription"},
      [this, topic, joins](const Reply& reply) {
        if (reply.status == 200 || !joins) {
          notes_.subscribed[topic].emplace_back(stage_.step, joins);
        }
      });
}

}  // namespace parley::edge_sim
