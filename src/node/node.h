// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"
#include "journal/journal.h"
#include "node/mailbox.h"
#include "node/outlet.h"
#include "node/records/records.h"
#include "node/upkeep/room_watch.h"
#include "node/upkeep/snapshots.h"

namespace parley::node {

using base::Error;
using base::Seq;
using base::Time;

// Joins one machine to one journal. Single-threaded: `step` does all the work, on the thread of
// the sockets. A journal may store a large batch behind it; then commands go on collecting, and
// whoever steps is woken when the batch is stored.
class Node {
 public:
  struct Options {
    std::string name = "node";  // stays the same over restarts
    // Of this life: greater than that of each before it, and no other node's. The time at which it
    // began, with random low bits. `start` makes it greater than those that the journal knows.
    uint64_t origin = 1;
    uint64_t hash_seed = 0;
    Mailbox::Limits mailbox;
    Records::Limits records;
    size_t snapshot_bytes_min = 256 * 1024 * 1024;  // of records between two snapshots, at least
    // What a view folds entries up to must not be lost with the records. Entries after this one
    // that the journal holds at the start are left to the first step, which tells them, without a
    // ticket; none by default.
    Seq tell_after{UINT64_MAX};
    // How far a view has come, durably; a snapshot is stored once it is there. Empty: no view.
    std::function<Seq()> view_position;
    // True while the view is too far behind for more messages of that one: OVERLOADED.
    std::function<bool(core::WorkspaceId, std::string_view actor)> view_full;
    // What can still be stored, in bytes; below `room_min` nothing is taken that would be kept:
    // STORAGE_FULL. Empty: enough.
    std::function<uint64_t()> room;
    uint64_t room_min = 0;
    // By this clock a step applies for `apply_max` and leaves the rest to the next. Null: all.
    base::Clock* steady = nullptr;
    base::Duration apply_max = base::microseconds(1'500);
    // Told what someone should look at although the node goes on. Empty: nobody.
    std::function<void(const Error&)> warn;
    // Null: nothing is refused at the door.
    base::Clock* clock = nullptr;
  };

  // Restores the newest snapshot and applies the records after it, without telling the outlet
  // (up to `tell_after`: what follows is for the first step, when all who listen are in place);
  // then appends that the node started. Journal and outlet must outlive it.
  static std::expected<std::unique_ptr<Node>, Error> start(journal::Journal& journal,
                                                           Outlet& outlet, Options options);

  // Waits for the batch that the journal still stores: its bytes are here.
  ~Node();

  // Takes a command for the next batch. OVERLOADED when too many wait; the error of `step` when the
  // node can go no further. The actor must have been authenticated. Whether it may do this is
  // decided when it is applied.
  std::expected<Ticket, Error> submit(core::WorkspaceId workspace, std::string_view actor,
                                      core::Command command);

  // What an actor has submitted that is not applied yet.
  struct Ahead {
    bool is_some = false;  // something that may change what comes of the next
    uint64_t bytes = 0;    // as `core::stored_bytes` counts them
  };
  // Advice at the door: why the command would be refused if it were applied now; none when that
  // must be seen. Behind others of its actor only whether that has had too much stored. Gives the
  // entry the present time.
  std::optional<Error> admit(core::Entry& entry, const Ahead& ahead) const;

  // One turn: appends what collected as one batch, applies what can be read, tells the outlet; of
  // much that can be read, a part.
  // `now` decides whether a tick is due. On error the node can go no further: see `trouble`.
  std::expected<void, Error> step(Time now);

  // True when another step would do something now. What waits for the journal is no work: the
  // journal tells when it is done.
  bool has_work(Time now) const;
  // When it will, if nothing comes in.
  Time next_deadline() const;
  // Whether a step was over before all was applied that could be read.
  bool is_behind() const { return has_backlog_ && !broken_; }
  // How long steps have waited for the journal's writes and syncs, in all.
  base::Duration stored_for() const { return journal_.stored_for(); }

  uint64_t origin() const { return options_.origin; }
  const core::Machine& machine() const { return machine_; }

  // What was sent, byte by byte.
  Records& records() { return records_; }

  // Why commands are being refused: the disk is full, storage failed. None when all is well.
  const std::optional<Error>& trouble() const { return trouble_; }
  // What is wrong although commands are not refused for it.
  struct Warnings {
    const std::optional<Error>& room;      // why nothing new is taken: there is little room left
    const std::optional<Error>& snapshot;  // why the newest is not stored; nothing is lost by that
  };
  Warnings warnings() const { return {room_.trouble(), snapshots_.trouble()}; }

 private:
  Node(journal::Journal& journal, Outlet& outlet, const Options& options);

  enum class Extent : uint8_t { all, some };
  std::expected<void, Error> apply_new(bool tell, Extent extent);
  std::expected<void, Error> apply_one(const journal::Record& record, bool tell);
  std::expected<void, Error> append_batch(Time now);
  void fill_batch(Time now);
  void refuse_upto(uint64_t last, const Error& error);
  bool has_started() const;
  bool batch_is_settled() const;
  bool waits_for_journal() const;
  Time tick_due() const;

  journal::Journal& journal_;
  Outlet& outlet_;
  Options options_;
  core::Machine machine_;
  Mailbox mailbox_;
  Mailbox::Batch in_flight_;
  Records records_;
  Snapshots snapshots_;
  RoomWatch room_;
  std::vector<core::Effect> effects_;
  bool has_backlog_ = false;
  Ticket next_number_ = start_ticket + 1;
  Ticket newest_told_ = start_ticket;  // of our commands: the outcome, or that it is refused
  Time tick_after_{};                  // after a refused append: time is not tried at once again
  std::optional<Error> trouble_;
  bool broken_ = false;  // the machine cannot follow the journal any more
};

}  // namespace parley::node
