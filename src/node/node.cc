// SPDX-License-Identifier: Apache-2.0
#include "node/node.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "core/limits/admission.h"

namespace parley::node {

namespace {

using journal::Appending;
using journal::Sync;

constexpr size_t read_bytes = 4 * 1024 * 1024;
constexpr base::Duration retry_pause = base::seconds(1);

bool needs_sync(const core::Command& command) {
  return std::visit([](const auto& each) { return each.needs_sync(); }, command);
}

}  // namespace

Node::Node(journal::Journal& journal, Outlet& outlet, const Options& options)
    : journal_(journal),
      outlet_(outlet),
      options_(options),
      machine_(options.hash_seed),
      mailbox_(options.mailbox),
      records_(journal, options.records),
      snapshots_(journal, {.hash_seed = options.hash_seed,
                           .bytes_min = options.snapshot_bytes_min,
                           .view_position = options.view_position,
                           .warn = options.warn}),
      room_({.room = options.room, .room_min = options.room_min, .warn = options.warn}) {}

Node::~Node() { journal_.wait(); }

std::expected<std::unique_ptr<Node>, Error> Node::start(journal::Journal& journal, Outlet& outlet,
                                                        Options options) {
  std::unique_ptr<Node> node(new Node(journal, outlet, options));
  auto restored = node->snapshots_.restore();
  if (!restored) {
    return std::unexpected(restored.error());
  }
  node->machine_ = std::move(*restored);
  if (const auto replayed = node->apply_new(false, Extent::all); !replayed) {
    return std::unexpected(replayed.error());
  }
  // The clock may have gone back since the last life.
  node->options_.origin = std::max(options.origin, node->machine_.life_of(node->options_.name) + 1);
  (void)node->append_batch(node->machine_.time());  // a step tries again what failed
  return node;
}

std::expected<Ticket, Error> Node::submit(core::WorkspaceId workspace, std::string_view actor,
                                          core::Command command) {
  if (broken_) {
    return std::unexpected(*trouble_);
  }
  if (options_.view_full && std::holds_alternative<core::Send>(command) &&
      options_.view_full(workspace, actor)) {
    return std::unexpected(Error{base::Code::overloaded,
                                 "the history is too far behind to take more messages of yours; "
                                 "send again after a pause, or raise history.feed_bytes_max",
                                 {}});
  }
  if (room_.trouble() && actor != core::broker_name && core::asks_to_keep(command)) {
    return std::unexpected(*room_.trouble());
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

std::optional<Error> Node::admit(core::Entry& entry, const Ahead& ahead) const {
  if (broken_ || options_.clock == nullptr) {
    return std::nullopt;
  }
  entry.time = std::max(options_.clock->now(), machine_.time());
  if (auto spent = machine_.over_budget(entry, ahead.bytes)) {
    return spent;
  }
  const bool is_certain = !ahead.is_some && journal_.last() <= machine_.seq();
  return is_certain ? machine_.admit(entry) : std::nullopt;
}

std::expected<void, Error> Node::step(Time now) {
  records_.take_fetched();
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
  if (room_.look(now) == RoomWatch::Found::little) {
    snapshots_.hurry();
  }
  if (const auto kept = snapshots_.keep(machine_.seq()); !kept) {
    trouble_ = kept.error();
  }
  return {};
}

bool Node::waits_for_journal() const { return journal_.appending() == Appending::pending; }

bool Node::has_started() const { return machine_.was_applied({options_.origin, start_ticket}); }

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
  if (in_flight_.first == start_ticket) {  // no one asked for it, and it is tried again
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
    entry.id = {options_.origin, start_ticket};
    entry.command = core::StartNode{.node = options_.name};
    in_flight_.add(entry, false);
    return;
  }
  if (tick_due() <= now) {
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
  snapshots_.applied(record.payload.size());
  if (!tell || repeated) {
    return {};
  }
  if (std::holds_alternative<core::Send>(entry->command)) {
    records_.add(record.seq, record.payload);
  }
  const bool is_ours = entry->id.origin == options_.origin && entry->id.number > newest_told_;
  newest_told_ = is_ours ? entry->id.number : newest_told_;
  outlet_.applied(*entry, outcome, effects_,
                  is_ours ? std::optional<Ticket>(entry->id.number) : std::nullopt);
  return {};
}

bool Node::has_work(Time now) const {
  if (records_.has_fetched()) {
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
  return waits_for_journal() ? base::time_max : std::min(tick_due(), room_.due());
}

Time Node::tick_due() const {
  return waits_for_journal() ? base::time_max : std::max(machine_.next_deadline(), tick_after_);
}

}  // namespace parley::node
