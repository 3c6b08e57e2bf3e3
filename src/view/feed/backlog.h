// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "view/facts.h"

namespace parley::view {

// The facts of entries that are not in the history's tables yet, oldest first, and how much they
// take. They are kept in parts, so that growing never copies much; one transaction folds in a part.
// Part of Feed, whose lock guards it.
class Backlog {
 public:
  struct Options {
    // Beyond these it is full. What is not folded in also holds the journal's space.
    size_t bytes_max = size_t{32} << 20;        // of facts
    size_t record_bytes_max = size_t{4} << 30;  // of messages in the journal
    size_t part_facts = 5'000;                  // one transaction, if one entry has no more
    size_t part_bytes = size_t{4} << 20;        // of messages
  };

  // What is there of someone's entries.
  struct Held {
    size_t bytes = 0;
    uint64_t record_bytes = 0;
  };
  struct ByName {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return a.first != b.first ? a.first < b.first
                                : std::string_view(a.second) < std::string_view(b.second);
    }
  };
  using Holders = std::map<std::pair<WorkspaceId, std::string>, Held, ByName>;  // by actor

  struct Part {
    Facts facts;
    Seq upto;  // the last entry; facts may end before it
    size_t entries = 0;
    uint64_t record_bytes = 0;
    Holders holders;
  };

  explicit Backlog(const Options& options) : options_(options) {}

  // Adds what came of an entry.
  void add(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
           std::span<const core::Effect> effects);

  // Moves the oldest part into `part`. There is one; its bytes count until it is committed.
  void take(Part& part);

  // The part is in the tables.
  void committed(const Part& part);
  // All parts that were committed are durable.
  void made_durable() { logged_bytes_ = 0; }

  // Forgets all parts that were not taken. Their bytes go on to count: nobody folds them in.
  void drop();

  // Entries that were not taken yet.
  size_t entries() const { return entries_; }
  // The bytes of messages of all entries that are not committed.
  uint64_t record_bytes() const { return record_bytes_; }
  // The same, and of those that are committed and not durable.
  uint64_t growth_bytes() const { return record_bytes_ + logged_bytes_; }

  bool is_full() const;
  bool is_half_full() const;
  // Whether nothing more of that one should come: who holds more than what is left for all is full
  // before the others. So one alone takes half of it, and many leave as much as each of them has.
  bool is_full_for(WorkspaceId workspace, std::string_view actor) const;

 private:
  Part& open_part();
  static void add(Holders& holders, const core::Entry& entry, const Held& more);

  const Options options_;
  std::deque<Part> parts_;
  size_t entries_ = 0;
  size_t bytes_ = 0;  // of all facts that are not committed
  uint64_t record_bytes_ = 0;
  uint64_t logged_bytes_ = 0;  // of messages that are committed and not durable
  Holders holders_;            // of all that is not committed
};

}  // namespace parley::view
