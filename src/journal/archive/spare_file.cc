// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/spare_file.h"

#include <algorithm>
#include <string_view>

#include "journal/file/format.h"

namespace parley::journal {

namespace {

// Zeros are written past the kernel's cache and in pieces: that costs no copying, and a sync of the
// appending thread waits for no more than one piece.
constexpr size_t zero_piece_bytes = size_t{1} << 20;

Result write_zeros(const File& file, uint64_t bytes) {
  // A full disk is to show before most of it was written.
  if (auto reserved = file.reserve(bytes); !reserved) {
    return reserved;
  }
  const auto piece = static_cast<size_t>(std::min<uint64_t>(zero_piece_bytes, bytes));
  // Direct writing needs memory that begins at a block.
  const std::string memory(piece + block_bytes, '\0');
  const size_t past = reinterpret_cast<uintptr_t>(memory.data()) % block_bytes;
  const size_t aligned_at = (block_bytes - past) % block_bytes;
  const std::string_view zeros = std::string_view(memory).substr(aligned_at);
  for (uint64_t at = 0; at < bytes; at += piece) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(piece, bytes - at));
    if (Result done = file.write(zeros.substr(0, size), at); !done) {
      return done;
    }
  }
  return file.sync();
}

}  // namespace

std::expected<std::string, Error> make_spare(Disk& disk, const std::string& directory,
                                             uint64_t bytes) {
  const std::string path = directory + "/" + spare_name(new_salt());
  // Until it is whole it has a name that recovery removes.
  const std::string temporary = path + ".tmp";
  Result done;
  {
    const auto file = File::open(disk, temporary, OpenMode::create_raw);
    done = file ? write_zeros(*file, bytes) : Result(std::unexpected(file.error()));
  }
  if (done) {
    done = as_result(disk.rename(temporary, path));
  }
  if (!done) {
    disk.remove(temporary);
    return std::unexpected(storage_error("make", path, done.error()));
  }
  if (const auto synced = as_result(disk.sync_directory(directory)); !synced) {
    return std::unexpected(storage_error("sync", directory, synced.error()));
  }
  return path;
}

std::expected<std::string, Error> reserve_file(Disk& disk, const std::string& directory,
                                               uint64_t bytes) {
  std::string path = directory + "/" + spare_name(new_salt()) + ".tmp";
  const auto file = File::open(disk, path, OpenMode::create);
  const Result done = file ? file->reserve(bytes) : Result(std::unexpected(file.error()));
  if (!done) {
    disk.remove(path);
    return std::unexpected(storage_error("make", path, done.error()));
  }
  return path;
}

}  // namespace parley::journal
