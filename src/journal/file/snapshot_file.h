// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>

#include "journal/file/disk.h"
#include "journal/journal.h"

namespace parley::journal {

// Stores the snapshot under its final name, durably: either all of it is there afterwards, or the
// name is not. An older snapshot of the same name stays until then.
std::expected<void, Error> write_snapshot(Disk& disk, const std::string& directory,
                                          const Snapshot& snapshot);

// Reads and checks the snapshot after the record `seq`.
std::expected<Snapshot, Error> read_snapshot(Disk& disk, const std::string& directory, Seq seq);

}  // namespace parley::journal
