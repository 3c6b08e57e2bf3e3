// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/checker.h"

#include <algorithm>

#include "base/hash.h"
#include "sim/text.h"

namespace parley::sim {

Checker::Checker(Setting& setting, const SharedLog& log, Verdict& verdict)
    : setting_(setting), log_(log), verdict_(verdict) {
  begin();
}

void Checker::begin() {
  machine_ = std::make_unique<core::Machine>(0x51u);
  effect_checks_.clear();
  effect_checks_.try_emplace(core::workspace_first, verdict_, setting_.coverage);
  replayed_.clear();
  digests_.clear();
  ended_.clear();
  present_.clear();
  stamp_ = Time{};
}

void Checker::started(int node, uint64_t origin, const core::Machine& machine) {
  lives_[node] = Life{origin, machine.seq(), {}, {}};
  node_of_[origin] = node;
}

void Checker::crashed(int node) { lives_[node].owed.clear(); }

void Checker::submitted(int node, uint64_t ticket) { lives_[node].owed.insert(ticket); }

void Checker::refused(int node, uint64_t ticket, const Error& error) {
  setting_.coverage.count("code", base::info(error.code).name);
  lives_[node].owed.erase(ticket);
  if (!lives_[node].answered.insert(ticket).second) {
    verdict_.fail(Check::answer, text("node {} refused {} after its answer", node, ticket));
  }
  if (error.code != base::Code::storage_failed) {  // Its batch may be found after a restart.
    refused_.insert(core::CommandId{lives_[node].origin, ticket});
  }
}

void Checker::catch_up() {
  const Seq before = machine_->seq();
  while (machine_->seq() < log_.last() && !verdict_.failed()) {
    replay_one(machine_->seq().next());
  }
  if (machine_->seq() != before) {
    digests_[machine_->seq()] = machine_->digest();
  }
  for (const NodeReport& report : reports_) {
    judge(report);
  }
  reports_.clear();
}

uint64_t Checker::digest() const {
  uint64_t digest = machine_->digest();
  for (const Replayed& each : replayed_) {
    digest = base::mix64(digest, each.digest);
  }
  return digest;
}

void Checker::replay_one(Seq seq) {
  const SharedLog::Record& record = log_.at(seq);
  if (record.stamp < stamp_) {
    verdict_.fail(Check::time, text("record {} is older than the one before", seq.n));
  }
  stamp_ = record.stamp;
  if (refused_.contains(record.id)) {
    verdict_.fail(Check::promise, text("record {} was refused and is stored", seq.n));
  }
  const auto altered =
      planted_record(setting_.canary, ReadBy{replay, seq, record.repeated}, record.payload);
  const auto written = core::decode_entry(seq, record.time, record.payload);
  const auto entry = core::decode_entry(seq, record.time, altered ? *altered : record.payload);
  if (!written || !entry) {
    verdict_.fail(Check::promise, text("record {} cannot be decoded", seq.n));
    return;
  }
  std::vector<core::Effect> raw;
  std::optional<Error> advice = machine_->admit(*entry);
  if (setting_.canary == Canary::door_too_narrow && seq.n % 50 == 0) {
    advice = Error{base::Code::forbidden, "planted", {}};
  }
  core::Outcome outcome = machine_->apply(*entry, raw);
  const bool repeats = record.repeated || ended_.contains(record.id.origin);
  if (advice && !repeats) {
    setting_.coverage.count("door", base::info(advice->code).name);
    if (outcome || outcome.error().code != advice->code || !raw.empty()) {
      verdict_.fail(
          Check::advice,
          text("record {} would be refused at the door ({}), and is {} with {} effects", seq.n,
               advice->detail, outcome ? "taken" : outcome.error().detail, raw.size()));
    }
  }
  std::vector<NamedEffect> effects = named_effects(*machine_, raw);
  plant_effects(setting_.canary, *written, outcome, effects);
  const bool late = ended_.contains(record.id.origin);
  replayed_.push_back(Replayed{digest_of(outcome, effects), record.repeated || late});
  note(*written, outcome, effects);
  if (record.repeated || late) {
    const bool ignored = !outcome && outcome.error().code == base::Code::conflict;
    if (!ignored || !effects.empty()) {
      verdict_.fail(Check::once, text("record {} is repeated or too late, and acts", seq.n));
    }
    setting_.coverage.count("fault", late ? "late after life" : "repeated command");
    return;
  }
  count(*written, outcome, effects);
  observe(*written, outcome, effects);
}

namespace {

// A token names one principal of one workspace.
bool has_token_of_another(const core::Machine& machine, const core::Entry& entry) {
  const auto* const add = std::get_if<core::Register>(&entry.command);
  return add != nullptr && std::ranges::any_of(machine.workspaces(), [&](const auto& item) {
           return item.first != entry.workspace &&
                  item.second.tables().agents.find_token(add->token) != core::none;
         });
}

}  // namespace

void Checker::observe(const core::Entry& entry, const core::Outcome& outcome,
                      const std::vector<NamedEffect>& effects) {
  const bool start = std::holds_alternative<core::StartNode>(entry.command);
  if (start && entry.actor == core::broker_name) {
    start_life(entry.id.origin);
  }
  if (std::holds_alternative<core::AddWorkspace>(entry.command)) {
    if (outcome) {
      const auto added =
          effect_checks_.try_emplace(outcome->workspace, verdict_, setting_.coverage);
      added.first->second.add_principal("admin", core::PrincipalKind::admin);
    }
    return;  // The other workspaces see nothing of it, not even time.
  }
  if (!outcome && has_token_of_another(*machine_, entry)) {
    return;  // Nor is this workspace asked.
  }
  const bool everywhere = start || std::holds_alternative<core::Tick>(entry.command);
  for (auto& [id, checks] : effect_checks_) {
    const core::Workspace* const workspace = machine_->find(id);
    if (workspace == nullptr) {
      verdict_.fail(Check::visible, "a workspace is gone");
      return;
    }
    const bool is_here = !everywhere && entry.workspace == id;
    if (!everywhere && !is_here) {
      continue;
    }
    Step step{entry, outcome, {}, *workspace, is_here, 0};
    step.miscount = setting_.canary == Canary::miscounted && entry.seq.n % 50 == 0 ? 1 : 0;
    step.wrong_owner = setting_.canary == Canary::wrong_victim;
    step.stopped_runs = setting_.canary == Canary::timer_runs;
    step.unseen = setting_.canary == Canary::late_unmarked        ? core::Mark::late
                  : setting_.canary == Canary::duplicate_unmarked ? core::Mark::duplicate
                                                                  : core::Mark::plain;
    std::ranges::copy_if(effects, std::back_inserter(step.effects),
                         [id](const NamedEffect& effect) { return effect.workspace == id; });
    checks.observe(step);
  }
}

// A node that starts leaves its former life behind. One that says so too late has no life any more.
void Checker::start_life(uint64_t origin) {
  const auto started = node_of_.find(origin);
  if (started == node_of_.end()) {
    return;
  }
  uint64_t& present = present_[started->second];
  const uint64_t over = std::min(present, origin);
  present = std::max(present, origin);
  if (over == origin) {
    setting_.coverage.count("fault", "late after life");
  }
  ended_.insert(over);
  for (auto& [id, checks] : effect_checks_) {
    checks.end_life(over);
  }
}

void Checker::count(const core::Entry& entry, const core::Outcome& outcome,
                    const std::vector<NamedEffect>& effects) {
  if (quiet_) {
    return;
  }
  Coverage& coverage = setting_.coverage;
  coverage.count("command", core::verb_of(entry.command));
  coverage.count(outcome ? "done" : "refused", core::verb_of(entry.command));
  if (!outcome) {
    coverage.count("code", base::info(outcome.error().code).name);
  }
  for (const NamedEffect& effect : effects) {
    coverage.count("effect", kind_name(effect.kind));
  }
}

void Checker::note(const core::Entry& entry, const core::Outcome& outcome,
                   const std::vector<NamedEffect>& effects) {
  if (quiet_) {
    return;
  }
  std::string line = text("{} {} {}.{} w{} {} by \"{}\"", entry.seq.n, entry.time.us,
                          entry.id.origin, entry.id.number, static_cast<uint32_t>(entry.workspace),
                          core::verb_of(entry.command), entry.actor.substr(0, 24));
  if (outcome) {
    line += text(" -> #{} x{}{}", outcome->message.n, outcome->count,
                 outcome->duplicate ? " duplicate" : "");
  } else {
    line += text(" -> {}", base::info(outcome.error().code).name);
  }
  for (const NamedEffect& effect : effects) {
    line += "; " + describe(effect);
  }
  setting_.note(std::move(line));
}

void Checker::judge(const NodeReport& report) {
  Life& life = lives_[report.node];
  if (report.seq > log_.last() || log_.at(report.seq).id != report.id) {
    verdict_.fail(Check::promise, text("node {} told of {}, which is not in the journal",
                                       report.node, report.seq.n));
    return;
  }
  if (report.seq.n > replayed_.size()) {
    return;  // The replay has failed.
  }
  if (report.promises && report.seq > log_.synced()) {
    verdict_.fail(Check::promise,
                  text("node {} told of {} before it was durable", report.node, report.seq.n));
  }
  if (report.promises) {
    promised_[report.seq] = base::hash64(log_.at(report.seq).payload);
  }
  for (Seq seq = life.read_upto.next(); seq < report.seq; seq = seq.next()) {
    if (!replayed_[seq.n - 1].ignored) {
      verdict_.fail(Check::answer, text("node {} told nothing of {}", report.node, seq.n));
    }
  }
  if (report.seq <= life.read_upto ||
      (report.ticket && !life.answered.insert(*report.ticket).second)) {
    verdict_.fail(Check::answer, text("node {} told twice of {}", report.node, report.seq.n));
  }
  life.read_upto = std::max(life.read_upto, report.seq);
  if (report.ticket) {
    life.owed.erase(*report.ticket);
  }
  if (report.digest != replayed_[report.seq.n - 1].digest) {
    verdict_.fail(Check::equal, text("node {} told something else of {} than the replay",
                                     report.node, report.seq.n));
  }
  if (report.nameless) {
    verdict_.fail(Check::receivers, text("an effect of {} names no one", report.seq.n));
  }
}

void Checker::compare(int node, const core::Machine& machine, Check check) {
  if (verdict_.failed()) {
    return;
  }
  const auto at = digests_.find(machine.seq());
  if (at != digests_.end() && machine.digest() != at->second) {
    verdict_.fail(check, text("node {} differs from the replay at {}", node, machine.seq().n));
  }
  for (Seq seq = lives_[node].read_upto.next(); seq <= machine.seq(); seq = seq.next()) {
    if (!replayed_[seq.n - 1].ignored) {
      verdict_.fail(Check::answer, text("node {} told nothing of {}", node, seq.n));
    }
  }
}

void Checker::saved(const journal::Snapshot& snapshot) {
  const auto restored = core::Machine::restore(snapshot.state, 0x52u);
  if (!restored || restored->snapshot() != snapshot.state || restored->seq() != snapshot.seq) {
    verdict_.fail(Check::snapshot, text("the snapshot at {} restores to another", snapshot.seq.n));
  }
}

void Checker::power_lost() {
  for (const auto& [seq, hash] : promised_) {
    if (seq > log_.last() || base::hash64(log_.at(seq).payload) != hash) {
      verdict_.fail(Check::promise, text("record {} was promised and is gone", seq.n));
    }
  }
  reports_.clear();
  begin();
  quiet_ = true;  // All of it was noted and counted before.
  catch_up();
  quiet_ = false;
}

void Checker::check_answered(int node) {
  for (const uint64_t ticket : lives_[node].owed) {
    verdict_.fail(Check::answer, text("node {} never answered {}", node, ticket));
  }
}

uint64_t Checker::unsettled() const {
  uint64_t count = 0;
  for (const auto& [id, checks] : effect_checks_) {
    count += checks.unsettled();
  }
  return count;
}

uint64_t Checker::unsent_items() const {
  uint64_t count = 0;
  for (const auto& [id, checks] : effect_checks_) {
    count += checks.unsent_items();
  }
  return count;
}

}  // namespace parley::sim
