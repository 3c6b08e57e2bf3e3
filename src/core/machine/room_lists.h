// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <string_view>
#include <vector>

#include "core/delivery/dispatch.h"
#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"

// The forms of the lists in core/machine/rooms.h. What must agree stands in one row, and a list is
// resolved by the compiler: an entry pays for direct calls, one behind the other.
namespace parley::core {

// What time does to a room, and when that is due next.
template <auto act, auto due>
struct Step {
  static void run(Dispatch& dispatch) {
    if constexpr (std::invocable<decltype(act), Dispatch&>) {
      act(dispatch);
    } else {
      act(dispatch.t);
    }
  }
  static Time next_due(const Tables& tables) { return due(tables); }
};

// For a step that waits for no time, or whose time another step names.
inline Time no_time(const Tables&) { return base::time_max; }

template <class... Each>
struct Steps {
  static void run(Dispatch& dispatch) { (Each::run(dispatch), ...); }
  static Time next_due(const Tables& tables) { return std::min({Each::next_due(tables)...}); }
};

// A table of a snapshot: what writes it, and what reads it into a table that is new. Reading is
// false when the bytes are no such table; `decode` fails the reader then.
template <auto table, auto encode, auto decode>
struct Part {
  static void write(const Tables& tables, SnapshotWriter& rows) {
    if constexpr (std::invocable<decltype(encode), const Tables&, SnapshotWriter&>) {
      encode(tables, rows);
    } else {
      encode(tables, rows.out);
    }
  }
  static bool read(Tables& tables, SnapshotReader& rows) {
    if constexpr (std::invocable<decltype(decode), Tables&, SnapshotReader&>) {
      decode(tables, rows);
    } else {
      decode(tables, rows.in);
    }
    return rows.in.ok();
  }
  // The records that the table still needs, where it says so.
  static void add_live(const Tables& tables, std::vector<Seq>& seqs) {
    if constexpr (requires { (tables.*table).add_live(seqs); }) {
      (tables.*table).add_live(seqs);
    }
  }
};

template <auto table>
void encode_table(const Tables& tables, Writer& out) {
  (tables.*table).encode(out);
}
template <auto table>
void decode_table(Tables& tables, Reader& in) {
  if (!(tables.*table).decode(in)) {
    in.fail();
  }
}
// A table that needs no other one to write and read itself.
template <auto table>
using Whole = Part<table, encode_table<table>, decode_table<table>>;

template <class... Each>
struct Parts {
  static void write(const Tables& tables, SnapshotWriter& rows) {
    (Each::write(tables, rows), ...);
  }
  static bool read(Tables& tables, SnapshotReader& rows) {
    return (Each::read(tables, rows) && ...);
  }
  static void add_live(const Tables& tables, std::vector<Seq>& seqs) {
    (Each::add_live(tables, seqs), ...);
  }
};

// What becomes of things when the principal of this name is removed.
template <auto... each>
struct Departures {
  static void run(Dispatch& dispatch, std::string_view name) { (each(dispatch, name), ...); }
};

}  // namespace parley::core
