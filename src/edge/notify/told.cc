// SPDX-License-Identifier: Apache-2.0
#include "edge/notify/told.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <optional>

#include "base/text.h"
#include "lib/file.h"

namespace parley::edge::notify {

namespace {

constexpr std::array<std::string_view, 2> words = {"escalation", "approval"};
constexpr size_t file_bytes_max = size_t{1} << 20;

}  // namespace

Told::Told(std::string path) : path_(std::move(path)) {
  std::string text(file_bytes_max, '\0');
  std::ifstream file(path_, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t first = std::min(line.find(' '), line.size());
    const size_t second = std::min(line.find(' ', std::min(first + 1, line.size())), line.size());
    const auto word = std::ranges::find(
        words, line.substr(std::min(first + 1, line.size()), second - std::min(first + 1, second)));
    const auto id = base::parse_number(line.substr(std::min(second + 1, line.size())));
    if (word != words.end() && id) {
      newest_[{std::string(line.substr(0, first)), What(word - words.begin())}] = *id;
    }
  }
}

uint64_t Told::newest(const std::string& target, What what) const {
  const std::lock_guard lock(mutex_);
  const auto at = newest_.find({target, what});
  return at == newest_.end() ? 0 : at->second;
}

void Told::add(const std::string& target, What what, uint64_t id) {
  const std::lock_guard lock(mutex_);
  uint64_t& newest = newest_[{target, what}];
  if (id > newest) {
    newest = id;
    save();
  }
}

// What cannot be written costs a notification that comes twice after a restart.
void Told::save() const {
  if (path_.empty()) {
    return;
  }
  std::string text;
  for (const auto& [key, id] : newest_) {
    text += key.first + " " + std::string(words[static_cast<size_t>(key.second)]) + " " +
            std::to_string(id) + "\n";
  }
  const std::string made = path_ + ".new";
  ::unlink(made.c_str());
  const int file = ::open(made.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    return;
  }
  const bool is_written = lib::write_all(file, text) && ::fsync(file) == 0;
  ::close(file);
  if (is_written) {
    (void)::rename(made.c_str(), path_.c_str());
  }
}

}  // namespace parley::edge::notify
