// SPDX-License-Identifier: Apache-2.0
#include "edge/approvals/terms.h"

#include <algorithm>

#include "core/humans/approval_acts.h"
#include "core/model/refusal.h"

namespace parley::edge {

namespace {

using core::AgentRef;
using lib::Json;

constexpr size_t tags_max = 64;  // that are looked up
constexpr size_t named_max = 8;  // in a warning
constexpr size_t tag_bytes_max = 64;

// Who is tagged and may approve what the asker wants; none for anyone else.
AgentRef approver_of(const core::Tables& t, std::string_view asker, std::string_view tag) {
  tag.remove_prefix(tag.starts_with('@') ? 1 : 0);
  const std::string person = "human:" + std::string(tag);
  for (const std::string_view name : {std::string_view(person), tag}) {
    const AgentRef ref = t.agents.find(name);
    if (ref != core::none && t.agents[ref].is_registered() && name != asker &&
        core::may_approve(t.agents[ref])) {
      return ref;
    }
  }
  return core::none;
}

void take_approvers(const core::Tables& t, std::string_view asker, Json tags,
                    ApprovalTerms& terms) {
  size_t looked_at = 0;
  size_t unknown = 0;
  std::string names;
  for (const Json each : tags.elements()) {
    const std::string_view tag = each.as_string().value_or("");
    const AgentRef ref = ++looked_at > tags_max ? core::none : approver_of(t, asker, tag);
    if (ref == core::none) {
      if (++unknown <= named_max) {
        names.append(names.empty() ? "" : ", ").append(core::quoted_start(tag, tag_bytes_max));
      }
      continue;
    }
    const std::string_view name = t.agents[ref].name;
    if (std::ranges::find(terms.approvers, name) == terms.approvers.end()) {
      terms.approvers.push_back(name);
    }
  }
  if (unknown == 0) {
    return;
  }
  names += unknown > named_max ? " and " + std::to_string(unknown - named_max) + " more" : "";
  terms.warnings.push_back("approvers_tagged: " + names + " may not approve anything here; " +
                           (terms.approvers.empty() ? "all with the right `approver` decide"
                                                    : "the others who are tagged decide"));
}

uint64_t options_in(Json words) {
  uint64_t options = 0;
  for (const Json word : words.elements()) {
    const auto decision = core::approval_decision_words.find(word.as_string().value_or(""));
    options |= decision ? core::option_of(*decision) & core::all_options : 0;
  }
  return options == 0 ? core::all_options : options;
}

}  // namespace

ApprovalTerms approval_terms(const core::Tables& tables, std::string_view asker, Json message) {
  ApprovalTerms terms;
  terms.options = options_in(message.find("human_decision_options"));
  take_approvers(tables, asker, message.find("approvers_tagged"), terms);
  return terms;
}

}  // namespace parley::edge
