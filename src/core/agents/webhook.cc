// SPDX-License-Identifier: Apache-2.0
#include "core/agents/webhook.h"

#include <utility>

#include "core/model/wire.h"

namespace parley::core {

namespace {

void put(const WebhookSecret& secret, Writer& out) {
  for (const uint8_t byte : secret) {
    out.u8(byte);
  }
}

void get(WebhookSecret& secret, Reader& in) {
  for (uint8_t& byte : secret) {
    byte = in.u8();
  }
}

}  // namespace

void Webhook::change(const Register& command, Time now) {
  if (command.webhook.empty()) {
    *this = {};
    return;
  }
  url = command.webhook;
  if (command.webhook_secret != WebhookSecret{}) {
    former = std::exchange(secret, command.webhook_secret);
    rotated = now;
  }
}

void Webhook::encode(Writer& out) const {
  out.text(url);
  if (!url.empty()) {
    put(secret, out);
    put(former, out);
    out.time(rotated);
  }
}

void Webhook::decode(Reader& in) {
  *this = {};
  url = in.text();
  if (!url.empty()) {
    get(secret, in);
    get(former, in);
    rotated = in.time();
  }
}

}  // namespace parley::core
