// SPDX-License-Identifier: Apache-2.0
#include "sim/client/mail_settler.h"

#include <algorithm>
#include <utility>

#include "lib/json_writer.h"
#include "sim/client/agent.h"
#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

std::string_view word(Mail::Act act) {
  switch (act) {
    case Mail::Act::ack:
      return "ack";
    case Mail::Act::nack:
      return "nack";
    case Mail::Act::reject:
      return "reject";
    default:
      return "extend";
  }
}

std::string code_in(std::string_view body) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  const Json code = parsed ? parsed->find("code") : Json{};
  return std::string(code ? code.as_string().value_or("") : "");
}

}  // namespace

void MailSettler::decide(Mail& mail) {
  const bool is_done = mail.state == Mail::State::confirmed && mail.act != Mail::Act::nack;
  if (is_done || mail.state == Mail::State::asked || mail.state == Mail::State::unknown) {
    return;
  }
  mail.state = Mail::State::none;
  sim::Random& random = run_.random();
  if (run_.draining) {
    const bool is_task = !mail.task.empty() && mail.wants_answer && !mail.cannot_answer;
    is_task ? agent_.sender().answer(mail) : settle(mail, Mail::Act::ack);
    return;
  }
  const uint64_t roll = random.below(100);
  if (mail.wants_answer && !mail.cannot_answer && roll < 40) {
    agent_.sender().answer(mail);
  } else if (roll < 60) {
    settle(mail, Mail::Act::ack);
  } else if (roll < 66) {
    settle(mail, Mail::Act::nack,
           random.chance(500) ? R"("reason":"not now","retry_after":"3s")" : R"("failed":false)");
  } else if (roll < 69) {
    settle(mail, Mail::Act::reject, R"("reason":"not for me")");
  } else if (roll < 72) {
    const std::string id = mail.id;
    agent_.ask({"POST", "/v1/messages/" + percent_encoded(id) + "/extend", R"({"lease":"2m"})"},
               [](const Reply&) {});
  }  // Else it is put off, and its lease may end.
}

void MailSettler::settle(Mail& mail, Mail::Act act, std::string_view more) {
  mail.act = act;
  mail.state = Mail::State::asked;
  mail.ever_acked |= act == Mail::Act::ack;
  mail.ever_rejected |= act == Mail::Act::reject;
  mail.given_back |= act == Mail::Act::nack;
  if (agent_.uses_tools()) {
    settle_by_tool(mail, act);
  } else if (agent_.connections().socket() != nullptr && run_.random().chance(700)) {
    settle_over_socket(mail, act, more);
  } else {
    settle_over_http(mail, act, more);
  }
}

void MailSettler::settle_over_http(Mail& mail, Mail::Act act, std::string_view more) {
  const bool by_seq = mail.seq != 0 && run_.random().chance(300);
  const std::string named = by_seq ? std::to_string(mail.seq) : percent_encoded(mail.id);
  agent_.ask({"POST", text("/v1/messages/{}/{}", named, word(act)),
              more.empty() ? "" : text("{{}}", more)},
             [this, id = mail.id, act](const Reply& reply) { on_settled(id, act, reply); });
}

void MailSettler::settle_over_socket(Mail& mail, Mail::Act act, std::string_view more) {
  const uint64_t ref = agent_.connections().operations().begin(
      [this, id = mail.id, act, connection = agent_.push().connection()](Json reply) {
        const bool ok = reply.find("ok") && reply.find("ok").as_bool() == true;
        const Json error = reply.find("error");
        on_settled(id, act,
                   {.lost = false,
                    .status = ok ? 200 : static_cast<int>(number_of(error, "status")),
                    .body = std::string(error ? error.raw() : "")});
        Mail& settled = agent_.record().mail[id];
        if (settled.act == act && settled.state == Mail::State::confirmed) {
          settled.confirmed_on = connection;
        }
      });
  std::string op = text(R"({"op":"{}","ref":{},)", word(act), ref);
  if (mail.seq != 0 && run_.random().chance(500)) {
    op += text(R"("seq":{})", mail.seq);
  } else {
    op += R"("id":)";
    lib::append_json_string(op, mail.id);
  }
  op += more.empty() ? "}" : text(",{}}", more);
  agent_.connections().socket()->send(op);
  // Once the socket is gone nobody knows whether it got there: see Agent::drain.
  mail.state = Mail::State::unknown;
}

void MailSettler::settle_by_tool(const Mail& mail, Mail::Act act) {
  const std::string_view outcome = act == Mail::Act::ack    ? "done"
                                   : act == Mail::Act::nack ? "retry"
                                                            : "reject";
  std::string arguments;
  lib::JsonWriter(arguments)
      .object()
      .key("messageId")
      .text(mail.id)
      .key("outcome")
      .text(outcome)
      .key("reason")
      .text("so be it")
      .end_object();
  agent_.connections().mcp()->call("ackMessage", arguments,
                                   [this, id = mail.id, act](const McpClient::Called& called) {
                                     const bool unsure = called.lost || is_unsure(called.code);
                                     on_settled(id, act,
                                                {.lost = unsure,
                                                 .status = called.code.empty() ? 200 : 400,
                                                 .body = text(R"({"code":"{}"})", called.code)});
                                   });
}

void MailSettler::acknowledge_upto() {
  if (agent_.connections().socket() == nullptr || agent_.push().upto().empty()) {
    return;
  }
  const auto early = std::ranges::find_if(agent_.record().mail, [this](const auto& item) {
    const Mail& mail = item.second;
    return mail.connection == agent_.push().connection() && mail.mark == 0 && mail.seq != 0 &&
           mail.state == Mail::State::none;
  });
  if (early != agent_.record().mail.end() && run_.random().chance(400)) {
    acknowledge_upto_early(early->second);
    return;
  }
  std::vector<std::string> covered;
  // Messages that came before the stream was resumed, or some time ago, may not be held any more.
  // The count does not say which of them.
  constexpr Duration surely_held = base::seconds(4);
  bool is_sure = !run_.clock_was_set;
  for (auto& [id, mail] : agent_.record().mail) {
    if (mail.connection != agent_.push().connection() || mail.state == Mail::State::confirmed) {
      continue;
    }
    is_sure =
        is_sure && mail.mark > 0 && !mail.given_back && run_.now() - mail.pushed < surely_held;
    mail.ever_acked = true;  // Also one that it gave back, if that got lost.
    if (!mail.given_back) {
      mail.act = Mail::Act::ack;
      mail.state = Mail::State::unknown;
      covered.push_back(id);
    }
  }
  const uint64_t ref = agent_.connections().operations().begin(
      [this, covered, is_sure, connection = agent_.push().connection()](Json reply) {
        const bool ok = reply.find("ok") && reply.find("ok").as_bool() == true;
        if (!ok || !is_sure || number_of(reply, "count") != covered.size()) {
          return;  // The lease of one was over, say. Nobody knows of which.
        }
        for (const std::string& id : covered) {
          Mail& mail = agent_.record().mail[id];
          mail.state = Mail::State::confirmed;
          mail.confirmed_at = run_.step;
          mail.confirmed_on = connection;
        }
        run_.setting.coverage.count("settled", "upto");
      });
  const PushReader& push = agent_.push();
  const bool by_seq = push.upto_seq() != 0 && run_.random().chance(300);
  const std::string upto = by_seq ? std::to_string(push.upto_seq()) : "\"" + push.upto() + "\"";
  agent_.note(text("acknowledges up to {}: {} messages", upto, covered.size()));
  agent_.connections().socket()->send(text(R"({"op":"ack","ref":{},"upto":{}})", ref, upto));
}

// Acknowledges by seq, as if this connection had brought the message. That may be refused, and it
// must not acknowledge others that came with it.
void MailSettler::acknowledge_upto_early(const Mail& mail) {
  agent_.record().mail[mail.id].ever_acked = true;
  agent_.note(text("acknowledges up to {}, which came on an earlier connection", mail.seq));
  run_.setting.coverage.count("settled", "upto early");
  const uint64_t ref = agent_.connections().operations().begin({});
  agent_.connections().socket()->send(text(R"({"op":"ack","ref":{},"upto":{}})", ref, mail.seq));
}

void MailSettler::on_settled(const std::string& id, Mail::Act act, const Reply& reply) {
  Mail& mail = agent_.record().mail[id];
  if (mail.act != act) {
    return;
  }
  if (reply.lost || reply.status >= 500 || reply.status == too_slow) {
    mail.state = Mail::State::unknown;
    return;
  }
  if (reply.status == 200) {
    mail.state = act == Mail::Act::nack ? Mail::State::none : Mail::State::confirmed;
    mail.confirmed_at = run_.step;
    mail.confirmed_on = 0;
    run_.setting.coverage.count("settled", word(act));
    return;
  }
  mail.code = code_in(reply.body);
  if (mail.code == "NOT_DELIVERED") {
    mail.state = Mail::State::none;  // Its lease was over: it comes again.
  } else if (mail.code == "SESSION_PAUSED" || mail.code == "UNAUTHORIZED") {
    mail.state = Mail::State::none;
  } else {
    mail.state = Mail::State::refused;
  }
  run_.setting.coverage.count("settled", text("{} {}", word(act), mail.code));
}

}  // namespace parley::edge_sim
