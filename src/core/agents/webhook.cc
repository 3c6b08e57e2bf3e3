// SPDX-License-Identifier: Apache-2.0
#include "core/agents/webhook.h"

#include <utility>

namespace parley::core {

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

}  // namespace parley::core
