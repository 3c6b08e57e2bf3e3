// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/cast.h"

#include <utility>

#include "sim/client/admin.h"
#include "sim/client/messages.h"
#include "sim/roles/decisions.h"
#include "sim/roles/failures.h"
#include "sim/roles/flags.h"

namespace parley::edge_sim {

using sim::text;

template <class Visit>
void Cast::each(const Visit& visit) const {
  const auto all = [&visit](const auto&... lists) {
    const auto each_of = [&visit](const auto& list) {
      for (const auto& one : list) {
        visit(*one);
      }
    };
    (each_of(lists), ...);
  };
  all(supervisors_, workers_, approvers_, moderators_, strangers_);
}

void Cast::set_up(const AsAdmin& as_admin) {
  const auto add = [this]<class One>(std::vector<std::unique_ptr<One>>& list,
                                     std::vector<std::string>& names, RoleClient::Profile profile) {
    names.push_back(profile.name);
    list.push_back(std::make_unique<One>(run_, ledger_, std::move(profile)));
  };
  const uint64_t bosses = 1 + run_.random().below(2);
  for (uint64_t n = 0; n < bosses; ++n) {
    add(supervisors_, ledger_.supervisors,
        agent(as_admin, text("boss{}", n), "superprompt", "orchestrator"));
  }
  for (const char* const name : {"wil", "wes"}) {
    add(workers_, ledger_.workers, agent(as_admin, name, "superprompt", "worker"));
  }
  for (const char* const name : {"mia", "max"}) {
    add(approvers_, ledger_.approvers, human(as_admin, name, R"("approver")"));
  }
  add(moderators_, ledger_.moderators, human(as_admin, "mod", R"("moderator")"));
  std::vector<std::string> others;
  add(strangers_, ledger_.maintainers, human(as_admin, "eve", R"("maintainer")"));
  add(strangers_, others, human(as_admin, "ned", ""));
  add(strangers_, others, agent(as_admin, "sid", "flow", ""));
  if (run_.random().chance(500)) {  // People have little time.
    as_admin({"PATCH", "/v1/rules", R"({"approval_timeout":"90s"})"});
  }
}

RoleClient::Profile Cast::agent(const AsAdmin& as_admin, std::string name, std::string dialect,
                                const std::string& role) {
  Agent::Profile wanted{.name = name, .dialect = dialect};
  wanted.role = role;
  const Reply reply = as_admin({"POST", "/v1/agents", registration(wanted, false)});
  return {.name = name, .token = token_in(name, reply), .dialect = std::move(dialect)};
}

RoleClient::Profile Cast::human(const AsAdmin& as_admin, const std::string& name,
                                const std::string& rights) {
  const Reply reply =
      as_admin({"POST", "/v1/humans", text(R"({"name":"{}","rights":[{}]})", name, rights)});
  RoleClient::Profile profile{.name = "human:" + name, .token = token_in(name, reply)};
  profile.sees_all = rights.find("maintainer") != std::string::npos;
  return profile;
}

std::string Cast::token_in(const std::string& name, const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 201 || !parsed) {
    run_.fail("start", text("no {}: {} {}", name, reply.status, reply.body));
    return {};
  }
  return std::string(string_of(*parsed, "token"));
}

void Cast::act() {
  each([this](auto& one) {
    constexpr uint32_t per_mille = 125;
    if (run_.random().chance(per_mille)) {
      one.act();
    }
  });
}

void Cast::read() {
  each([](auto& one) { one.client().read(); });
}

void Cast::lose_connection() {
  each([this](auto& one) {
    if (run_.random().chance(300)) {
      one.client().lose_connection();
    }
  });
}

void Cast::drain() {
  each([](auto& one) { one.drain(); });
}

bool Cast::is_idle() const {
  bool is_idle = true;
  each([&is_idle](const auto& one) { is_idle = is_idle && one.is_idle(); });
  return is_idle;
}

void Cast::judge() {
  if (supervisors_.empty()) {
    return;
  }
  judge_failures(run_, ledger_);
  judge_decisions(run_, ledger_);
  judge_flags(run_, ledger_);
}

void Cast::hang_up() {
  each([](auto& one) { one.client().hang_up(); });
}

}  // namespace parley::edge_sim
