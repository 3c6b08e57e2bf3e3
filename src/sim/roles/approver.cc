// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/approver.h"

#include <algorithm>
#include <vector>

#include "lib/json_writer.h"
#include "sim/client/messages.h"
#include "sim/roles/decisions.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

Approver::Approver(RunState& run, Ledger& ledger, RoleClient::Profile profile)
    : run_(run),
      ledger_(ledger),
      client_(run, std::move(profile)),
      mailbox_(run, client_, [](const Mailbox::Item&) { return true; }) {}

void Approver::act() {
  if (client_.waiting() > 4) {
    return;
  }
  const uint64_t roll = run_.random().below(100);
  if (roll < 30) {
    list();
  } else if (roll < 60) {
    look();
  } else if (roll < 90) {
    decide();
  } else {
    mailbox_.go_on();
  }
}

void Approver::drain() {
  list();
  look();
  decide();
  mailbox_.go_on();
}

bool Approver::is_idle() const {
  const bool is_known = std::ranges::all_of(ledger_.answers, [this](const auto& each) {
    const GivenAnswer& answer = each.second;
    return !answer.needs_people || answer.fate != Fate::accepted ||
           ledger_.find_approval(answer.id) != nullptr;
  });
  const bool is_done = std::ranges::all_of(ledger_.approvals, [this](const auto& each) {
    const AskedApproval& approval = each.second;
    return !approval.is_pending() &&
           (!approval.has_passed() || ledger_.answers.at(approval.answer).was_seen);
  });
  return is_known && is_done && mailbox_.is_empty();
}

void Approver::list() {
  if (std::exchange(is_listing_, true)) {
    return;
  }
  const bool lists_all = run_.draining || run_.random().chance(300);
  client_.ask({.target = lists_all ? "/v1/approvals?limit=1000"
                                   : "/v1/approvals?state=pending&for=me&limit=20"},
              [this](const Reply& reply) {
                is_listing_ = false;
                if (reply.status == 200) {
                  on_listing(reply.body);
                }
              });
}

void Approver::on_listing(std::string_view body) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  for (const Json item : parsed ? parsed->find("items").elements() : Json::Elements{}) {
    note_approval(run_, ledger_, item);
  }
}

void Approver::look() {
  std::vector<uint64_t> ids;
  for (const auto& [id, approval] : ledger_.approvals) {
    if (approval.is_pending() && !shown_.contains(id)) {
      ids.push_back(id);
    }
  }
  if (ids.empty()) {
    return;
  }
  const uint64_t id = run_.random().pick(ids);
  client_.ask({.target = text("/v1/approvals/{}", id)},
              [this, id](const Reply& reply) { on_shown(id, reply); });
}

void Approver::on_shown(uint64_t id, const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (reply.status != 200 || !parsed) {
    return;
  }
  note_approval(run_, ledger_, *parsed);
  const AskedApproval& approval = ledger_.approvals.at(id);
  const GivenAnswer& answer = ledger_.answers.at(approval.answer);
  if (parsed->find("proposal").raw().find(answer.marker) == std::string_view::npos) {
    run_.fail("decision", text("{} is shown approval {} of {}, without its words {}: {}",
                               client_.name(), id, answer.id, answer.marker, reply.body));
  }
  shown_.insert(id);
}

void Approver::decide() {
  std::vector<uint64_t> ids;
  for (const uint64_t id : shown_) {
    // Now and then also one that is decided: it stays as it is.
    if (ledger_.approvals.at(id).is_pending() || run_.random().chance(20)) {
      ids.push_back(id);
    }
  }
  if (ids.empty()) {
    return;
  }
  sim::Random& random = run_.random();
  const uint64_t id = random.pick(ids);
  AskedApproval& approval = ledger_.approvals.at(id);
  GivenAnswer& answer = ledger_.answers.at(approval.answer);
  const uint64_t roll = random.below(100);
  const std::string word = roll < 55 ? "approve" : roll < 80 ? "reject" : "modify";
  const uint64_t shown = random.below(100);
  const bool is_as_shown = shown < 80;
  std::string body;
  lib::JsonWriter out(body);
  out.object().key("decision").text(word).key("comment").text("so be it");
  if (word == "modify") {
    out.key("modification").object().key("label").text("later").end_object();
  }
  if (shown < 60) {
    out.key("digest").text(approval.digest);
  } else if (!is_as_shown) {  // What another says, or nobody.
    std::string other = approval.digest;
    std::ranges::reverse(other);
    out.key("digest").text(other);
  }
  out.end_object();
  const size_t number = approval.decisions.size();
  approval.decisions.push_back({.by = client_.name(), .word = word, .is_as_shown = is_as_shown});
  if (is_as_shown) {
    answer.may_be_decided = true;
    if (word != "reject") {
      let_pass(run_, answer);
    }
  }
  run_.setting.coverage.count("role", text("decides {}{}", word, is_as_shown ? "" : " wrongly"));
  client_.ask({"POST", text("/v1/approvals/{}/decision", id), body},
              [this, id, number](const Reply& reply) { on_decided(id, number, reply); });
}

void Approver::on_decided(uint64_t id, size_t number, const Reply& reply) {
  if (is_unknown(reply)) {
    return;
  }
  const AskedDecision& asked = ledger_.approvals.at(id).decisions[number];
  run_.setting.coverage.count("decision of approver", std::to_string(reply.status));
  if (reply.status == 200 && !asked.is_as_shown) {
    run_.fail("decision", text("{} decides on approval {} with the digest of another, and is told "
                               "{}",
                               client_.name(), id, reply.body.substr(0, 600)));
  } else if (reply.status == 200) {
    confirm_decision(run_, ledger_, id, number, reply);
  } else if (reply.status != 409) {
    run_.fail("decision", text("{} may decide approval {}, and is told {} {}", client_.name(), id,
                               reply.status, reply.body.substr(0, 600)));
  }
}

}  // namespace parley::edge_sim
