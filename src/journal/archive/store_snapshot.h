// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "journal/file/disk.h"
#include "journal/journal.h"

namespace parley::journal {

// Makes and checks the snapshot, as it says itself, and stores it durably beside the one at
// `older`, the newest that is stored; 0 when there is none. Other snapshots are removed. On error
// the stored ones are as they were.
//
// Making takes long. `is_stopping` is asked between its steps and during the reading of records:
// once it says yes the result is `unavailable`. A snapshot whose state is there is always stored.
std::expected<void, Error> store_snapshot(Disk& disk, const std::string& directory, Seq older,
                                          Snapshot& snapshot,
                                          const std::function<bool()>& is_stopping);

}  // namespace parley::journal
