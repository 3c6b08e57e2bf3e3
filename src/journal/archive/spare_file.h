// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files that can become segments. A file that cannot be made whole is removed; storage_full says
// that there was no space for it.

#include <cstdint>
#include <expected>
#include <string>

#include "journal/file/disk.h"
#include "journal/journal.h"

namespace parley::journal {

// Makes a spare: a file of `bytes` zeros that are written out, durable with its name. Appending to
// it changes no metadata of the file system, so each sync is one write of the disk. Takes long.
// Returns the path.
std::expected<std::string, Error> make_spare(Disk& disk, const std::string& directory,
                                             uint64_t bytes);

// Makes a file whose space is reserved but not written, under a temporary name: quick, for a thread
// that can wait neither for zeros nor for a sync. Returns the path.
std::expected<std::string, Error> reserve_file(Disk& disk, const std::string& directory,
                                               uint64_t bytes);

}  // namespace parley::journal
