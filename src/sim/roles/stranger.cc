// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/stranger.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "sim/client/messages.h"
#include "sim/roles/decisions.h"
#include "sim/roles/flags.h"

namespace parley::edge_sim {

using sim::text;

Stranger::Stranger(RunState& run, Ledger& ledger, RoleClient::Profile profile)
    : run_(run),
      ledger_(ledger),
      client_(run, std::move(profile)),
      mailbox_(run, client_, [](const Mailbox::Item&) { return true; }) {}

void Stranger::act() {
  if (client_.waiting() > 4) {
    return;
  }
  const uint64_t roll = run_.random().below(100);
  if (roll < 65) {
    walk();
  } else if (roll < 75) {
    try_to_decide(run_, ledger_, client_);
  } else if (roll < 82) {
    try_to_resolve();
  } else if (roll < 88) {
    raise_flag(run_, ledger_, client_);
  } else if (roll < 92) {
    raise_again(run_, ledger_, client_);
  } else {
    mailbox_.go_on();
  }
}

void Stranger::drain() {
  walk();
  raise_again(run_, ledger_, client_);
  mailbox_.go_on();
}

bool Stranger::is_idle() const { return has_raised(ledger_, client_); }

void Stranger::walk() {
  const std::string where = target();
  client_.ask({.target = where}, [this, where](const Reply& reply) {
    constexpr size_t begin = 4;  // Behind `/v1/`.
    const std::string kind = where.substr(begin, where.find_first_of("/?", begin) - begin);
    run_.setting.coverage.count("walk", text("{} {}", kind, reply.status));
    // Who raised one is told what became of it, and nothing that it says: see the notebooks.
    const bool is_of_flag = std::ranges::any_of(ledger_.flags, [&](const RaisedFlag& flag) {
      return where.find(flag.id) != std::string::npos && flag.by != client_.name();
    });
    if (reply.status == 200 && (is_of_flag || where.starts_with("/v1/moderation/"))) {
      run_.fail("flag", text("{} asks for {} and is told {}", client_.name(), where,
                             reply.body.substr(0, 600)));
    }
  });
}

std::string Stranger::target() {
  sim::Random& random = run_.random();
  static constexpr auto lists = std::to_array<std::string_view>(
      {"/v1/moderation/flags", "/v1/approvals?state=pending", "/v1/tasks", "/v1/threads",
       "/v1/messages?limit=50", "/v1/dead-letters?limit=20", "/v1/escalations", "/v1/agents",
       "/v1/topics", "/v1/outbox?limit=20", "/v1/sessions", "/v1/health"});
  const uint64_t flags = ledger_.flags.size() + 1;
  const uint64_t approvals = ledger_.approvals.size() + 1;
  switch (random.below(6)) {
    case 0:
      return text("/v1/moderation/flags/{}", 1 + random.below(flags));
    case 1:
      return text("/v1/approvals/{}", 1 + random.below(approvals));
    case 2:
      // By its id, or by its place, which is anyone's guess.
      return random.chance(300) ? text("/v1/messages/{}", 1 + random.below(20 + run_.step * 4))
                                : text("/v1/messages/{}", any_message());
    case 3:
      return text("/v1/messages/{}/delivery", any_message());
    case 4:
      return text("/v1/tasks/{}", any_message());
    default:
      return std::string(random.pick(lists));
  }
}

std::string Stranger::any_message() {
  sim::Random& random = run_.random();
  std::vector<std::string> ids{"nothing"};
  if (!ledger_.tasks.empty()) {
    ids.push_back(
        std::next(ledger_.tasks.begin(), static_cast<ptrdiff_t>(random.below(ledger_.tasks.size())))
            ->first);
  }
  if (!ledger_.answers.empty()) {
    ids.push_back(std::next(ledger_.answers.begin(),
                            static_cast<ptrdiff_t>(random.below(ledger_.answers.size())))
                      ->first);
  }
  for (const RaisedFlag& flag : ledger_.flags) {
    if (random.chance(200)) {
      ids.push_back(flag.id);
      break;
    }
  }
  return random.pick(ids);
}

void Stranger::try_to_resolve() {
  const uint64_t id = 1 + run_.random().below(ledger_.flags.size() + 1);
  client_.ask({"POST", text("/v1/moderation/flags/{}/resolve", id), R"({"resolution":"mine"})"},
              [this, id](const Reply& reply) {
                run_.setting.coverage.count("resolution of another", std::to_string(reply.status));
                if (reply.status == 200) {
                  run_.fail("flag",
                            text("{} is no moderator, and resolves flag {}", client_.name(), id));
                }
              });
}

}  // namespace parley::edge_sim
