// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "core/model/fields.h"
#include "core/state/shared_set.h"

namespace parley::core {

// What is put before people, by id, oldest first. Each row is open until someone ends it. Beyond a
// number the oldest ended one goes, of the owner that holds most of those; an open one never does.
//
// A Row has an `id`, an `owner()`, `is_open()` and a list of fields.
template <class Row>
class Cases {
 public:
  // Gives it its id, and returns that. `forget(row)` is called for each that goes.
  template <class Forget>
  uint64_t add(Row row, uint64_t max, Forget&& forget) {
    while (rows_.size() >= max && ended_.size() > 0) {
      const auto gone = rows_.find(*ended_.first_of_most());
      forget(std::as_const(gone->second));
      ended_.remove(gone->second.owner(), gone->first);
      all_of_.remove(gone->second.owner(), gone->first);
      rows_.erase(gone);
    }
    row.id = next_id_++;
    count(row);
    return rows_.emplace_hint(rows_.end(), row.id, std::move(row))->first;
  }
  uint64_t add(Row row, uint64_t max) {
    return add(std::move(row), max, [](const Row&) {});
  }

  // nullptr when there is none.
  const Row* find(uint64_t id) const {
    const auto at = rows_.find(id);
    return at == rows_.end() ? nullptr : &at->second;
  }

  // Calls `act(row)` for one that is open, which may end it. Its owner stays.
  template <class Act>
  void change(uint64_t id, Act&& act) {
    Row& row = rows_.at(id);
    CHECK(row.is_open());
    act(row);
    if (!row.is_open()) {
      open_.remove(row.owner());
      ended_.add(row.owner(), id);
    }
  }

  const std::map<uint64_t, Row>& all() const { return rows_; }
  // The ids of one owner's, oldest first; nullptr when there is none.
  const std::set<uint64_t>* of(std::string_view owner) const { return all_of_.all_of(owner); }
  size_t size() const { return rows_.size(); }
  size_t open() const { return open_.total(); }
  size_t open_of(std::string_view owner) const { return open_.of(owner); }

  void encode(Writer& out) const {
    out.varint(next_id_);
    put_rows(rows_, out);
  }
  // Into a table that is new. `take(row)` says whether it can be one. False when the bytes are not
  // what `encode` writes.
  template <class Take>
  bool decode(Reader& in, Take&& take) {
    next_id_ = in.varint();
    get_rows<Row>(in, [this, &take](Row row) {
      const bool is_next = rows_.empty() || rows_.rbegin()->first < row.id;
      if (row.id == 0 || row.id >= next_id_ || !is_next || !take(std::as_const(row))) {
        return false;
      }
      count(row);
      return rows_.emplace(row.id, std::move(row)).second;
    });
    return in.ok() && next_id_ > 0;
  }

 private:
  void count(const Row& row) {
    all_of_.add(row.owner(), row.id);
    if (row.is_open()) {
      open_.add(row.owner());
    } else {
      ended_.add(row.owner(), row.id);
    }
  }

  uint64_t next_id_ = 1;
  std::map<uint64_t, Row> rows_;
  Shares open_;                 // by owner
  SharedSet<uint64_t> ended_;   // ids, by owner
  SharedSet<uint64_t> all_of_;  // the same of all
};

}  // namespace parley::core
