// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/agents/agent.h"
#include "edge/api/members.h"
#include "edge/webhooks/poster.h"

namespace parley::edge {

// What a registration says of the webhook: a URL, or an object with it; null takes it away.
struct WantedWebhook {
  std::string_view url;
  core::WebhookSecret secret{};  // a new one, for one who has none, moves or wants another
};

// What is left out stays as it was `before`; null: the principal is new.
WantedWebhook webhook_in(Members& body, const core::Agent* before, const Reach& reach);

// What whoever registers is shown once.
std::string credentials_text(std::string_view name, std::string_view token,
                             const core::WebhookSecret& secret);

}  // namespace parley::edge
