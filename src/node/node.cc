// SPDX-License-Identifier: Apache-2.0
#include "node/node.h"

#include <algorithm>
#include <variant>

#include "base/check.h"

namespace parley::node {

namespace {

using journal::Appending;
using journal::Sync;

constexpr size_t read_bytes = 4 * 1024 * 1024;

// What need not survive a power loss: leases and streams are given anew after it, time passes by
// itself, and the sender said so of a message in memory.
bool needs_sync(const core::Command& command) {
  struct {
    bool operator()(const core::Tick&) const { return false; }
    bool operator()(const core::StartNode&) const { return false; }
    bool operator()(const core::AddWorkspace&) const { return true; }
    bool operator()(const core::SetRules&) const { return true; }
    bool operator()(const core::Register&) const { return true; }
    bool operator()(const core::Unregister&) const { return true; }
    bool operator()(const core::Subscribe&) const { return true; }
    bool operator()(const core::Unsubscribe&) const { return true; }
    bool operator()(const core::Send& send) const {
      return send.envelope.durability == core::Durability::disk;
    }
    bool operator()(const core::Read&) const { return false; }
    bool operator()(const core::Take&) const { return false; }
    bool operator()(const core::Ack&) const { return true; }
    bool operator()(const core::Nack&) const { return true; }
    bool operator()(const core::Reject&) const { return true; }
    bool operator()(const core::Extend&) const { return false; }
    bool operator()(const core::OpenStream&) const { return false; }
    bool operator()(const core::CloseStream&) const { return false; }
    bool operator()(const core::ResolveDeadLetter&) const { return true; }
  } visitor;
  return std::visit(visitor, command);
}

}  // namespace

Node::Node(journal::Journal& journal, Outlet& outlet, const Options& options)
    : journal_(journal),
      outlet_(outlet),
      options_(options),
      machine_(options.hash_seed),
      mailbox_(options.mailbox),
      fresh_(options.fresh_bytes_max) {}

std::expected<std::unique_ptr<Node>, Error> Node::start(journal::Journal& journal, Outlet& outlet,
                                                        Options options) {
  std::unique_ptr<Node> node(new Node(journal, outlet, options));
  if (auto caught_up = node->catch_up(); !caught_up) {
    return std::unexpected(caught_up.error());
  }
  const auto ticket = node->submit(core::workspace_first, core::broker_name,
                                   core::StartNode{.node = node->options_.name});
  if (!ticket) {
    return std::unexpected(ticket.error());
  }
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
    trimmed_ = machine_.seq();
  }
  return apply_new(false);
}

std::expected<Ticket, Error> Node::submit(core::WorkspaceId workspace, std::string_view actor,
                                          core::Command command) {
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

std::expected<void, Error> Node::step(Time now) {
  if (broken_) {
    return std::unexpected(*trouble_);
  }
  auto applied = apply_new(true);
  if (applied && journal_.appending() != Appending::pending) {
    append_batch(now);
    applied = apply_new(true);
  }
  if (!applied) {
    broken_ = true;
    trouble_ = applied.error();
    refuse_batch(applied.error());
    mailbox_.take(in_flight_);
    refuse_batch(applied.error());
    return applied;
  }
  keep_snapshots();
  return {};
}

bool Node::batch_is_settled() const {
  return in_flight_.empty() || machine_.was_applied({options_.origin, in_flight_.last});
}

// Either the batch whose fate is unknown once more (the machine applies each command once), or, if
// that was applied, the next one. So commands of one life get into the journal in their order.
void Node::append_batch(Time now) {
  const bool again = !batch_is_settled();
  if (!again) {
    in_flight_.clear();
    if (machine_.next_deadline() <= now) {
      // A full mailbox has commands, and any command lets time pass in its workspace.
      (void)submit(core::workspace_first, core::broker_name, core::Tick{});
    }
    mailbox_.take(in_flight_);
  } else if (journal_.appending() != Appending::lost) {
    return;  // it is in the journal and will be read
  }
  if (in_flight_.empty()) {
    return;
  }
  const auto appended =
      journal_.append(in_flight_.payloads(), in_flight_.needs_sync ? Sync::yes : Sync::no);
  if (appended) {
    trouble_.reset();
    return;
  }
  trouble_ = appended.error();
  if (!again) {  // the fate of a batch that was lost before is still unknown: it stays
    refuse_batch(appended.error());
  }
}

void Node::refuse_batch(const Error& error) {
  if (in_flight_.empty()) {
    return;
  }
  for (uint64_t number = in_flight_.first; number <= in_flight_.last; ++number) {
    if (!machine_.was_applied({options_.origin, number})) {
      outlet_.refused(number, error);
    }
  }
  in_flight_.clear();
}

std::expected<void, Error> Node::apply_new(bool tell) {
  while (journal_.last() > machine_.seq()) {
    std::expected<void, Error> applied;
    const auto read =
        journal_.read(machine_.seq(), read_bytes, [&](const journal::Record& record) {
          if (applied) {
            applied = apply_one(record, tell);
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
    fresh_.add(record.seq, record.payload);
  }
  const bool is_ours = entry->id.origin == options_.origin;
  outlet_.applied(*entry, outcome, effects_,
                  is_ours ? std::optional<Ticket>(entry->id.number) : std::nullopt);
  return {};
}

// Often enough that a restart is quick, seldom enough that the work is small beside the records.
void Node::keep_snapshots() {
  if (bytes_since_snapshot_ >= std::max(options_.snapshot_bytes_min, 4 * snapshot_bytes_)) {
    journal::Snapshot snapshot{machine_.seq(), machine_.snapshot()};
    bytes_since_snapshot_ = 0;
    snapshot_bytes_ = snapshot.state.size();
    if (const auto saved = journal_.save(std::move(snapshot)); !saved) {
      trouble_ = saved.error();
    }
  }
  if (const Seq stored = journal_.snapshot_seq(); stored > trimmed_) {
    trimmed_ = stored;
    std::vector<Seq> keep = machine_.live();
    std::erase_if(keep, [stored](Seq seq) { return seq > stored; });
    journal_.trim(stored, std::move(keep));
  }
}

bool Node::has_work(Time now) const {
  if (broken_) {
    return false;
  }
  return journal_.last() > machine_.seq() || !batch_is_settled() || !mailbox_.empty() ||
         machine_.next_deadline() <= now;
}

std::expected<std::string_view, Error> Node::record(Seq seq) {
  if (const std::string_view fresh = fresh_.find(seq); !fresh.empty()) {
    return fresh;
  }
  auto fetched = journal_.fetch(seq);
  if (!fetched) {
    return std::unexpected(fetched.error());
  }
  fetched_ = std::move(*fetched);
  return std::string_view(fetched_);
}

}  // namespace parley::node
