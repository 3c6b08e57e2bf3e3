// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/model/command.h"

namespace parley::core {

class Reader;
class Writer;

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

  void encode(Writer& out) const;
  void decode(Reader& in);

  bool operator==(const Webhook&) const = default;
};

}  // namespace parley::core
