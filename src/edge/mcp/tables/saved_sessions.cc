// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/tables/saved_sessions.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "lib/crypto.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr mode_t private_mode = 0600;
// A file is written anew when it is twice as large as what counts in it, and this much beyond.
constexpr size_t slack_bytes = size_t{1} << 20;

// The file has a hash in place of the id, because the id is half of what it takes to use a session.
std::string key_of(std::string_view session) {
  return base::format_uuid(lib::derived_id("mcp session", session));
}

std::string owner_of(const Principal& principal) {
  return std::to_string(static_cast<uint32_t>(principal.workspace)) + "/" + principal.name;
}

std::string line_of(std::string_view key, std::string_view owner, const SavedSession& saved,
                    base::Time at) {
  std::string line;
  JsonWriter out(line);
  out.object().key("session").text(key).key("owner").text(owner).key("at").number(at.us);
  if (saved.is_ended) {
    out.key("ended").boolean(true);
  }
  if (!saved.level.empty()) {
    out.key("level").text(saved.level);
  }
  if (!saved.uris.empty()) {
    out.key("uris").array();
    for (const std::string& uri : saved.uris) {
      out.text(uri);
    }
    out.end_array();
  }
  out.end_object();
  return line += "\n";
}

std::string new_path(const std::string& path) { return path + ".new"; }

base::Error cannot_write(const std::string& path) {
  return {base::Code::storage_failed, "cannot write " + path + ": " + std::strerror(errno), {}};
}

}  // namespace

std::expected<std::unique_ptr<SavedSessions>, base::Error> SavedSessions::open(
    std::string path, base::Time now, const Bounds& bounds) {
  auto saved_sessions = std::make_unique<SavedSessions>();
  saved_sessions->path_ = std::move(path);
  saved_sessions->bounds_ = bounds;
  auto made = compact(saved_sessions->path_, SIZE_MAX, bounds, now, *saved_sessions);
  if (!made) {
    return std::unexpected(made.error());
  }
  if (auto placed = saved_sessions->put_in_place(*made); !placed) {
    return std::unexpected(placed.error());
  }
  return saved_sessions;
}

// A new file that is not in place is dropped: the old one has all lines.
SavedSessions::~SavedSessions() {
  if (compacting_.valid()) {
    if (const auto made = compacting_.get()) {
      ::close(made->fd);
      ::unlink(new_path(path_).c_str());
    }
  }
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

// A line that cannot be read, such as a last one that was cut off, is passed over.
void SavedSessions::read_line(std::string_view line, base::Time now) {
  lib::JsonDocument document;
  const auto json = document.parse(line);
  if (!json || !json->is_object()) {
    return;
  }
  const auto text = [&](std::string_view key) {
    return std::string(json->find(key).as_string().value_or(""));
  };
  const std::string key = text("session");
  Entry entry{.owner = text("owner"),
              .saved = {.is_ended = json->find("ended").as_bool() == true, .level = text("level")},
              .at = base::Time{json->find("at").as_int64().value_or(0)},
              .bytes = line.size() + 1};
  for (const Json uri : json->find("uris").elements()) {
    entry.saved.uris.emplace_back(uri.as_string().value_or(""));
  }
  if (entry.at + bounds_.life < now) {
    entry.saved = {};  // an empty one removes what earlier lines said of the session
  }
  take(key, std::move(entry));
}

const SavedSession* SavedSessions::find(std::string_view session) const {
  const auto at = entries_.empty() ? entries_.end() : entries_.find(key_of(session));
  return at == entries_.end() ? nullptr : &at->second.saved;
}

void SavedSessions::erase(const std::string& key) {
  const auto entry = entries_.extract(key);
  if (!entry) {
    return;
  }
  const Entry& gone = entry.mapped();
  by_order_.erase(gone.order);
  by_owner_.erase({gone.owner, gone.order});
  bytes_ -= gone.bytes;
  const auto of_owner = bytes_of_.find(gone.owner);
  of_owner->second -= gone.bytes;
  if (of_owner->second == 0) {
    bytes_of_.erase(of_owner);
  }
}

void SavedSessions::take(const std::string& key, Entry entry) {
  erase(key);
  if (entry.saved.is_empty()) {
    return;
  }
  const std::string owner = entry.owner;
  entry.order = ++last_order_;
  by_order_[entry.order] = key;
  by_owner_[{owner, entry.order}] = key;
  bytes_ += entry.bytes;
  bytes_of_[owner] += entry.bytes;
  entries_.emplace(key, std::move(entry));
  while (bytes_of_.contains(owner) && bytes_of_[owner] > bounds_.bytes_per_principal_max) {
    erase(std::string(by_owner_.lower_bound({owner, 0})->second));
  }
  while (bytes_ > bounds_.bytes_max) {
    erase(std::string(by_order_.begin()->second));
  }
}

void SavedSessions::keep(std::string_view session, const Principal& owner, SavedSession saved,
                         base::Time now) {
  const std::string key = key_of(session);
  if (saved.is_empty() && !entries_.contains(key)) {
    return;
  }
  Entry entry{.owner = owner_of(owner), .saved = std::move(saved), .at = now};
  const std::string line = line_of(key, entry.owner, entry.saved, now);
  entry.bytes = line.size();
  take(key, std::move(entry));
  if (fd_ < 0) {
    return;
  }
  append(line);
  finish_compaction();
  if (!compacting_.valid() && file_bytes_ > std::max(2 * bytes_ + slack_bytes, compact_from_)) {
    compacting_ =
        std::async(std::launch::async, [path = path_, upto = file_bytes_, bounds = bounds_, now] {
          SavedSessions scratch;
          return compact(path, upto, bounds, now, scratch);
        });
  }
}

// After a failed write the file may end within a line. The line break in front keeps that from
// spoiling the next one.
void SavedSessions::append(const std::string& line) {
  const std::string all = unwritten_.empty() ? line : "\n" + unwritten_ + line;
  if (lib::write_all(fd_, all)) {
    file_bytes_ += all.size();
    unwritten_.clear();
  } else if (unwritten_.size() + line.size() <= bounds_.bytes_max) {
    unwritten_ += line;
  }
  if (compacting_.valid()) {
    lines_since_ += line;
  }
}

void SavedSessions::settle() {
  if (compacting_.valid()) {
    compacting_.wait();
    finish_compaction();
  }
}

// Puts the new file in the place of the old one, with the lines that were appended meanwhile. When
// that fails, the old file stays in use, and has all lines.
void SavedSessions::finish_compaction() {
  if (!compacting_.valid() ||
      compacting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return;
  }
  auto made = compacting_.get();
  const std::string since = std::exchange(lines_since_, {});
  if (made && lib::write_all(made->fd, since)) {
    made->bytes += since.size();
    if (put_in_place(*made)) {
      compact_from_ = 0;
      return;
    }
  } else if (made) {
    ::close(made->fd);
  }
  compact_from_ = file_bytes_ + slack_bytes;
}

// Reads the first `upto` bytes of the file into `saved_sessions`, as a start does, and writes what
// counts of them to a new file.
std::expected<SavedSessions::CompactFile, base::Error> SavedSessions::compact(
    const std::string& path, size_t upto, const Bounds& bounds, base::Time now,
    SavedSessions& saved_sessions) {
  saved_sessions.path_ = path;
  saved_sessions.bounds_ = bounds;
  std::ifstream file(path, std::ios::binary);
  size_t read = 0;
  for (std::string line; read < upto && std::getline(file, line);) {
    read += line.size() + 1;
    saved_sessions.read_line(line, now);
  }
  return saved_sessions.write_new();
}

std::expected<SavedSessions::CompactFile, base::Error> SavedSessions::write_new() const {
  std::string all;
  for (const auto& [order, key] : by_order_) {
    const Entry& entry = entries_.at(key);
    all += line_of(key, entry.owner, entry.saved, entry.at);
  }
  const int fd = ::open(new_path(path_).c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, private_mode);
  if (fd < 0 || !lib::write_all(fd, all)) {
    const base::Error error = cannot_write(path_);
    if (fd >= 0) {
      ::close(fd);
    }
    return std::unexpected(error);
  }
  return CompactFile{fd, all.size()};
}

std::expected<void, base::Error> SavedSessions::put_in_place(const CompactFile& made) {
  if (::rename(new_path(path_).c_str(), path_.c_str()) != 0) {
    const base::Error error = cannot_write(path_);
    ::close(made.fd);
    return std::unexpected(error);
  }
  // Closing the last descriptor of a file without a name gives its space back. That takes
  // milliseconds, so another thread does it.
  if (fd_ >= 0) {
    closing_ = std::async(std::launch::async, [old = fd_] { ::close(old); });
  }
  fd_ = made.fd;
  file_bytes_ = made.bytes;
  return {};
}

}  // namespace parley::edge::mcp
