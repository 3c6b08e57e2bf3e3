// SPDX-License-Identifier: Apache-2.0
#include "sim/client/message_sender.h"

#include <algorithm>
#include <array>
#include <expected>
#include <set>
#include <utility>
#include <vector>

#include "sim/client/agent.h"
#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

constexpr std::array<std::string_view, 8> priorities = {"normal", "normal", "normal",   "normal",
                                                        "low",    "high",   "critical", "critical"};

int status_in(Json error) {
  const Json status = error ? error.find("status") : Json{};
  return static_cast<int>(status ? status.as_int64().value_or(0) : 0);
}

}  // namespace

void MessageSender::send_something() {
  sim::Random& random = run_.random();
  Draft draft{.sender = agent_.name()};
  Sent sent;
  draft.priority = random.pick(priorities);
  draft.conversation = text("talk-{}", random.below(40));
  draft.task = text("t-{}", run_.last_marker + 1);
  const uint64_t roll = random.below(100);
  std::set<std::string> readers;
  if (roll < 12) {
    draft.receiver = random.pick(run_.topics);
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
    draft.receiver = random.pick(run_.agents)->name();
    readers.insert(draft.receiver);
    sent.kind = "direct";
    if (roll < 45) {
      draft.type = random.chance(700) ? "request" : "query";
      draft.on_timeout = random.chance(300) ? "retry" : "";
      draft.response_timeout = random.chance(500) ? base::seconds(20) : Duration{};
      sent.kind = "request";
      sent.may_repeat = draft.on_timeout == "retry";
      sent.waits = !agent_.uses_tools() && random.chance(200);
      sent.task = agent_.dialect() == "inbox" && draft.type == "request" ? draft.task : "";
    } else if (random.chance(60)) {
      draft.ttl = base::seconds(static_cast<int64_t>(1 + random.below(60)));
    }
  }
  sent.marker = run_.new_marker(agent_.name(), readers);
  sent.to = draft.receiver;
  sent.priority = draft.priority;
  sent.ttl = draft.ttl;
  draft.words = some_words(sent.marker, random);
  sent.body = draft.words;
  sent.text = encode(agent_.uses_tools() ? "mcp" : agent_.dialect(), draft, run_.now(), sent.id);
  const bool retries = agent_.dialect() == "collab" || agent_.dialect() == "superprompt";
  if (sent.may_repeat || (retries && sent.kind == "request")) {
    run_.repeated.insert(sent.marker);
  }
  submit(std::move(sent));
}

void MessageSender::answer(Mail& mail) {
  sim::Random& random = run_.random();
  if (run_.find(mail.from) == nullptr) {
    agent_.settler().settle(mail, Mail::Act::ack);
    return;
  }
  Sent sent;
  sent.kind = "answer";
  const auto group = run_.groups.find(mail.thread);
  sent.marker = run_.new_marker(
      agent_.name(), group == run_.groups.end() ? std::set<std::string>{mail.from} : group->second);
  sent.to = mail.from;
  sent.answers = mail.id;
  Draft draft{.sender = agent_.name(), .receiver = mail.from, .type = "response"};
  draft.in_reply_to = mail.id;
  draft.task = mail.task;
  draft.conversation = "answers";
  draft.words = some_words(sent.marker, random);
  // In a pipeline the answer is mostly larger than the next stage takes, if that one speaks inbox.
  // The marker decides, because a number that is drawn would change all that follows.
  if (group != run_.groups.end() && agent_.dialect() != "inbox" && run_.last_marker % 3 != 0) {
    constexpr size_t inbox_content_bytes = 10 * 1'024;
    draft.words.append(inbox_content_bytes, 'z');
    run_.setting.coverage.count("sends", "large answer");
  }
  sent.body = draft.words;
  sent.text = encode(agent_.uses_tools() ? "mcp" : agent_.dialect(), draft, run_.now(), sent.id);
  mail.act = Mail::Act::answer;
  mail.state = Mail::State::asked;
  submit(std::move(sent));
}

void MessageSender::submit(Sent sent) {
  sent.target = "/v1/messages";
  if (agent_.uses_tools()) {
    sent.target = "mcp";
  } else if (sent.waits) {
    sent.target += "?wait=15s";
  } else if (agent_.connections().socket() != nullptr && run_.random().chance(500)) {
    sent.target = "ws";
  }
  // Some are not to wait for a receiver that is away: they are tried again. The marker decides, as
  // above.
  if (sent.target == "/v1/messages" && sent.kind == "direct" && agent_.dialect() == "collab" &&
      run_.last_marker % 3 != 0) {
    sent.target += "?on_unavailable=fail";
  }
  sent.life = agent_.record().life;
  sent.asked = run_.now();
  sent.asked_at = run_.step;
  run_.setting.coverage.count("sends", sent.kind);
  agent_.note(text("sends {} {} to {} ({})", sent.kind, sent.marker, sent.to, sent.id));
  agent_.record().sent.push_back(std::move(sent));
  send(agent_.record().sent.size() - 1);
}

void MessageSender::send(size_t index) {
  Sent& sent = agent_.record().sent[index];
  sent.in_flight = true;
  ++sent.tries;
  if (sent.target == "mcp") {
    send_by_tool(index);
    return;
  }
  if (sent.target == "ws" && agent_.connections().socket() != nullptr) {
    send_over_socket(index);
    return;
  }
  const std::string target = sent.target == "ws" ? "/v1/messages" : sent.target;
  const auto done = [this, index](const Reply& reply) { on_receipt(index, reply); };
  if (sent.waits) {  // It would hold up what is asked behind it.
    agent_.connections().ask_slowly({"POST", target, sent.text}, done);
    return;
  }
  agent_.ask({"POST", target, sent.text}, done);
}

void MessageSender::send_over_socket(size_t index) {
  Connections& connections = agent_.connections();
  const uint64_t ref = connections.operations().begin([this, index](Json reply) {
    agent_.record().sent[index].in_flight = false;
    if (reply.find("ok") && reply.find("ok").as_bool() == true) {
      on_receipt(index, reply);
    } else {
      const Json error = reply.find("error");
      refused(index, status_in(error),
              error && error.find("code") ? *error.find("code").as_string() : "");
    }
  });
  connections.socket()->send(
      text(R"({"op":"send","ref":{},"message":{}})", ref, agent_.record().sent[index].text));
}

void MessageSender::send_by_tool(size_t index) {
  agent_.connections().mcp()->call("sendMessage", agent_.record().sent[index].text,
                                   [this, index](const McpClient::Called& called) {
                                     Sent& sent = agent_.record().sent[index];
                                     sent.in_flight = false;
                                     if (called.lost || is_unsure(called.code)) {
                                       // It has no id by which it could be sent again without being
                                       // sent twice.
                                       sent.fate = Sent::Fate::unknown;
                                       if (!sent.answers.empty()) {
                                         agent_.record().mail[sent.answers].state =
                                             Mail::State::none;
                                       }
                                       return;
                                     }
                                     lib::JsonDocument document;
                                     const auto receipt = document.parse(called.text);
                                     if (!called.code.empty()) {
                                       refused(index, 400, called.code);
                                     } else if (receipt) {
                                       on_receipt(index, *receipt);
                                     }
                                   });
}

void MessageSender::send_batch() {
  std::vector<size_t> batch;
  std::string body = "[";
  const uint64_t count = 1 + run_.random().below(6);
  for (uint64_t n = 0; n < count; ++n) {
    batch.push_back(add_to_batch());
    body += (n > 0 ? "," : "") + agent_.record().sent.back().text;
  }
  run_.setting.coverage.count("sends", "batch");
  agent_.ask({"POST", "/v1/messages", body + "]"},
             [this, batch](const Reply& reply) { on_batch(batch, reply); });
}

// Returns the index of the message in the record.
size_t MessageSender::add_to_batch() {
  sim::Random& random = run_.random();
  Draft draft{.sender = agent_.name()};
  Sent sent;
  sent.kind = "direct";
  draft.receiver = sent.to = random.pick(run_.agents)->name();
  draft.priority = sent.priority = random.pick(priorities);
  draft.conversation = text("batch-{}", random.below(20));
  sent.marker = run_.new_marker(agent_.name(), {sent.to});
  draft.words = sent.body = some_words(sent.marker, random);
  sent.text = encode(agent_.dialect(), draft, run_.now(), sent.id);
  sent.target = "/v1/messages";
  sent.asked = run_.now();
  sent.asked_at = run_.step;
  sent.life = agent_.record().life;
  sent.tries = 1;
  sent.in_flight = true;
  agent_.note(text("sends in a batch {} to {} ({})", sent.marker, sent.to, sent.id));
  agent_.record().sent.push_back(std::move(sent));
  return agent_.record().sent.size() - 1;
}

void MessageSender::on_batch(const std::vector<size_t>& batch, const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed =
      reply.status == 202 ? document.parse(reply.body) : std::expected<Json, base::Error>(Json{});
  size_t at = 0;
  if (parsed && *parsed) {
    for (const Json result : parsed->find("results").elements()) {
      const size_t index = batch[std::min(at++, batch.size() - 1)];
      agent_.record().sent[index].in_flight = false;
      const Json code = result.find("code");
      if (!code) {
        on_receipt(index, result);
      } else {
        refused(index, status_in(result), code.as_string().value_or(""));
      }
    }
    if (at != batch.size()) {
      run_.fail("answer",
                text("{} sent a batch of {} and was told of {}", agent_.name(), batch.size(), at));
    }
  }
  for (; at < batch.size(); ++at) {
    agent_.record().sent[batch[at]].in_flight = false;
  }
}

void MessageSender::on_receipt(size_t index, const Reply& reply) {
  agent_.record().sent[index].in_flight = false;
  if (reply.lost) {
    return;
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (!parsed) {
    run_.fail("schema", text("{} gets an answer that is no JSON: {}", agent_.name(), reply.body));
    return;
  }
  if (reply.status == 202) {
    on_receipt(index, *parsed);
  } else if (reply.status == 200 && parsed->find("response")) {
    on_awaited_answer(index, parsed->find("response"));
  } else {
    const Json code = parsed->find("code");
    refused(index, reply.status, code ? code.as_string().value_or("") : "");
  }
}

// A caller that waited has the answer, which is acknowledged with that.
void MessageSender::on_awaited_answer(size_t index, Json answer) {
  Sent& sent = agent_.record().sent[index];
  sent.fate = Sent::Fate::accepted;
  sent.told = run_.now();
  sent.told_at = run_.step;
  Mail& mail = agent_.reader().see(answer, 0, "an awaited answer");
  mail.ever_acked = true;
  mail.may_repeat = true;                      // Where the ack could not be stored, it comes again.
  if (mail.state != Mail::State::confirmed) {  // It may have come otherwise, too.
    mail.act = Mail::Act::ack;
    mail.state = Mail::State::confirmed;
    mail.confirmed_at = run_.step;
  }
}

void MessageSender::on_receipt(size_t index, Json receipt) {
  Sent& sent = agent_.record().sent[index];
  const Json seq = receipt.find("seq");
  const uint64_t place = seq ? seq.as_uint64().value_or(0) : 0;
  if (sent.seq != 0 && place != sent.seq) {
    run_.fail("receipt", text("{} was told that {} is {}, and now {}", agent_.name(), sent.marker,
                              sent.seq, place));
  }
  sent.seq = place;
  // A repeat is not told of the delay.
  sent.was_put_off |= !!receipt.find("delay") || sent.tries > 1;
  if (receipt.find("delay") && sent.target.ends_with("=fail")) {
    run_.setting.coverage.count("sends", "to one who is away");
  }
  const std::string_view raw = receipt.raw();
  if (raw.find(R"("state":"dead")") != raw.npos || raw.find(R"("dead":)") != raw.npos) {
    run_.repeated.insert(sent.marker);  // The broker tries it again, behind others.
  }
  sent.id = sent.id.empty() ? std::string(string_of(receipt, "id")) : sent.id;
  if (sent.fate != Sent::Fate::accepted) {
    sent.fate = Sent::Fate::accepted;
    sent.told = run_.now();
    sent.told_at = run_.step;
    run_.setting.coverage.count("accepted", sent.kind);
  }
  if (!sent.task.empty()) {
    agent_.jobs().gave_task(std::exchange(sent.task, {}), sent.marker);
  }
  if (!sent.answers.empty()) {
    Mail& mail = agent_.record().mail[sent.answers];
    if (mail.state != Mail::State::confirmed) {
      // Not the ack that it asked for since: nobody was told of that.
      mail.act = Mail::Act::answer;
    }
    mail.state = Mail::State::confirmed;
    mail.confirmed_at = run_.step;
  }
}

void MessageSender::refused(size_t index, int status, std::string_view code) {
  Sent& sent = agent_.record().sent[index];
  run_.setting.coverage.count("refused", code);
  if (status == 401) {
    return;  // Its token was replaced meanwhile.
  }
  if (sent.waits && (code == "TIMEOUT" || code == "NOT_ANSWERED")) {
    sent.fate = Sent::Fate::accepted;
    sent.told = run_.now();
    sent.told_at = run_.step;
    return;
  }
  if (status >= 500 || status == too_slow) {
    return;  // It may be there all the same.
  }
  sent.fate = Sent::Fate::refused;
  sent.code = code;
  if (!sent.answers.empty()) {
    Mail& mail = agent_.record().mail[sent.answers];
    mail.state = Mail::State::none;
    mail.cannot_answer = true;  // So it is acknowledged.
  }
}

// It is sent as it was: the broker knows repeats by their id.
void MessageSender::send_again() {
  for (size_t n = 0; n < agent_.record().sent.size(); ++n) {
    Sent& sent = agent_.record().sent[n];
    if (sent.fate == Sent::Fate::open && !sent.in_flight) {
      run_.setting.coverage.count("sends", "again");
      // Every second caller that blocked does so no more: it finds the answer in its inbox.
      if (sent.waits && sent.asked_at % 2 == 0) {
        sent.waits = false;
        sent.target = "/v1/messages";
      }
      send(n);
      if (!run_.draining) {
        return;
      }
    }
  }
}

void MessageSender::subscribe() {
  sim::Random& random = run_.random();
  const std::string topic = random.pick(run_.topics);
  const bool joins = random.chance(700);
  if (joins) {  // From now on it may be in.
    run_.subscribers[topic].insert(agent_.name());
  } else {  // From now on it may be out.
    agent_.record().subscribed[topic].emplace_back(run_.step, false);
  }
  agent_.ask({joins ? "PUT" : "DELETE", "/v1/topics/" + percent_encoded(topic) + "/subscription"},
             [this, topic, joins](const Reply& reply) {
               if (reply.status == 200 || !joins) {
                 agent_.record().subscribed[topic].emplace_back(run_.step, joins);
               }
             });
}

}  // namespace parley::edge_sim
