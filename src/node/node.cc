// SPDX-License-Identifier: Apache-2.0
#include "node/node.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"

namespace parley::node {

namespace {

using journal::Appending;
using journal::Sync;

constexpr size_t read_bytes = 4 * 1024 * 1024;
constexpr base::Duration retry_pause = base::seconds(1);

bool needs_sync(const core::Command& command) {
  return std::visit([](const auto& each) { return each.needs_sync(); }, command);
}

// A second machine that follows the journal from the older snapshot on: the loop goes on meanwhile,
// for which encoding the state of a million messages would be a pause of half a second.
std::expected<core::Machine, Error> replay(std::optional<journal::Snapshot> older, Seq upto,
                                           const journal::ReadRecords& read, uint64_t hash_seed) {
  core::Machine machine(hash_seed);
  if (older) {
    auto restored = core::Machine::restore(older->state, hash_seed);
    if (!restored) {
      return restored;
    }
    machine = std::move(*restored);
    older.reset();  // its bytes are many
  }
  std::expected<void, Error> applied;
  std::vector<core::Effect> effects;
  const auto done = read(machine.seq(), upto, [&](const journal::Record& record) {
    const auto entry = core::decode_entry(record.seq, record.time, record.payload);
    if (applied && !entry) {
      applied = std::unexpected(entry.error());
    }
    if (applied) {
      effects.clear();
      (void)machine.apply(*entry, effects);
    }
  });
  if (!done || !applied) {
    return std::unexpected(!done ? done.error() : applied.error());
  }
  CHECK(machine.seq() == upto);
  return machine;
}

// What a start does with a snapshot; on the thread that stores it, with memory for a second
// machine.
std::expected<void, Error> check_snapshot(const journal::Snapshot& snapshot, uint64_t hash_seed) {
  const auto restored = core::Machine::restore(snapshot.state, hash_seed);
  if (restored && restored->seq() == snapshot.seq) {
    return {};
  }
  return std::unexpected(
      Error{base::Code::malformed_record,
            "the state at entry " + std::to_string(snapshot.seq.n) +
                " cannot be restored from its snapshot, so the older snapshot and the records "
                "since then are kept; please report this, with the journal if you can",
            {}});
}

}  // namespace

Node::Node(journal::Journal& journal, Outlet& outlet, const Options& options)
    : journal_(journal),
      outlet_(outlet),
      options_(options),
      machine_(options.hash_seed),
      mailbox_(options.mailbox),
      recent_(options.recent_bytes_max),
      warm_(options.warm_bytes_max) {}

Node::~Node() { journal_.wait(); }

std::expected<std::unique_ptr<Node>, Error> Node::start(journal::Journal& journal, Outlet& outlet,
                                                        Options options) {
  std::unique_ptr<Node> node(new Node(journal, outlet, options));
  if (auto caught_up = node->catch_up(); !caught_up) {
    return std::unexpected(caught_up.error());
  }
  // The clock may have gone back since the last life.
  node->options_.origin = std::max(options.origin, node->machine_.life_of(node->options_.name) + 1);
  (void)node->append_batch(node->machine_.time());  // a step tries again what failed
  return node;
}

std::expected<void, Error> Node::catch_up() {
  auto snapshot = journal_.load();
  if (!snapshot) {
    return std::unexpected(snapshot.error());
  }
  if (snapshot->has_value()) {
    auto restored = core::Machine::restore((*snapshot)->state, options_.hash_seed);
    if (!restored) {
      return std::unexpected(restored.error());
    }
    machine_ = std::move(*restored);
    CHECK(machine_.seq() == (*snapshot)->seq);
    snapshot_bytes_ = (*snapshot)->state.size();
  }
  return apply_new(false, Extent::all);
}

std::expected<Ticket, Error> Node::submit(core::WorkspaceId workspace, std::string_view actor,
                                          core::Command command) {
  if (broken_) {
    return std::unexpected(*trouble_);
  }
  if (options_.view_full && std::holds_alternative<core::Send>(command) && options_.view_full()) {
    return std::unexpected(Error{base::Code::overloaded,
                                 "the history is too far behind to take more messages; send again "
                                 "after a pause, or raise history.feed_bytes_max",
                                 {}});
  }
  core::Entry entry;
  entry.id = {options_.origin, next_number_};
  entry.workspace = workspace;
  entry.actor = actor;
  const bool sync = needs_sync(command);
  entry.command = std::move(command);
  if (auto put = mailbox_.put(entry, sync); !put) {
    return std::unexpected(put.error());
  }
  return next_number_++;
}

std::optional<Error> Node::admit(core::Entry& entry) const {
  if (broken_ || options_.clock == nullptr || journal_.last() > machine_.seq()) {
    return std::nullopt;
  }
  entry.time = std::max(options_.clock->now(), machine_.time());
  return machine_.admit(entry);
}

std::expected<void, Error> Node::step(Time now) {
  take_fetched();
  if (broken_) {
    return std::unexpected(*trouble_);
  }
  if (mailbox_.half_full() && waits_for_journal()) {
    journal_.wait();  // sooner than refusing: what else is sent waits in the sockets meanwhile
  }
  // The next batch is on its way before the one before it is applied. But that the node started is
  // applied before all else.
  auto applied = has_started() ? std::expected<void, Error>{} : apply_new(true, Extent::all);
  std::expected<void, Error> appended;
  // Not before the last one is applied: the journal has only the newest batches in memory.
  if (applied && !waits_for_journal() && !has_backlog_) {
    appended = append_batch(now);
  }
  if (applied) {
    applied = apply_new(true, appended ? Extent::some : Extent::all);
  }
  if (applied && !appended) {
    refuse_upto(in_flight_.last, appended.error());  // after what came before it was told
    in_flight_.clear();
  }
  if (applied && machine_.life_of(options_.name) > options_.origin) {
    applied = std::unexpected(Error{
        base::Code::data_in_use,
        "another process has started as node \"" + options_.name + "\"; give each its own name",
        {}});
  }
  if (!applied) {
    broken_ = true;
    trouble_ = applied.error();
    refuse_upto(next_number_ - 1, applied.error());
    return applied;
  }
  keep_snapshots();
  return {};
}

bool Node::waits_for_journal() const { return journal_.appending() == Appending::pending; }

bool Node::has_started() const { return machine_.was_applied({options_.origin, start_number}); }

// Its fate is known: it is in the journal, though perhaps not applied yet.
bool Node::batch_is_settled() const {
  return in_flight_.empty() || journal_.appending() == Appending::idle ||
         machine_.was_applied({options_.origin, in_flight_.last});
}

// Either the batch whose fate is unknown once more (the machine applies each command once), or, if
// it is known, the next one. So commands of one life get into the journal in their order. An error
// when the batch is to be refused.
std::expected<void, Error> Node::append_batch(Time now) {
  const bool again = !batch_is_settled();
  if (!again) {
    in_flight_.clear();
    fill_batch(now);
  }
  if (in_flight_.empty()) {
    return {};
  }
  auto appended =
      journal_.append(in_flight_.payloads(), in_flight_.needs_sync ? Sync::yes : Sync::no);
  if (appended) {
    trouble_.reset();
    return appended;
  }
  trouble_ = appended.error();
  tick_after_ = now + retry_pause;
  // The fate of a batch that was lost before is still unknown: it stays. Of storage that failed no
  // more will be known in this life.
  if (again && appended.error().code != base::Code::storage_failed) {
    return {};
  }
  if (in_flight_.first == start_number) {  // no one asked for it, and it is tried again
    in_flight_.clear();
    mailbox_.take(in_flight_);
  }
  return appended;
}

// That the node started comes before all else of its life, alone: else a stream could be opened
// that nothing closes when the node starts again.
void Node::fill_batch(Time now) {
  if (!has_started()) {
    core::Entry entry;
    entry.id = {options_.origin, start_number};
    entry.command = core::StartNode{.node = options_.name};
    in_flight_.add(entry, false);
    return;
  }
  if (next_deadline() <= now) {
    // A full mailbox has commands, and any command lets time pass in its workspace.
    (void)submit(core::workspace_first, core::broker_name, core::Tick{});
  }
  mailbox_.take(in_flight_);
}

// Those of our commands that were told nothing yet.
void Node::refuse_upto(uint64_t last, const Error& error) {
  while (newest_told_ < last) {
    outlet_.refused(++newest_told_, error);
  }
}

std::expected<void, Error> Node::apply_new(bool tell, Extent extent) {
  const Seq upto = tell ? journal_.last() : std::min(journal_.last(), options_.tell_after);
  base::Clock* const clock = extent == Extent::some ? options_.steady : nullptr;
  const Time until = clock == nullptr ? Time{} : clock->now() + options_.apply_max;
  has_backlog_ = false;
  while (machine_.seq() < upto && !has_backlog_) {
    std::expected<void, Error> applied;
    const auto read = journal_.read(machine_.seq(), read_bytes, [&](const journal::Record& record) {
      if (applied && record.seq <= upto && !has_backlog_) {
        applied = apply_one(record, tell);
        has_backlog_ = clock != nullptr && record.seq < upto && clock->now() >= until;
      }
    });
    if (!read) {
      return read;
    }
    if (!applied) {
      return applied;
    }
  }
  return {};
}

std::expected<void, Error> Node::apply_one(const journal::Record& record, bool tell) {
  const auto entry = core::decode_entry(record.seq, record.time, record.payload);
  if (!entry) {
    return std::unexpected(entry.error());
  }
  const bool repeated = machine_.was_applied(entry->id);
  effects_.clear();
  const core::Outcome outcome = machine_.apply(*entry, effects_);
  bytes_since_snapshot_ += record.payload.size();
  if (!tell || repeated) {
    return {};
  }
  if (std::holds_alternative<core::Send>(entry->command)) {
    recent_.add(record.seq, record.payload);
  }
  const bool is_ours = entry->id.origin == options_.origin && entry->id.number > newest_told_;
  newest_told_ = is_ours ? entry->id.number : newest_told_;
  outlet_.applied(*entry, outcome, effects_,
                  is_ours ? std::optional<Ticket>(entry->id.number) : std::nullopt);
  return {};
}

// Often enough that a restart is quick, seldom enough that the work is small beside the records.
void Node::keep_snapshots() {
  note_snapshots();
  if (snapshot_due_ == Seq{} && saving_ == Seq{} &&
      bytes_since_snapshot_ >= std::max(options_.snapshot_bytes_min, 4 * snapshot_bytes_)) {
    snapshot_due_ = machine_.seq();
    bytes_since_snapshot_ = 0;
  }
  // What came before a stored snapshot is never told again, so the view must have it.
  if (snapshot_due_ != Seq{} &&
      (!options_.view_position || options_.view_position() >= snapshot_due_)) {
    save_snapshot();
    note_snapshots();
  }
}

void Node::save_snapshot() {
  saving_ = std::exchange(snapshot_due_, Seq{});
  made_ = std::make_shared<Made>();
  journal::Snapshot snapshot{.seq = saving_, .state = {}};
  snapshot.make = [upto = saving_, seed = options_.hash_seed, made = made_](
                      std::optional<journal::Snapshot> older,
                      const journal::ReadRecords& read) -> std::expected<std::string, Error> {
    const auto machine = replay(std::move(older), upto, read, seed);
    if (!machine) {
      return std::unexpected(machine.error());
    }
    made->live = machine->live();
    std::string state = machine->snapshot();
    made->bytes = state.size();
    return state;
  };
  snapshot.check = [seed = options_.hash_seed](const journal::Snapshot& made) {
    return check_snapshot(made, seed);
  };
  if (const auto saved = journal_.save(std::move(snapshot)); !saved) {
    trouble_ = saved.error();
    saving_ = {};
  }
}

void Node::note_snapshots() {
  if (auto failure = journal_.take_save_failure()) {
    if (options_.warn) {
      options_.warn(*failure);
    }
    snapshot_trouble_ = std::move(failure);
    saving_ = {};
  }
  // What lived then, not what lives now: a power loss may take back what was not synced since.
  if (saving_ != Seq{} && journal_.snapshot_seq() == saving_) {
    snapshot_trouble_.reset();
    snapshot_bytes_ = made_->bytes;
    journal_.trim(saving_, std::move(made_->live));
    saving_ = {};
  }
}

bool Node::has_work(Time now) const {
  if (!warming_.empty() && journal_.has_fetched()) {
    return true;
  }
  if (broken_) {
    return false;
  }
  if (journal_.last() > machine_.seq()) {
    return true;
  }
  return !waits_for_journal() &&
         (!batch_is_settled() || !mailbox_.empty() || !has_started() || next_deadline() <= now);
}

Time Node::next_deadline() const {
  return waits_for_journal() ? base::time_max : std::max(machine_.next_deadline(), tick_after_);
}

std::expected<std::string_view, Error> Node::record(Seq seq) {
  if (const std::string_view recent = recent_.find(seq); !recent.empty()) {
    return recent;
  }
  if (const std::string_view warm = warm_.find(seq); !warm.empty()) {
    return warm;
  }
  ++cold_reads_;
  auto fetched = journal_.fetch(seq);
  if (!fetched) {
    return std::unexpected(fetched.error());
  }
  fetched_ = std::move(*fetched);
  return std::string_view(fetched_);
}

void Node::warm(const std::vector<Seq>& seqs, Done done) {
  std::vector<Seq> cold;
  for (const Seq seq : seqs) {
    if (seq.n != 0 && !is_warm(seq)) {
      cold.push_back(seq);
    }
  }
  if (cold.empty()) {
    done();
    return;
  }
  warming_.push_back({cold.size(), std::move(done)});
  journal_.fetch_later(cold);
}

// Each is told as soon as its last record is here, so that none of them has made room for others.
void Node::take_fetched() {
  if (warming_.empty() || !journal_.has_fetched()) {
    return;
  }
  for (journal::Fetched& fetched : journal_.take_fetched()) {
    if (fetched.payload) {
      ++warmed_;
      warm_.add(fetched.seq, std::move(*fetched.payload));
    }
    if (--warming_.front().left == 0) {
      Done done = std::move(warming_.front().done);
      warming_.pop_front();
      done();
    }
  }
}

}  // namespace parley::node
