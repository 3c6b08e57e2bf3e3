// SPDX-License-Identifier: Apache-2.0
#include "journal/file/snapshot_file.h"

#include <array>
#include <cstring>

#include "base/hash.h"
#include "journal/file/format.h"

namespace parley::journal {

namespace {

constexpr std::string_view magic = "PRLYSNP\n";
constexpr uint32_t format_version = 1;

// The bytes before the state.
struct Layout {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t state_crc;
  uint64_t seq;
  uint64_t state_bytes;
  uint32_t reserved;
  uint32_t crc;
};
static_assert(sizeof(Layout) == 40);
constexpr size_t crc_at = 36;

Layout layout_of(const Snapshot& snapshot) {
  Layout layout{};
  std::memcpy(layout.magic.data(), magic.data(), magic.size());
  layout.version = format_version;
  layout.state_crc = base::crc32c(snapshot.state);
  layout.seq = snapshot.seq.n;
  layout.state_bytes = snapshot.state.size();
  layout.crc = base::crc32c({reinterpret_cast<const char*>(&layout), crc_at});
  return layout;
}

Result write_file(Disk& disk, const std::string& path, const Snapshot& snapshot) {
  const Layout layout = layout_of(snapshot);
  const auto file = File::open(disk, path, OpenMode::create);
  if (!file) {
    return std::unexpected(file.error());
  }
  Result done = file->write({reinterpret_cast<const char*>(&layout), sizeof layout}, 0);
  if (done) {
    done = file->write(snapshot.state, sizeof layout);
  }
  return done ? file->sync() : done;
}

}  // namespace

std::expected<void, Error> write_snapshot(Disk& disk, const std::string& directory,
                                          const Snapshot& snapshot) {
  const std::string path = directory + "/" + snapshot_name(snapshot.seq);
  const std::string temporary = path + ".tmp";
  Result done = write_file(disk, temporary, snapshot);
  if (done) {
    done = as_result(disk.rename(temporary, path));
  }
  if (!done) {
    disk.remove(temporary);
  } else {
    // Without this a power loss could bring back the old name.
    done = as_result(disk.sync_directory(directory));
  }
  if (!done) {
    return std::unexpected(storage_error("write", path, done.error()));
  }
  return {};
}

std::expected<Snapshot, Error> read_snapshot(Disk& disk, const std::string& directory, Seq seq) {
  const std::string path = directory + "/" + snapshot_name(seq);
  const auto file = File::open(disk, path, OpenMode::read);
  if (!file) {
    return std::unexpected(storage_error("open", path, file.error()));
  }
  const auto size = file->size();
  Layout layout{};
  const auto got = file->read(reinterpret_cast<char*>(&layout), sizeof layout, 0);
  if (!size || !got) {
    return std::unexpected(storage_error("read", path, size ? got.error() : size.error()));
  }
  // The sizes are compared before anything is allocated by what the file claims.
  if (*got < sizeof layout || *size != sizeof layout + layout.state_bytes) {
    return std::unexpected(damaged_error(path, *size, "the snapshot is cut or too long"));
  }
  Snapshot snapshot{seq, std::string(static_cast<size_t>(layout.state_bytes), '\0')};
  const auto state = file->read(snapshot.state.data(), snapshot.state.size(), sizeof layout);
  if (!state) {
    return std::unexpected(storage_error("read", path, state.error()));
  }
  // All fields can be computed from what was read, so one comparison checks them all.
  const Layout wanted = layout_of(snapshot);
  if (std::memcmp(&layout, &wanted, sizeof layout) != 0) {
    return std::unexpected(damaged_error(path, 0, "the snapshot fails its checksum"));
  }
  return snapshot;
}

}  // namespace parley::journal
