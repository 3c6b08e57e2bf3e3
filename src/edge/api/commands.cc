// SPDX-License-Identifier: Apache-2.0
#include "edge/api/commands.h"

#include <algorithm>

#include "base/check.h"
#include "edge/api/members.h"

namespace parley::edge {

using base::Code;
using base::Error;
using lib::Json;

namespace {

// What stays of a status when the agent is heard of: all but `offline`.
std::string_view standing_status(const core::Agent& agent) {
  return agent.status == "offline" ? std::string_view{} : std::string_view(agent.status);
}

}  // namespace

std::span<const Settling> settlings() {
  static const std::vector<Settling> table = {
      {.name = "ack",
       .members = {},
       .make = [](const core::Target& target, Members&) -> core::Command {
         return core::Ack{.target = target};
       }},
      {.name = "nack",
       .members = {"reason", "retry_after", "failed"},
       .make = [](const core::Target& target, Members& members) -> core::Command {
         return core::Nack{.target = target,
                           .delay = members.duration("retry_after"),
                           .reason = members.text("reason"),
                           .failed = members.flag("failed", true)};
       }},
      {.name = "reject",
       .members = {"reason"},
       .make = [](const core::Target& target, Members& members) -> core::Command {
         return core::Reject{target, members.text("reason")};
       }},
      {.name = "extend",
       .members = {"lease"},
       .make = [](const core::Target& target, Members& members) -> core::Command {
         return core::Extend{target, members.duration("lease")};
       }},
  };
  return table;
}

const Settling& settling_of(std::string_view name) {
  const auto found = std::ranges::find(settlings(), name, &Settling::name);
  CHECK(found != settlings().end());
  return *found;
}

std::expected<core::Command, Error> settle_command(const Settling& settling,
                                                   const core::Target& target, Json body) {
  Members members(body);
  core::Command command = settling.make(target, members);
  if (members.error()) {
    return std::unexpected(*members.error());
  }
  return command;
}

std::vector<std::string_view> heartbeat_members() { return {"status", "currentTask", "tokens"}; }

std::expected<core::Heartbeat, Error> heartbeat_command(const core::Agent& before, Json body) {
  Members members(body);
  const core::Heartbeat command{.status = members.said("status", standing_status(before)),
                                .task = members.said("currentTask", before.task),
                                .tokens = members.tokens("tokens")};
  if (const auto good = check_status(before.dialect, command.status); !good) {
    members.blame(good.error());
  }
  if (members.error()) {
    return std::unexpected(*members.error());
  }
  return command;
}

std::expected<void, Error> check_status(core::Dialect dialect, std::string_view status) {
  const core::Policy& policy = core::policy_of(dialect);
  const std::span<const std::string_view> words = policy.statuses;
  if (words.empty() || std::ranges::find(words, status) != words.end()) {
    return {};
  }
  std::string wanted;
  for (const std::string_view word : words) {
    wanted.append(wanted.empty() ? "" : ", ").append(word);
  }
  return std::unexpected(
      Error{Code::bad_request,
            "the status of a " + std::string(policy.name.value) + " agent is one of " + wanted,
            "/status"});
}

std::expected<core::OnUnavailable, Error> parse_on_unavailable(std::string_view text) {
  using core::OnUnavailable;
  const auto found = text.empty() ? OnUnavailable::by_rules : core::on_unavailable_words.find(text);
  if (!found || (!text.empty() && *found == OnUnavailable::by_rules)) {
    return std::unexpected(
        Error{Code::bad_request, "on_unavailable is queue, redirect or fail", "/on_unavailable"});
  }
  return *found;
}

}  // namespace parley::edge
