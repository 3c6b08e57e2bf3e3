// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/state/slots.h"

namespace parley::core {

// Finds slots by the hash of a key that lies in the slot: eight bytes an entry, open addressing.
// There is no way to walk through it, so that its order cannot leak into the state. Several slots
// may share a hash or even a key.
//
// A large one consists of many tables, and each grows for itself: so an insert moves the entries of
// one table at most. With four million entries that is some thousands; more only if that many have
// the same hash.
class Index {
 public:
  void insert(uint64_t hash, uint32_t slot) {
    if (tables_.empty()) {
      tables_.emplace_back(bits_min);
    }
    put(Cell{fold(hash), slot});
  }

  void erase(uint64_t hash, uint32_t slot) {
    CHECK(!tables_.empty());
    table_of(fold(hash)).erase(Cell{fold(hash), slot});
  }

  // Calls `visit(slot)` for each slot that may have this hash, until it returns true.
  template <class Visit>
  void find(uint64_t hash, Visit&& visit) const {
    if (tables_.empty()) {
      return;
    }
    const Table& table = tables_[fold(hash) & (tables_.size() - 1)];
    for (size_t at = table.home(fold(hash)); table.cells[at].slot != none; at = table.after(at)) {
      if (table.cells[at].hash == fold(hash) && visit(table.cells[at].slot)) {
        return;
      }
    }
  }

  // How many entries were moved to make room, in all: the work that a test holds to a bound.
  uint64_t moved() const { return moved_; }

 private:
  static constexpr uint32_t bits_min = 4;         // of a table's size: most workspaces are small
  static constexpr uint32_t bits_alone_max = 13;  // of the first one, before there are many
  static constexpr size_t tables_max = 1'024;

  struct Cell {
    uint32_t hash = 0;
    uint32_t slot = none;
  };

  struct Table {
    explicit Table(uint32_t n) : cells(std::make_unique<Cell[]>(size_t{1} << n)), bits(n) {}

    size_t size() const { return size_t{1} << bits; }
    bool is_full() const { return (size_t{used} + 1) * 8 > size() * 7; }
    // By the upper bits: the lower ones choose the table.
    size_t home(uint32_t hash) const { return hash >> (32 - bits); }
    size_t after(size_t at) const { return (at + 1) & (size() - 1); }

    void place(Cell cell) {
      size_t at = home(cell.hash);
      while (cells[at].slot != none) {
        at = after(at);
      }
      cells[at] = cell;
      ++used;
    }

    void erase(Cell cell) {
      size_t at = home(cell.hash);
      while (cells[at].slot != cell.slot || cells[at].hash != cell.hash) {
        CHECK(cells[at].slot != none);
        at = after(at);
      }
      close_gap(at);
      --used;
    }

    // Moves later cells of the run back, so that no search ends early at the emptied one.
    void close_gap(size_t gap) {
      const size_t mask = size() - 1;
      for (size_t at = after(gap); cells[at].slot != none; at = after(at)) {
        if (((at - home(cells[at].hash)) & mask) >= ((at - gap) & mask)) {
          cells[gap] = cells[at];
          gap = at;
        }
      }
      cells[gap] = Cell{};
    }

    std::unique_ptr<Cell[]> cells;
    uint32_t used = 0;
    uint32_t bits;
  };

  static uint32_t fold(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }

  Table& table_of(uint32_t hash) { return tables_[hash & (tables_.size() - 1)]; }

  void put(Cell cell) {
    if (table_of(cell.hash).is_full()) {
      make_room(cell.hash);
    }
    table_of(cell.hash).place(cell);
  }

  // The table that this hash belongs to is full. The only one becomes many, when it is large.
  void make_room(uint32_t hash) {
    const bool divides = tables_.size() == 1 && tables_[0].bits == bits_alone_max;
    Table& table = table_of(hash);
    const Table full = std::exchange(table, Table(divides ? bits_min : table.bits + 1));
    while (divides && tables_.size() < tables_max) {
      tables_.emplace_back(bits_min);
    }
    for (size_t at = 0; at < full.size(); ++at) {
      if (full.cells[at].slot != none) {
        put(full.cells[at]);
      }
    }
    moved_ += full.used;
  }

  std::vector<Table> tables_;  // none, one, or `tables_max`
  uint64_t moved_ = 0;
};

}  // namespace parley::core
