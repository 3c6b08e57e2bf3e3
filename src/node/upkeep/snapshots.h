// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/machine/machine.h"
#include "journal/journal.h"

namespace parley::node {

// The snapshots of a node's machine: often enough that a restart is quick, seldom enough that the
// work is small beside the records. Each is made by a replay on the journal's thread; the node's
// machine is never encoded. What the journal need not keep behind one that is stored, it is told.
// Belongs to the node's thread.
class Snapshots {
 public:
  struct Options {
    uint64_t hash_seed = 0;
    size_t bytes_min = 256 * 1024 * 1024;  // of records between two snapshots, at least
    // How far a view has come, durably. What came before a stored snapshot is never told again, so
    // the view must have it. Empty: no view.
    std::function<base::Seq()> view_position;
    // Told why a snapshot is not stored. Empty: nobody.
    std::function<void(const base::Error&)> warn;
  };
  // The journal must outlive it.
  Snapshots(journal::Journal& journal, Options options);

  // The machine of the newest snapshot; a new one when there is none.
  std::expected<core::Machine, base::Error> restore();

  // One more record was applied.
  void applied(size_t record_bytes) { bytes_since_ += record_bytes; }

  // Once a step, when the machine has applied all up to `seq`: takes note of what became of the one
  // that is being stored, and begins the next when it is due. The error is the journal's, when it
  // takes none now.
  std::expected<void, base::Error> keep(base::Seq seq);

  // The next one is due although few records came since: there is little room, and a snapshot lets
  // old records go.
  void hurry() { hurried_ = true; }

  // Why the newest one is not stored: the state does not pass the check of a start, or the disk
  // failed. Nothing is lost, as the records stay; until one is stored they only grow.
  const std::optional<base::Error>& trouble() const { return trouble_; }

 private:
  // What is known of a snapshot once it is made: written by the thread that stores it, before the
  // journal says that it is stored.
  struct Made {
    std::vector<base::Seq> live;
    size_t bytes = 0;
  };

  std::expected<void, base::Error> save();
  void note_stored();

  journal::Journal& journal_;
  Options options_;
  size_t bytes_since_ = 0;  // of records, since the newest was due
  size_t bytes_ = 0;        // of the newest
  bool hurried_ = false;
  base::Seq due_;           // the place of the next, until the view has passed it; 0: none is due
  base::Seq saving_;        // the one that the journal is making and storing; 0: none
  std::shared_ptr<Made> made_;
  std::optional<base::Error> trouble_;
};

}  // namespace parley::node
