// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/fields.h"
#include "core/model/ids.h"

namespace parley::core {

// What is asked about principals.

// Adds a principal, or changes it: an empty token hash keeps the tokens it has.
struct Register {
  std::string_view name;
  PrincipalKind kind = PrincipalKind::agent;
  Dialect dialect = Dialect::flow;
  std::string_view role;
  std::vector<std::string_view> capabilities;
  std::vector<std::string_view> rights;  // of a human: approver, moderator, maintainer, admin
  TokenHash token{};
  std::string_view profile;                       // what the edges keep of it; opaque
  bool only_token = false;                        // the tokens it had are good no more
  std::string_view webhook{};                     // a URL that is told of mail; empty: none
  WebhookSecret webhook_secret{};                 // zeros: the one it has stays
  std::vector<std::string_view> subscriptions{};  // besides those it has: all of them, or refused
  std::string_view spawner{};             // the main that it answers to; empty: any of its owner
  std::vector<std::string_view> scope{};  // to whom a cron may write: names, or with a wildcard
  uint64_t scope_kinds = 0;               // and what: a bit for each Kind

  static constexpr std::string_view verb = "register";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("name", self.name, Form::agent);
    field("kind", self.kind, principal_kind_last);
    field("dialect", self.dialect, dialect_last);
    field("role", self.role);
    field("capabilities", self.capabilities);
    field("rights", self.rights);
    field("token", self.token, Form::secret);
    field("profile", self.profile, Form::opaque);
    field("only_token", self.only_token);
    field("webhook", self.webhook);
    field("webhook_secret", self.webhook_secret, Form::secret);
    field("subscriptions", self.subscriptions);
    field("spawner", self.spawner, Form::agent);
    field("scope", self.scope);
    field("scope_kinds", self.scope_kinds);
  }
  bool operator==(const Register&) const = default;
};

struct Unregister {
  std::string_view name;

  static constexpr std::string_view verb = "unregister";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) { field("name", self.name, Form::agent); }
  bool operator==(const Unregister&) const = default;
};

// The agent is there; what it says it is doing.
struct Heartbeat {
  std::string_view status;
  std::string_view task;
  uint64_t tokens = 0;     // used since it last said so
  bool only_seen = false;  // it asked for something; what it said before stands

  static constexpr std::string_view verb = "heartbeat";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto& self, auto& field) {
    field("status", self.status);
    field("task", self.task);
    field("tokens", self.tokens);
    field("only_seen", self.only_seen);
  }
  bool operator==(const Heartbeat&) const = default;
};

}  // namespace parley::core
