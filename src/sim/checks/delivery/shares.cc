// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/shares.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

namespace {

uint64_t share_in(const core::Rules& rules, uint64_t places) {
  return std::max<uint64_t>(1, places * rules.share_percent / 100);
}

uint64_t in(const std::map<std::string, uint64_t>& counts, const std::string& name) {
  const auto at = counts.find(name);
  return at == counts.end() ? 0 : at->second;
}

}  // namespace

void check_fair(Model& model, const Step& step, std::string_view table, const Holdings& holdings) {
  for (const auto& [name, gone] : holdings.gone) {
    const std::string owner = step.wrong_owner ? "nobody" : name;
    const uint64_t had = in(holdings.kept, owner) + gone;
    for (const auto& [other, kept] : holdings.kept) {
      if (had * 2 <= kept || (had < kept && kept < 64)) {
        model.fail(
            Check::share, step,
            text("{} of {} went for room, who had {}; {} has {}", table, owner, had, other, kept));
      }
    }
    model.coverage.count("share", std::string(table) + " gone");
  }
}

void ShareChecks::check(const Step& step) {
  const core::Tables& t = step.after.tables();
  Counts topics;
  for (const auto& [name, ref] : t.topics.by_name()) {
    topics[t.topics[ref].maker] += t.topics[ref].maker.empty() ? 0 : 1;
  }
  at_most(step, "topics", topics, topics_, model_.rules.topics_max);
  Counts active;
  // An agent may ask in another's thread, and a pipeline goes on whatever it makes of its thread.
  const auto* const send = done<core::Send>(step);
  const std::string asker(send == nullptr || step.outcome->duplicate ? "" : step.entry.actor);
  for (core::ThreadRef ref = t.threads.first(core::Threads::Standing::active); ref != core::none;
       ref = t.threads.next(ref)) {
    ++active[t.agents[t.threads[ref].owner()].name];
  }
  const bool answers = send != nullptr && send->envelope.kind == core::Kind::response;
  const uint64_t share = share_in(model_.rules, model_.rules.threads_max);
  if (!asker.empty() && !answers && in(active, asker) > std::max(share, in(active_, asker))) {
    model_.fail(Check::share, step,
                text("{} has {} threads with a pending request, and a share of {}", asker,
                     in(active, asker), share));
  }
  active_ = std::move(active);
  check_letters(step);
  check_escalations(step);
}

// What was sent to names that nobody has leaves open dead letters, no more than its sender's share.
void ShareChecks::check_letters(const Step& step) {
  if (done<core::Send>(step) == nullptr || step.entry.actor == core::broker_name) {
    return;
  }
  uint64_t open = 0;
  bool unknown = false;
  for (const auto& [id, letter] : step.after.tables().dead_letters.all()) {
    const bool is_new = letter.message == step.entry.seq;
    const bool is_unknown = letter.reason == core::Reason::receiver_not_found;
    unknown |= is_new && is_unknown;
    open += letter.is_open() && letter.sender == step.entry.actor && (!is_new || is_unknown);
  }
  const uint64_t share = share_in(model_.rules, model_.rules.dead_letters_max);
  if (unknown && open > share) {
    model_.fail(
        Check::share, step,
        text("{} has {} open dead letters, and a share of {}", step.entry.actor, open, share));
  }
}

void ShareChecks::check_escalations(const Step& step) {
  Counts open;
  std::set<uint64_t> ids;
  const auto& all = step.after.tables().escalations.all();
  for (const auto& [id, escalation] : all) {
    if (escalation.is_open()) {
      // Debates have a share of their own.
      open[escalation.agent] += escalation.debate == 0 ? 1 : 0;
      ids.insert(id);
    }
  }
  for (const uint64_t id : open_escalations_) {
    if (!all.contains(id)) {
      model_.fail(Check::share, step, text("escalation {} was open, and is gone", id));
    }
  }
  open_escalations_ = std::move(ids);
  if (done<core::ResolveDeadLetter>(step) != nullptr) {  // A person may pass on more.
    escalations_ = open;
  }
  at_most(step, "escalations", open, escalations_, model_.rules.escalations_max);
}

// A limit that was lowered is only not to be exceeded further.
void ShareChecks::at_most(const Step& step, std::string_view what, const Counts& counts,
                          Counts& before, uint64_t places) {
  // What time brought about before the rules changed went by the former ones.
  const bool is_new_rule = done<core::SetRules>(step) != nullptr;
  const uint64_t share = share_in(model_.rules, places);
  for (const auto& [name, count] : counts) {
    if (!is_new_rule && count > std::max(share, in(before, name))) {
      model_.fail(Check::share, step,
                  text("{} has {} {}, and a share of {}", name, count, what, share));
    }
  }
  before = counts;
}

}  // namespace parley::sim
