// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/model/command.h"

namespace parley::core {

// Where an agent wants to be told of mail, and what proves that it is the broker who tells. Whether
// it was told is no part of the state: mail that waits says enough.
struct Webhook {
  std::string url;  // empty: it has none
  WebhookSecret secret{};
  WebhookSecret former{};  // zeros: none; good for a while after `rotated`
  Time rotated;            // when the secret was made

  // As the registration says. A new secret leaves the one before it good for a while, so that the
  // receiver can follow.
  void change(const Register& command, Time now);

  static void fields(auto& self, auto& field) {
    field("url", self.url);
    if (!self.url.empty()) {
      field("secret", self.secret);
      field("former", self.former);
      field("rotated", self.rotated);
    }
  }
  bool operator==(const Webhook&) const = default;
};

}  // namespace parley::core
