// SPDX-License-Identifier: Apache-2.0
// What an agent does about a message that it got.
#include <algorithm>

#include "lib/json_writer.h"
#include "sim/client/agent.h"
#include "sim/client/letters.h"

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

std::string Agent::percent(std::string_view id) {
  std::string out;
  for (const char c : id) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    plain ? out.push_back(c) : void(out.append({'%', digits[byte >> 4], digits[byte & 15]}));
  }
  return out;
}

void Agent::decide(Mail& mail) {
  const bool is_done = mail.state == Mail::State::confirmed && mail.act != Mail::Act::nack;
  if (is_done || mail.state == Mail::State::asked || mail.state == Mail::State::unknown) {
    return;
  }
  mail.state = Mail::State::none;
  sim::Random& random = stage_.random();
  if (stage_.draining) {
    const bool is_task = !mail.task.empty() && mail.wants_answer && !mail.cannot_answer;
    is_task ? answer(mail) : settle(mail, Mail::Act::ack);
    return;
  }
  const uint64_t roll = random.below(100);
  if (mail.wants_answer && !mail.cannot_answer && roll < 40) {
    answer(mail);
  } else if (roll < 60) {
    settle(mail, Mail::Act::ack);
  } else if (roll < 66) {
    settle(mail, Mail::Act::nack,
           random.chance(500) ? R"("reason":"not now","retry_after":"3s")" : R"("failed":false)");
  } else if (roll < 69) {
    settle(mail, Mail::Act::reject, R"("reason":"not for me")");
  } else if (roll < 72) {
    const std::string id = mail.id;
    ask({"POST", "/v1/messages/" + percent(id) + "/extend", R"({"lease":"2m"})"},
        [](const Reply&) {});
  }  // else it is put off, and its lease may end
}

void Agent::settle(Mail& mail, Mail::Act act, std::string_view more) {
  mail.act = act;
  mail.state = Mail::State::asked;
  mail.ever_acked |= act == Mail::Act::ack;
  mail.ever_rejected |= act == Mail::Act::reject;
  mail.given_back |= act == Mail::Act::nack;
  if (uses_tools()) {
    settle_by_tool(mail, act);
  } else if (socket_ != nullptr && socket_->is_open() && stage_.random().chance(700)) {
    settle_over_socket(mail, act, more);
  } else {
    settle_over_http(mail, act, more);
  }
}

void Agent::settle_over_http(Mail& mail, Mail::Act act, std::string_view more) {
  const bool by_seq = mail.seq != 0 && stage_.random().chance(300);
  const std::string named = by_seq ? std::to_string(mail.seq) : percent(mail.id);
  ask({"POST", text("/v1/messages/{}/{}", named, word(act)),
       more.empty() ? "" : text("{{}}", more)},
      [this, id = mail.id, act](const Reply& reply) { on_settled(id, act, reply); });
}

void Agent::settle_over_socket(Mail& mail, Mail::Act act, std::string_view more) {
  const uint64_t ref = ++last_ref_;
  std::string op = text(R"({"op":"{}","ref":{},)", word(act), ref);
  if (mail.seq != 0 && stage_.random().chance(500)) {
    op += text(R"("seq":{})", mail.seq);
  } else {
    op += R"("id":)";
    lib::append_json_string(op, mail.id);
  }
  op += more.empty() ? "}" : text(",{}}", more);
  refs_[ref] = [this, id = mail.id, act, connection = push_connection_](Json told) {
    const bool ok = told.find("ok") && told.find("ok").as_bool() == true;
    const Json error = told.find("error");
    on_settled(id, act,
               {.lost = false,
                .status = ok ? 200 : static_cast<int>(number_of(error, "status")),
                .body = std::string(error ? error.raw() : "")});
    Mail& settled = notes_.mail[id];
    if (settled.act == act && settled.state == Mail::State::confirmed) {
      settled.confirmed_on = connection;
    }
  };
  socket_->send(op);
  // Whether it got there nobody knows once the socket is gone: see `drain`.
  mail.state = Mail::State::unknown;
}

// By its seq, as if this connection had brought it. That may be refused; it must not acknowledge
// others that came with it.
void Agent::acknowledge_upto_early(const Mail& mail) {
  notes_.mail[mail.id].ever_acked = true;
  note(text("acknowledges up to {}, which came on an earlier connection", mail.seq));
  stage_.setting.coverage.count("settled", "upto early");
  socket_->send(text(R"({"op":"ack","ref":{},"upto":{}})", ++last_ref_, mail.seq));
}

// Everything that came on this stream so far.
void Agent::acknowledge_upto() {
  if (socket_ == nullptr || !socket_->is_open() || upto_.empty()) {
    return;
  }
  const auto early = std::ranges::find_if(notes_.mail, [this](const auto& item) {
    const Mail& mail = item.second;
    return mail.connection == push_connection_ && mail.mark == 0 && mail.seq != 0 &&
           mail.state == Mail::State::none;
  });
  if (early != notes_.mail.end() && stage_.random().chance(400)) {
    acknowledge_upto_early(early->second);
    return;
  }
  std::vector<std::string> covered;
  // What it was given before the stream was resumed, or some time ago, may not be held any more:
  // the count does not say which of them.
  constexpr Duration surely_held = base::seconds(4);
  bool is_sure = !stage_.clock_was_set;
  for (auto& [id, mail] : notes_.mail) {
    if (mail.connection != push_connection_ || mail.state == Mail::State::confirmed) {
      continue;
    }
    is_sure =
        is_sure && mail.mark > 0 && !mail.given_back && stage_.now() - mail.pushed < surely_held;
    mail.ever_acked = true;  // one that it gave back too, if that got lost
    if (!mail.given_back) {
      mail.act = Mail::Act::ack;
      mail.state = Mail::State::unknown;
      covered.push_back(id);
    }
  }
  const uint64_t ref = ++last_ref_;
  refs_[ref] = [this, covered, is_sure, connection = push_connection_](Json told) {
    const bool ok = told.find("ok") && told.find("ok").as_bool() == true;
    if (!ok || !is_sure || number_of(told, "count") != covered.size()) {
      return;  // the lease of one was over, say: nobody knows of which
    }
    for (const std::string& id : covered) {
      Mail& mail = notes_.mail[id];
      mail.state = Mail::State::confirmed;
      mail.confirmed_at = stage_.step;
      mail.confirmed_on = connection;
    }
    stage_.setting.coverage.count("settled", "upto");
  };
  const bool by_seq = upto_seq_ != 0 && stage_.random().chance(300);
  const std::string upto = by_seq ? std::to_string(upto_seq_) : "\"" + upto_ + "\"";
  note(text("acknowledges up to {}: {} messages", upto, covered.size()));
  socket_->send(text(R"({"op":"ack","ref":{},"upto":{}})", ref, upto));
}

void Agent::on_settled(const std::string& id, Mail::Act act, const Reply& reply) {
  Mail& mail = notes_.mail[id];
  if (mail.act != act) {
    return;
  }
  if (reply.lost || reply.status >= 500 || reply.status == too_slow) {
    mail.state = Mail::State::unknown;
    return;
  }
  if (reply.status == 200) {
    mail.state = act == Mail::Act::nack ? Mail::State::none : Mail::State::confirmed;
    mail.confirmed_at = stage_.step;
    mail.confirmed_on = 0;
    stage_.setting.coverage.count("settled", word(act));
    return;
  }
  mail.code = code_in(reply.body);
  if (mail.code == "NOT_DELIVERED") {
    mail.state = Mail::State::none;  // its lease was over: it comes again
  } else if (mail.code == "SESSION_PAUSED" || mail.code == "UNAUTHORIZED") {
    mail.state = Mail::State::none;
  } else {
    mail.state = Mail::State::refused;
  }
  stage_.setting.coverage.count("settled", text("{} {}", word(act), mail.code));
}

}  // namespace parley::edge_sim
