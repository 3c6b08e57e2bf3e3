// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/model/fields.h"
#include "core/state/slots.h"

namespace parley::core {

struct Tables;

// The place of each slot in the canonical order, and the slot of each place.
class Places {
 public:
  explicit Places(std::vector<uint32_t> slots);
  const std::vector<uint32_t>& slots() const { return slots_; }
  uint64_t of(uint32_t slot) const { return places_[slot]; }

 private:
  std::vector<uint32_t> slots_;
  std::vector<uint64_t> places_;
};

// Writes the rows of the tables of a workspace. Rooms write their own: NAME_snapshot.cc.
class SnapshotWriter : public FieldWriter {
 public:
  SnapshotWriter(const Tables& tables, Writer& writer);

  using FieldWriter::operator();
  void operator()(std::string_view name, uint32_t slot, SlotOf of);
  void operator()(std::string_view name, const std::vector<uint32_t>& slots, SlotOf of);

  // How many rows the table has, and each of them at its place.
  template <class Table>
  void rows(const Places& places, const Table& table) {
    using Row = std::remove_cvref_t<decltype(table[0])>;
    out.varint(places.slots().size());
    for (const uint32_t slot : places.slots()) {
      Row::fields(table[slot], *this);
    }
  }

  Writer& out;
  const Places agents;   // by name
  const Places topics;   // by name
  const Places threads;  // by their first message
};

// Reads them. Each room tells the slots of what it has read, in the order in which it was written.
// A place at which nothing was read fails the reader.
class SnapshotReader : public FieldReader {
 public:
  explicit SnapshotReader(Reader& reader) : FieldReader(reader), in(reader) {}

  using FieldReader::operator();
  void operator()(std::string_view name, uint32_t& slot, SlotOf of);
  void operator()(std::string_view name, std::vector<uint32_t>& slots, SlotOf of);

  // Gives each row to `take`, which says whether it can be one. Where it cannot, the reader fails.
  template <class Row>
  void rows(auto&& take) {
    for (size_t left = in.count(); left > 0 && in.ok(); --left) {
      Row row;
      Row::fields(row, *this);
      if (in.ok() && !take(row)) {
        in.fail();
      }
    }
  }

  // The slot at a place that is read; `none`, and the reader fails, where there is no such place.
  uint32_t slot_at(const std::vector<uint32_t>& slots);

  Reader& in;
  std::vector<uint32_t> agents;
  std::vector<uint32_t> topics;
  std::vector<uint32_t> threads;
  std::vector<uint32_t> streams;

 private:
  uint32_t slot_or_none(const std::vector<uint32_t>& slots);
};

}  // namespace parley::core
