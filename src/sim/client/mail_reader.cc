// SPDX-License-Identifier: Apache-2.0
#include "sim/client/mail_reader.h"

#include <charconv>

#include "sim/client/agent.h"
#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;
using Called = McpClient::Called;

void MailReader::poll(bool waits) {
  if (polling_ || !woken_) {
    return;
  }
  polling_ = true;
  const uint64_t most = agent_.uses_tools() ? 100 : 1'000;
  const uint64_t limit = run_.draining ? most : 1 + run_.random().below(20);
  if (agent_.uses_tools()) {
    poll_by_tool(waits, limit);
    return;
  }
  const uint64_t asked_at = run_.step;
  const Ask list{.target = text("/v1/inbox?limit={}{}", limit, waits ? "&wait=20s" : "")};
  agent_.connections().ask_slowly(list, [this, asked_at](const Reply& reply) {
    polling_ = false;
    if (reply.status == 200) {
      on_listing(reply.body, asked_at);
    }
  });
}

void MailReader::poll_by_tool(bool waits, uint64_t limit) {
  const uint64_t asked_at = run_.step;
  const std::string arguments = waits ? R"({"seconds":20})" : text(R"({"limit":{}})", limit);
  agent_.connections().mcp()->call(waits ? "waitForMessage" : "checkInbox", arguments,
                                   [this, asked_at](const Called& called) {
                                     polling_ = false;
                                     if (!called.lost && called.code.empty()) {
                                       on_listing(called.text, asked_at);
                                     }
                                   });
}

void MailReader::fetch_listed() {
  const std::set<std::string> listed = listed_;
  for (const std::string& id : listed) {
    fetch(id);
  }
}

void MailReader::leave() {
  listed_.clear();
  fetching_.clear();
}

std::string MailReader::pending() const {
  return text("{} listed, {} asked for", listed_.size(), fetching_.size());
}

void MailReader::on_listing(std::string_view body, uint64_t asked_at) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed) {
    run_.fail("schema", text("{} gets a listing that is no JSON: {}", agent_.name(), body));
    return;
  }
  uint64_t shown = 0;
  for (const Json item : parsed->find("notifications").elements()) {
    const std::string id(string_of(item, "id"));
    ++shown;
    const auto known = agent_.record().mail.find(id);
    if (known != agent_.record().mail.end()) {
      ++known->second.listings;
      check_repeat(known->second, asked_at, 0, "a listing");
    }
    listed_.insert(id);
    fetch(id);
  }
  const uint64_t count = number_of(*parsed, "count");
  const bool more = parsed->find("more") && parsed->find("more").as_bool() == true;
  if (count < shown || more != (count > shown)) {
    run_.fail("count", text("{} is shown {} of its mail, and told that there is: {}", agent_.name(),
                            shown, body.substr(0, 300)));
  }
  // An agent that is woken goes on until there is no more.
  woken_ = agent_.profile().webhook_secret.empty() || count > 0;
}

void MailReader::fetch(const std::string& id) {
  // Few are read at a time, because a connection holds only so much that its client has not read.
  constexpr size_t at_a_time = 3;
  if (fetching_.size() >= at_a_time || !fetching_.insert(id).second) {
    return;
  }
  if (agent_.uses_tools()) {
    fetch_by_tool(id);
    return;
  }
  agent_.ask({.target = "/v1/messages/" + percent_encoded(id)}, [this, id](const Reply& reply) {
    fetching_.erase(id);
    if (reply.lost || reply.status >= 500 || reply.status == too_slow) {
      return;  // It is asked for again.
    }
    listed_.erase(id);
    if (reply.status == 200) {
      on_fetched(reply.body, !reply.header("parley-delivery").empty());
    }
    fetch_next();
  });
}

void MailReader::fetch_by_tool(const std::string& id) {
  agent_.connections().mcp()->call(
      "readMessage", tool_argument("messageId", id), [this, id](const Called& called) {
        fetching_.erase(id);
        if (called.lost || is_unsure(called.code)) {
          return;  // It is asked for again.
        }
        listed_.erase(id);
        if (called.code.empty()) {
          lib::JsonDocument document;
          const auto read = document.parse(called.text);
          on_fetched(read ? read->find("message").raw() : std::string_view(called.text),
                     read && read->find("delivery"));
        }
        fetch_next();
      });
}

void MailReader::fetch_next() {
  for (const std::string& id : listed_) {
    if (!fetching_.contains(id)) {
      fetch(id);
      return;
    }
  }
}

// `is_former`: the message is not for this reader any more.
void MailReader::on_fetched(std::string_view body, bool is_former) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed) {
    run_.fail("schema", text("{} gets a message that is no JSON: {}", agent_.name(), body));
    return;
  }
  if (!agent_.uses_tools()) {
    run_.check_message(agent_.name(), agent_.dialect(), *parsed);
  }
  Mail& mail = see(*parsed, 0, agent_.uses_tools() ? "a tool" : "a read");
  if (is_former) {  // It expired, say.
    mail.state = mail.state == Mail::State::none ? Mail::State::refused : mail.state;
    return;
  }
  if (agent_.dialect() == "inbox") {
    check_rendering(mail, body);
  }
  // In inbox all messages but tasks are settled by being read.
  if (agent_.dialect() == "inbox" && !mail.wants_answer) {
    mail.ever_acked = true;
    mail.act = Mail::Act::ack;
    mail.state = Mail::State::confirmed;
    mail.confirmed_at = run_.step;
  }
  agent_.settler().decide(mail);
}

Mail& MailReader::see(Json message, uint64_t seq, std::string_view how) {
  const MessageFields fields = fields_of(agent_.dialect(), message);
  Mail& mail = agent_.record().mail[fields.id];
  if (mail.sightings++ == 0) {
    mail.id = fields.id;
    mail.marker = fields.marker;
    mail.from = fields.from;
    mail.to = fields.to;
    mail.type = fields.type;
    mail.priority = fields.priority;
    mail.task = fields.task;
    mail.thread = fields.thread;
    mail.trace = fields.trace;
    mail.wants_answer = fields.wants_answer;
    mail.may_repeat = fields.may_repeat;
    mail.first = run_.now();
    run_.setting.coverage.count("seen by", how);
  }
  if (fields.from == "parley" && message.raw().find("delivery_failed") != std::string_view::npos) {
    hear_failure(message.raw());
  }
  mail.may_repeat |= run_.repeated.contains(mail.marker);
  mail.to = fields.to;  // As it is now: it may have been given to another.
  mail.seq = seq != 0 ? seq : mail.seq;
  if (!mail.marker.empty()) {
    agent_.record().markers_seen.insert(mail.marker);
  }
  const bool is_asked_again = mail.may_repeat && mail.state == Mail::State::confirmed;
  if (mail.state == Mail::State::unknown || is_asked_again) {
    mail.state = Mail::State::none;  // What was asked did not get there in time.
  }
  return mail;
}

// One of its own messages was given up for one receiver. The broker may try it again.
void MailReader::hear_failure(std::string_view notice) {
  constexpr std::string_view key = "seq";
  const size_t at = notice.find(key, notice.find("delivery_failed"));
  const size_t digits = at == notice.npos ? at : notice.find_first_of("0123456789", at);
  if (digits == notice.npos) {
    return;
  }
  uint64_t seq = 0;
  std::from_chars(notice.data() + digits, notice.data() + notice.size(), seq);
  for (const Sent& sent : agent_.record().sent) {
    if (sent.seq == seq || (!sent.id.empty() && notice.find(sent.id) != notice.npos)) {
      run_.failed.insert(sent.marker);
      run_.repeated.insert(sent.marker);
    }
  }
}

void MailReader::check_repeat(const Mail& mail, uint64_t since, uint64_t connection,
                              std::string_view how) {
  const bool is_done = mail.state == Mail::State::confirmed &&
                       (mail.act == Mail::Act::ack || mail.act == Mail::Act::reject);
  if (!is_done || mail.may_repeat || run_.repeated.contains(mail.marker)) {
    return;
  }
  if (since > mail.confirmed_at || (connection != 0 && connection == mail.confirmed_on)) {
    run_.fail("again", text("{} has {} confirmed in step {}, and {} begun in step {} has it "
                            "again ({})",
                            agent_.name(), mail.id, mail.confirmed_at, how, since, mail.marker));
  }
}

// Where the receiver stands in for another, inbox shows its own name, and other dialects say so.
void MailReader::check_rendering(const Mail& mail, std::string_view words) {
  const bool is_said =
      agent_.dialect() != "inbox" && words.find(R"("redirected_from":")") != words.npos;
  if (mail.to != agent_.name() && run_.find(mail.to) != nullptr && !is_said) {
    run_.fail("rendering", text("{} gets {}, which says that it is for {}: {}", agent_.name(),
                                mail.id, mail.to, words.substr(0, 600)));
  }
}

}  // namespace parley::edge_sim
