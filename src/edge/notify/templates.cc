// SPDX-License-Identifier: Apache-2.0
#include "edge/notify/templates.h"

#include "base/secrets/secrets.h"
#include "base/text.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge::notify {

namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr size_t text_bytes_max = 500;
constexpr size_t telegram_bytes_max = 4'000;  // characters there: fewer

// Whatever policy the workspace has: nothing that looks like a secret leaves for another service.
std::string shown(std::string_view text) {
  base::Looks looks;
  return base::without_secrets(text, text_bytes_max, looks);
}

std::string line(std::string_view name, std::string_view text) {
  return text.empty() ? "" : std::string(name) + ": " + shown(text) + "\n";
}

std::string_view word_of(What what) { return what == What::escalation ? "escalation" : "approval"; }

// For people to read.
std::string plain_text(const Notice& notice) {
  const bool is_escalation = notice.what == What::escalation;
  std::string text = notice.is_p0 ? "P0 " : "";
  text += is_escalation ? "ESCALATION " : "APPROVAL WANTED ";
  text += std::to_string(notice.id) + ": " +
          shown(notice.subject.empty() ? notice.why : notice.subject) + "\n";
  text += line("agent", notice.agent) + line("receiver", notice.receiver);
  text += line("cause", notice.cause);
  text += notice.subject.empty() ? "" : line("why", notice.why);
  text += line("workspace", notice.workspace) + "since: " + base::format_time(notice.since) + "\n";
  if (notice.deadline.us != 0) {
    text += "decide before: " + base::format_time(notice.deadline) + "\n";
  }
  const std::string id = std::to_string(notice.id);
  return text +
         (is_escalation ? "parley escalations resolve " + id : "parley approvals show " + id);
}

// Slack reads these three as marks of its own.
std::string for_slack(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

std::string event_text(const Target& target, const Notice& notice, const std::string& event_id) {
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("specversion").plain("1.0").key("id").text(event_id);
  out.key("source").text("urn:parley:workspace:" + notice.workspace);
  out.key("type").plain(notice.what == What::escalation ? "parley.escalation.opened"
                                                        : "parley.approval.asked");
  out.key("subject").text(std::string(word_of(notice.what)) + "/" + std::to_string(notice.id));
  out.key("time").time(notice.since).key("datacontenttype").plain("application/json");
  out.key("data").object().key(word_of(notice.what)).number(notice.id);
  out.key("priority").plain(notice.is_p0 ? "P0" : "P1").key("agent").text(notice.agent);
  out.key("cause").text(notice.cause).key("receiver").text(notice.receiver);
  out.key("subject").text(shown(notice.subject)).key("why").text(shown(notice.why));
  if (notice.deadline.us != 0) {
    out.key("deadline").time(notice.deadline);
  }
  if (!target.for_whom.empty()) {
    out.key("for").text(target.for_whom);
  }
  out.end_object().end_object();
  return text;
}

}  // namespace

std::string body_of(const Target& target, const Notice& notice, const std::string& event_id) {
  std::string text;
  lib::JsonWriter out(text);
  switch (target.form) {
    case Form::json:
      return event_text(target, notice, event_id);
    case Form::slack:
      out.object().key("text").text(for_slack(plain_text(notice))).end_object();
      return text;
    case Form::telegram:
      out.object().key("chat_id").text(target.chat_id).key("text");
      out.text(base::cut(plain_text(notice), telegram_bytes_max));
      out.key("disable_web_page_preview").boolean(true).end_object();
      return text;
  }
  return text;
}

net::Headers headers_of(const Target& target, const std::string& event_id, base::Time now,
                        const std::string& body, const std::string& version) {
  const bool is_event = target.form == Form::json;
  net::Headers headers = {{"Content-Type", is_event ? "application/cloudevents+json; charset=utf-8"
                                                    : "application/json; charset=utf-8"},
                          {"User-Agent", "parley/" + version}};
  if (is_event) {
    const std::string timestamp = std::to_string(now.us / 1'000'000);
    headers.emplace_back("webhook-id", event_id);
    headers.emplace_back("webhook-timestamp", timestamp);
    if (!target.secret.empty()) {
      const bool is_encoded = target.secret.starts_with(secret_prefix);
      const auto decoded = is_encoded
                               ? lib::base64_decoded(target.secret.substr(secret_prefix.size()))
                               : std::nullopt;
      const auto signature = lib::hmac_sha256(std::string_view(decoded ? *decoded : target.secret),
                                              event_id + "." + timestamp + "." + body);
      headers.emplace_back("webhook-signature", "v1," + lib::base64(signature));
    }
  }
  return headers;
}

}  // namespace parley::edge::notify
