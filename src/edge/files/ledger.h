// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace parley::edge::files {

// Which file is which message. An archive keeps files longer than the engine remembers their
// messages, so that without this a file that someone sends could not be told from one that was
// read a week ago. Pure: each change is a line, which its owner appends to a file; the lines of a
// former life make the same ledger again.
class Ledger {
 public:
  // Written into the lines: never change.
  enum class State : char {
    pending = 'p',
    archived = 'a',  // by its receiver; the broker was not heard to know it
    done = 'd'       // settled
  };
  struct Entry {
    base::Seq seq;
    State state = State::pending;
    bool operator==(const Entry&) const = default;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by name of the file

  // Takes lines; what is no line, as the end of a file that was cut off, is passed over.
  void read(std::string_view lines);
  // All of it as lines.
  std::string text() const;

  // Names have no spaces. These return the line.
  std::string set(std::string_view box, std::string_view name, Entry entry);
  std::string erase(std::string_view box, std::string_view name);
  void erase_box(std::string_view box);

  const Entry* find(std::string_view box, std::string_view name) const;
  // The name of the file of a message; empty: it has none.
  std::string name_of(std::string_view box, base::Seq seq) const;
  const Entries& entries(std::string_view box) const;
  size_t size() const { return size_; }

 private:
  struct Box {
    Entries by_name;
    std::map<base::Seq, std::string> by_seq;
  };
  void forget(Box& box, Entries::iterator at);

  std::map<std::string, Box, std::less<>> boxes_;
  size_t size_ = 0;
};

}  // namespace parley::edge::files
