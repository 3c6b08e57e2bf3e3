// SPDX-License-Identifier: Apache-2.0
#include "edge/webhooks/setting.h"

#include "edge/webhooks/webhooks.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

using lib::Json;
using lib::JsonWriter;

WantedWebhook webhook_in(Members& body, const core::Agent* before, const Reach& reach) {
  WantedWebhook wanted;
  wanted.url = before == nullptr ? std::string_view{} : std::string_view(before->webhook.url);
  const bool has_secret = !wanted.url.empty();
  const Json given = body.find("webhook");
  if (!given || given.is_null()) {
    return given ? WantedWebhook{} : wanted;
  }
  const Json url = given.is_object() ? given.find("url") : given;
  const Json rotate = given.find("rotate_secret");
  if ((url && !url.as_string()) || (rotate && !rotate.as_bool()) || (!url && !has_secret)) {
    body.blame("webhook", "webhook is a URL, or an object with url and rotate_secret");
    return wanted;
  }
  wanted.url = url.as_string().value_or(wanted.url);
  if (const auto good = reach.check(wanted.url); !good) {
    body.blame(good.error());
  }
  // Who got it until now must not be able to speak to another in the broker's name.
  const bool moves = has_secret && origin_of(wanted.url) != origin_of(before->webhook.url);
  if (!has_secret || moves || rotate.as_bool().value_or(false)) {
    wanted.secret = lib::random_key();
  }
  return wanted;
}

std::string credentials_text(std::string_view name, std::string_view token,
                             const core::WebhookSecret& secret) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(name);
  if (!token.empty()) {
    out.key("token").text(token);
  }
  if (secret != core::WebhookSecret{}) {
    out.key("webhook_secret").text(secret_text(secret));
  }
  out.end_object();
  return text;
}

}  // namespace parley::edge
