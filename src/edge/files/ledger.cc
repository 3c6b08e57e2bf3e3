// SPDX-License-Identifier: Apache-2.0
#include "edge/files/ledger.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace parley::edge::files {

namespace {

constexpr char erased = 'x';

std::string line_of(char state, std::string_view box, std::string_view name, base::Seq seq) {
  std::string line(1, state);
  line.append(" ").append(box).append(" ").append(name).append(" ");
  return line + std::to_string(seq.n) + "\n";
}

}  // namespace

void Ledger::read(std::string_view lines) {
  while (true) {
    const size_t end = lines.find('\n');
    if (end == lines.npos) {
      return;
    }
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    std::array<std::string_view, 4> words;
    size_t count = 0;
    while (count < words.size() && !line.empty()) {
      words[count] = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(words[count].size() + 1, line.size()));
      ++count;
    }
    const auto seq = base::parse_number(words[3]);
    if (count != words.size() || !line.empty() || words[0].size() != 1 || !seq) {
      continue;
    }
    const char state = words[0][0];
    if (state == erased) {
      erase(words[1], words[2]);
    } else if (state == 'p' || state == 'a' || state == 'd') {
      set(words[1], words[2], {base::Seq{*seq}, State{state}});
    }
  }
}

std::string Ledger::text() const {
  std::string lines;
  for (const auto& [box, entries] : boxes_) {
    for (const auto& [name, entry] : entries.by_name) {
      lines += line_of(static_cast<char>(entry.state), box, name, entry.seq);
    }
  }
  return lines;
}

std::string Ledger::set(std::string_view box, std::string_view name, Entry entry) {
  Box& in = boxes_[std::string(box)];
  if (const auto at = in.by_name.find(name); at != in.by_name.end()) {
    forget(in, at);
  }
  in.by_name.emplace(name, entry);
  in.by_seq[entry.seq] = name;
  ++size_;
  return line_of(static_cast<char>(entry.state), box, name, entry.seq);
}

std::string Ledger::erase(std::string_view box, std::string_view name) {
  const auto in = boxes_.find(box);
  if (in != boxes_.end()) {
    if (const auto at = in->second.by_name.find(name); at != in->second.by_name.end()) {
      forget(in->second, at);
    }
    if (in->second.by_name.empty()) {
      boxes_.erase(in);
    }
  }
  return line_of(erased, box, name, {});
}

void Ledger::forget(Box& box, Entries::iterator at) {
  const auto named = box.by_seq.find(at->second.seq);
  if (named != box.by_seq.end() && named->second == at->first) {
    box.by_seq.erase(named);
  }
  box.by_name.erase(at);
  --size_;
}

void Ledger::erase_box(std::string_view box) {
  if (const auto at = boxes_.find(box); at != boxes_.end()) {
    size_ -= at->second.by_name.size();
    boxes_.erase(at);
  }
}

const Ledger::Entry* Ledger::find(std::string_view box, std::string_view name) const {
  const Entries& in = entries(box);
  const auto at = in.find(name);
  return at == in.end() ? nullptr : &at->second;
}

std::string Ledger::name_of(std::string_view box, base::Seq seq) const {
  const auto in = boxes_.find(box);
  if (in == boxes_.end()) {
    return {};
  }
  const auto at = in->second.by_seq.find(seq);
  return at == in->second.by_seq.end() ? std::string() : at->second;
}

const Ledger::Entries& Ledger::entries(std::string_view box) const {
  static const Entries none;
  const auto at = boxes_.find(box);
  return at == boxes_.end() ? none : at->second.by_name;
}

}  // namespace parley::edge::files
