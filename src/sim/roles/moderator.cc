// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/moderator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

Moderator::Moderator(RunState& run, Ledger& ledger, RoleClient::Profile profile)
    : run_(run),
      ledger_(ledger),
      client_(run, std::move(profile)),
      mailbox_(run, client_, [](const Mailbox::Item&) { return true; }) {}

void Moderator::act() {
  if (client_.waiting() > 4) {
    return;
  }
  const uint64_t roll = run_.random().below(100);
  if (roll < 40) {
    list();
  } else if (roll < 70) {
    look();
  } else if (roll < 85) {
    resolve();
  } else {
    mailbox_.go_on();
  }
}

void Moderator::drain() {
  list();
  look();
  mailbox_.go_on();
}

bool Moderator::is_idle() const {
  return mailbox_.is_empty() && std::ranges::all_of(ledger_.flags, [](const RaisedFlag& flag) {
           return flag.fate == Fate::refused || flag.shown_as != 0;
         });
}

void Moderator::list() {
  if (std::exchange(is_listing_, true)) {
    return;
  }
  client_.ask({.target = "/v1/moderation/flags?limit=100"}, [this](const Reply& reply) {
    is_listing_ = false;
    lib::JsonDocument document;
    const auto parsed = document.parse(reply.body);
    if (reply.status != 200 || !parsed) {
      return;
    }
    for (const Json item : parsed->find("items").elements()) {
      known_.try_emplace(number_of(item, "id"), false);
    }
  });
}

void Moderator::look() {
  const auto at = std::ranges::find(known_, false, [](const auto& each) { return each.second; });
  if (at != known_.end()) {
    client_.ask({.target = text("/v1/moderation/flags/{}", at->first)},
                [this, id = at->first](const Reply& reply) { on_shown(id, reply); });
  }
}

void Moderator::on_shown(uint64_t id, const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 200 || !parsed) {
    return;
  }
  known_[id] = true;
  const Json is_intact = parsed->find("intact");
  if (!is_intact || is_intact.as_bool() != true) {
    run_.fail("flag", text("{} sees a flag that is not intact: {}", client_.name(), reply.body));
  }
  for (RaisedFlag& flag : ledger_.flags) {
    if (reply.body.find(flag.marker) == std::string::npos) {
      continue;
    }
    if (flag.shown_as != 0 && flag.shown_as != id) {
      run_.fail("flag", text("{} raised {} once, and it is flag {} and flag {}", flag.by,
                             flag.marker, flag.shown_as, id));
    }
    flag.shown_as = id;
    run_.setting.coverage.count("role", "flag seen");
  }
}

void Moderator::resolve() {
  if (known_.empty()) {
    return;
  }
  const auto at =
      std::next(known_.begin(), static_cast<ptrdiff_t>(run_.random().below(known_.size())));
  client_.ask({"POST", text("/v1/moderation/flags/{}/resolve", at->first),
               R"({"resolution":"talked to them"})"},
              [this](const Reply& reply) {
                run_.setting.coverage.count("flag resolved", std::to_string(reply.status));
              });
}

}  // namespace parley::edge_sim
