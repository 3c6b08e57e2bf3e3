// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "edge/api/call.h"
#include "edge/events/options.h"
#include "net/server.h"

namespace parley::edge::events {

// Whether the header X-Hub-Signature-256 is `sha256=` and the HMAC of the body with the secret. Its
// time says nothing of how much of it is right.
bool is_signed(std::string_view secret, std::string_view signature, std::string_view body);

// POST /hooks/github: what a webhook of GitHub tells becomes a delegation. Nobody has a token here;
// the signature of the body proves who sent it, so that its body must be read first. All who send
// hooks are one caller of the server's, with that caller's bounds for bytes and connections.
class GithubHook {
 public:
  explicit GithubHook(const Options& options) : options_(options) {}

  // What the server knows those by whose body is read.
  static constexpr net::CallerId caller = UINT64_MAX;

  // Whether the head of a request is that of a hook whose body may be read: there is a secret, and
  // the head has a signature and a length within the limit.
  bool takes(const net::Request& head) const;
  // Answers: 202 with the receipt, or with why it is ignored; 200 to a ping.
  void on_request(const Asker& asker, const net::Request& request) const;

 private:
  // What comes after the signature was found right.
  void take(const Asker& asker, const net::Request& request) const;
  void delegate(const Asker& asker, const Event& event, const EventRoute& route) const;

  const Options& options_;
};

}  // namespace parley::edge::events
