// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "edge/notify/settings.h"
#include "net/client/client.h"

namespace parley::edge::notify {

// What people are wanted for.
enum class What : uint8_t { escalation, approval };

// What a notification says of it. Agents wrote some of this.
struct Notice {
  What what = What::escalation;
  uint64_t id = 0;
  std::string workspace;
  bool is_p0 = false;
  std::string agent;    // who waits for people
  std::string cause{};  // of an escalation
  std::string receiver{};
  std::string subject{};  // of the message, or what is to be approved
  std::string why{};
  base::Time since{};
  base::Time deadline{};  // of an approval

  bool operator==(const Notice&) const = default;
};

// The body of the request in this form: an event of CloudEvents, a message of Slack, or one that a
// bot of Telegram sends. `event_id` is the same whenever this is told to this target.
std::string body_of(const Target& target, const Notice& notice, const std::string& event_id);

// Its headers: what is signed is signed as Standard Webhooks has it, with the secret as the key: or
// with the bytes that it is the base64 of, if it begins with `whsec_`.
net::Headers headers_of(const Target& target, const std::string& event_id, base::Time now,
                        const std::string& body, const std::string& version);

}  // namespace parley::edge::notify
