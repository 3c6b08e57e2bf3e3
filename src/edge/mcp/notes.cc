// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/notes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr mode_t private_mode = 0600;
constexpr size_t slack_bytes = size_t{1} << 20;  // a small file is not worth writing anew

std::string key_of(std::string_view session) {
  return base::format_uuid(lib::derived_id("mcp session", session));
}

std::string owner_of(const Principal& principal) {
  return std::to_string(static_cast<uint32_t>(principal.workspace)) + "/" + principal.name;
}

std::string line_of(std::string_view key, std::string_view owner, const Note& note, base::Time at) {
  std::string line;
  JsonWriter out(line);
  out.object().key("session").text(key).key("owner").text(owner).key("at").number(at.us);
  if (note.is_ended) {
    out.key("ended").boolean(true);
  }
  if (!note.level.empty()) {
    out.key("level").text(note.level);
  }
  if (!note.uris.empty()) {
    out.key("uris").array();
    for (const std::string& uri : note.uris) {
      out.text(uri);
    }
    out.end_array();
  }
  out.end_object();
  return line += "\n";
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return true;
}

std::string new_path(const std::string& path) { return path + ".new"; }

base::Error cannot_write(const std::string& path) {
  return {base::Code::storage_failed, "cannot write " + path + ": " + std::strerror(errno), {}};
}

}  // namespace

std::expected<std::unique_ptr<Notes>, base::Error> Notes::open(std::string path, base::Time now,
                                                               const Bounds& bounds) {
  auto notes = std::make_unique<Notes>();
  notes->path_ = std::move(path);
  notes->bounds_ = bounds;
  auto made = compact(notes->path_, SIZE_MAX, bounds, now, *notes);
  if (!made) {
    return std::unexpected(made.error());
  }
  if (auto placed = notes->put_in_place(*made); !placed) {
    return std::unexpected(placed.error());
  }
  return notes;
}

// The file has all lines, whatever becomes of the one that is being written.
Notes::~Notes() {
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

// A line that is none, such as a last one that was cut off, says nothing.
void Notes::read_line(std::string_view line, base::Time now) {
  lib::JsonDocument document;
  const auto json = document.parse(line);
  if (!json || !json->is_object()) {
    return;
  }
  const auto text = [&](std::string_view key) {
    const Json value = json->find(key);
    return std::string(value ? value.as_string().value_or("") : std::string_view{});
  };
  const Json at = json->find("at");
  const Json ended = json->find("ended");
  const Json uris = json->find("uris");
  const std::string key = text("session");
  Entry entry{.owner = text("owner"),
              .note = {.is_ended = ended && ended.as_bool() == true, .level = text("level")},
              .at = base::Time{at ? at.as_int64().value_or(0) : 0},
              .bytes = line.size() + 1};
  for (const Json uri : uris ? uris.elements() : Json::Elements{}) {
    entry.note.uris.emplace_back(uri.as_string().value_or(""));
  }
  if (entry.at + bounds_.life < now) {
    entry.note = {};
  }
  take(key, std::move(entry));
}

const Note* Notes::find(std::string_view session) const {
  const auto at = entries_.empty() ? entries_.end() : entries_.find(key_of(session));
  return at == entries_.end() ? nullptr : &at->second.note;
}

void Notes::erase(const std::string& key) {
  const auto entry = entries_.extract(key);
  if (!entry) {
    return;
  }
  const Entry& gone = entry.mapped();
  by_turn_.erase(gone.turn);
  by_owner_.erase({gone.owner, gone.turn});
  bytes_ -= gone.bytes;
  const auto of_owner = bytes_of_.find(gone.owner);
  of_owner->second -= gone.bytes;
  if (of_owner->second == 0) {
    bytes_of_.erase(of_owner);
  }
}

void Notes::take(const std::string& key, Entry entry) {
  erase(key);
  if (entry.note.is_empty()) {
    return;
  }
  const std::string owner = entry.owner;
  entry.turn = ++last_turn_;
  by_turn_[entry.turn] = key;
  by_owner_[{owner, entry.turn}] = key;
  bytes_ += entry.bytes;
  bytes_of_[owner] += entry.bytes;
  entries_.emplace(key, std::move(entry));
  while (bytes_of_.contains(owner) && bytes_of_[owner] > bounds_.bytes_per_principal_max) {
    erase(std::string(by_owner_.lower_bound({owner, 0})->second));
  }
  while (bytes_ > bounds_.bytes_max) {
    erase(std::string(by_turn_.begin()->second));
  }
}

void Notes::keep(std::string_view session, const Principal& owner, Note note, base::Time now) {
  const std::string key = key_of(session);
  if (note.is_empty() && !entries_.contains(key)) {
    return;
  }
  Entry entry{.owner = owner_of(owner), .note = std::move(note), .at = now};
  const std::string line = line_of(key, entry.owner, entry.note, now);
  entry.bytes = line.size();
  take(key, std::move(entry));
  if (fd_ < 0) {
    return;
  }
  append(line);
  finish_compaction();
  if (!compacting_.valid() && file_bytes_ > std::max(2 * bytes_ + slack_bytes, compact_from_)) {
    compacting_ = std::async(std::launch::async, [path = path_, upto = file_bytes_,
                                                  bounds = bounds_, now] {
      Notes scratch;
      return compact(path, upto, bounds, now, scratch);
    });
  }
}

// A line that was cut off must not spoil the next one.
void Notes::append(const std::string& line) {
  const std::string all = unwritten_.empty() ? line : "\n" + unwritten_ + line;
  if (write_all(fd_, all)) {
    file_bytes_ += all.size();
    unwritten_.clear();
  } else if (unwritten_.size() + line.size() <= bounds_.bytes_max) {
    unwritten_ += line;
  }
  if (compacting_.valid()) {
    since_ += line;
  }
}

void Notes::settle() {
  if (compacting_.valid()) {
    compacting_.wait();
    finish_compaction();
  }
}

void Notes::finish_compaction() {
  if (!compacting_.valid() ||
      compacting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return;
  }
  auto made = compacting_.get();
  const std::string since = std::exchange(since_, {});
  if (made && write_all(made->fd, since)) {
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

// Reads the first `upto` bytes of the file, as a start does, and writes what counts of them.
std::expected<Notes::Compact, base::Error> Notes::compact(const std::string& path, size_t upto,
                                                          const Bounds& bounds, base::Time now,
                                                          Notes& notes) {
  notes.path_ = path;
  notes.bounds_ = bounds;
  std::ifstream file(path, std::ios::binary);
  size_t read = 0;
  for (std::string line; read < upto && std::getline(file, line);) {
    read += line.size() + 1;
    notes.read_line(line, now);
  }
  return notes.write_new();
}

std::expected<Notes::Compact, base::Error> Notes::write_new() const {
  std::string all;
  for (const auto& [turn, key] : by_turn_) {
    const Entry& entry = entries_.at(key);
    all += line_of(key, entry.owner, entry.note, entry.at);
  }
  const int fd = ::open(new_path(path_).c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, private_mode);
  if (fd < 0 || !write_all(fd, all)) {
    const base::Error error = cannot_write(path_);
    if (fd >= 0) {
      ::close(fd);
    }
    return std::unexpected(error);
  }
  return Compact{fd, all.size()};
}

std::expected<void, base::Error> Notes::put_in_place(const Compact& made) {
  if (::rename(new_path(path_).c_str(), path_.c_str()) != 0) {
    const base::Error error = cannot_write(path_);
    ::close(made.fd);
    return std::unexpected(error);
  }
  // The last to close a file that has no name gives its space back, which takes milliseconds.
  if (fd_ >= 0) {
    closing_ = std::async(std::launch::async, [old = fd_] { ::close(old); });
  }
  fd_ = made.fd;
  file_bytes_ = made.bytes;
  return {};
}

}  // namespace parley::edge::mcp
