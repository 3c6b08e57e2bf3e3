// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/decisions.h"

#include <algorithm>
#include <iterator>

#include "sim/client/messages.h"
#include "sim/roles/notebooks.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

std::string_view state_after(std::string_view word) {
  return word == "approve"  ? "approved"
         : word == "reject" ? "rejected"
         : word == "modify" ? "modified"
                            : "withdrawn";
}

std::string story(const AskedApproval& approval) {
  std::string words = text("approval {} of {} is {} by {}:", approval.id, approval.answer,
                           approval.state, approval.decided_by);
  for (const AskedDecision& each : approval.decisions) {
    words += text(" {} by {}{}{};", each.word, each.by, each.is_as_shown ? "" : " wrongly",
                  each.is_confirmed ? ", confirmed" : "");
  }
  return words;
}

// One who may asked for just that, and nobody was told of anything else.
void judge(RunState& run, const Ledger& ledger, const AskedApproval& approval) {
  const GivenAnswer& answer = ledger.answers.at(approval.answer);
  run.setting.coverage.count("approval", approval.state);
  if (approval.is_pending()) {
    run.fail("decision", text("{} it is never decided", story(approval)));
    return;
  }
  const auto led_to_it = [&](const AskedDecision& each) {
    return each.is_as_shown && each.by == approval.decided_by &&
           state_after(each.word) == approval.state;
  };
  if (approval.state != "expired" && std::ranges::none_of(approval.decisions, led_to_it)) {
    run.fail("decision", text("{} nobody asked for that", story(approval)));
  }
  for (const AskedDecision& each : approval.decisions) {
    if (each.is_confirmed && !led_to_it(each)) {
      run.fail("decision", text("{} another decision was confirmed", story(approval)));
    }
  }
  if (approval.has_passed() && !answer.was_seen) {
    run.fail("held", text("{} {} never read it", story(approval), answer.giver));
  }
}

}  // namespace

void note_approval(RunState& run, Ledger& ledger, Json approval) {
  const uint64_t id = number_of(approval, "id");
  const std::string answer(string_of(approval, "message_id"));
  const auto given = ledger.answers.find(answer);
  if (given == ledger.answers.end() || !given->second.needs_people) {
    run.fail("decision", text("people are asked about {}, which does not need them: {}", answer,
                              approval.raw().substr(0, 600)));
    return;
  }
  AskedApproval& known = ledger.approvals[id];
  const std::string digest(string_of(approval, "digest"));
  if (known.id != 0 && (known.answer != answer || known.digest != digest)) {
    run.fail("decision", text("{} now it is another: {}", story(known), approval.raw()));
  }
  known.id = id;
  known.answer = answer;
  known.digest = digest;
  const std::string state(string_of(approval, "state"));
  if (known.is_pending()) {
    known.state = state;
    known.decided_by = string_of(approval, "decided_by");
  } else if (state == "pending") {
    return;  // It was asked before the other answer, by another.
  } else if (known.state != state || known.decided_by != string_of(approval, "decided_by")) {
    run.fail("decision", text("{} now it is decided otherwise: {}", story(known), approval.raw()));
  }
}

void let_pass(RunState& run, GivenAnswer& answer) {
  answer.may_pass = true;
  run.readers[answer.marker].insert(answer.giver);
  run.guards.erase(answer.marker);
}

void confirm_decision(RunState& run, Ledger& ledger, uint64_t id, size_t number,
                      const Reply& reply) {
  lib::JsonDocument document;
  const auto parsed = document.parse(reply.body);
  if (!parsed) {
    return;
  }
  AskedApproval& approval = ledger.approvals.at(id);
  AskedDecision& asked = approval.decisions[number];
  if (string_of(*parsed, "state") != state_after(asked.word) ||
      string_of(*parsed, "decided_by") != asked.by) {
    run.fail("decision", text("{} asks to {} approval {}, which is confirmed: {}", asked.by,
                              asked.word, id, reply.body.substr(0, 600)));
  }
  asked.is_confirmed = true;
  note_approval(run, ledger, *parsed);
  if (std::ranges::count(approval.decisions, true, &AskedDecision::is_confirmed) > 1) {
    run.fail("decision", text("{} it was decided twice", story(approval)));
  }
}

void try_to_decide(RunState& run, Ledger& ledger, RoleClient& client) {
  if (ledger.approvals.empty()) {
    return;
  }
  sim::Random& random = run.random();
  const auto at = std::next(ledger.approvals.begin(),
                            static_cast<ptrdiff_t>(random.below(ledger.approvals.size())));
  const bool modifies = random.chance(300);
  client.ask({"POST", text("/v1/approvals/{}/decision", at->first),
              modifies ? R"({"decision":"modify","modification":"all of it"})"
                       : R"({"decision":"approve"})"},
             [&run, &client, id = at->first](const Reply& reply) {
               if (is_unknown(reply)) {
                 return;
               }
               run.setting.coverage.count("decision of another", std::to_string(reply.status));
               if (reply.status == 200) {
                 run.fail("decision", text("{} may not decide, and decides approval {}: {}",
                                           client.name(), id, reply.body.substr(0, 600)));
               }
             });
}

void judge_decisions(RunState& run, const Ledger& ledger) {
  for (const auto& [id, approval] : ledger.approvals) {
    judge(run, ledger, approval);
  }
  const std::map<std::string, std::set<std::string>> seen = markers_seen(run);
  for (const auto& [id, answer] : ledger.answers) {
    if (!answer.needs_people) {
      continue;
    }
    const AskedApproval* const approval = ledger.find_approval(id);
    if (answer.fate == Fate::accepted && approval == nullptr) {
      run.fail("held",
               text("{} gave {}, which needs people, and nobody asks them", answer.worker, id));
    }
    const bool may_be_seen = approval != nullptr && approval->has_passed();
    for (const auto& [reader, markers] : seen) {
      const bool may_see = reader == answer.worker || ledger.may_approve_or_maintain(reader) ||
                           (may_be_seen && reader == answer.giver);
      if (markers.contains(answer.marker) && !may_see) {
        run.fail("held",
                 text("{} read {} of {}, which {}", reader, answer.marker, id,
                      approval == nullptr ? "people did not let pass" : "is " + approval->state));
      }
    }
  }
}

}  // namespace parley::edge_sim
