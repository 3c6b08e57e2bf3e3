// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"

namespace parley::view {

using base::Error;
using base::Seq;
using base::Time;
using core::WorkspaceId;

// What the history needs to know of an entry beyond its record: small, without bodies, and good
// for longer than the entry, because names are copied.
struct Fact {
  enum class Kind : uint8_t {
    sent,         // the message at `message` was accepted
    delivery,     // where it stands with the receiver `name`
    dead_letter,  // it did not reach `name`
    resolved,     // a dead letter was resolved by `name`
    dropped,      // a dead letter had to go for another
  };
  struct Text {
    uint32_t at = 0;
    uint32_t size = 0;
  };
  static constexpr uint16_t attempts_unknown = UINT16_MAX;
  static constexpr uint8_t finished = 0x80;

  Seq entry;
  Seq message;
  uint64_t letter = 0;
  Time time;
  Text name;
  Text error;
  WorkspaceId workspace{};
  uint16_t attempts = 0;
  Kind kind = Kind::sent;
  uint8_t word = 0;  // State, Reason or Resolution, as the kind says; with `finished`

  // Of `sent` and `delivery`: from here on no receiver has the message open.
  bool is_finished() const { return (word & finished) != 0; }
  core::State state() const { return static_cast<core::State>(word & ~finished); }
  core::Reason reason() const { return static_cast<core::Reason>(word); }
  core::Resolution resolution() const { return static_cast<core::Resolution>(word); }
};

// Facts in the order of their entries, with their texts.
class Facts {
 public:
  // Adds what came of one entry, right after the machine applied it. An entry that changed nothing
  // here adds nothing.
  void add(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
           std::span<const core::Effect> effects);

  std::string_view text(const Fact::Text& text) const {
    return std::string_view(texts_).substr(text.at, text.size);
  }
  std::span<const Fact> all() const { return facts_; }
  size_t size() const { return facts_.size(); }
  size_t bytes() const { return facts_.size() * sizeof(Fact) + texts_.size(); }
  void reserve(size_t facts) { facts_.reserve(facts); }
  // Forgets them all and keeps the memory.
  void clear();

 private:
  struct Applied;

  Seq add_send(const Applied& turn);
  void add_effect(const Applied& turn, size_t at);
  void add_delivery(const Applied& turn, core::DeliveryRef ref);
  void add_moved(const Applied& turn, const core::ReassignTask& command);
  void add_target(const Applied& turn, const core::Target& target);
  void add_resolved(const Applied& turn, uint64_t letter, core::Resolution resolution,
                    std::string_view by);
  Fact& put(const Applied& turn, Fact::Kind kind, Seq message);
  Fact::Text keep(std::string_view text);
  Fact::Text keep_name(std::string_view name);

  std::vector<Fact> facts_;
  std::string texts_;
  Fact::Text last_name_;
};

}  // namespace parley::view
