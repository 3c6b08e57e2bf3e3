// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
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
    bool operator==(const Text&) const = default;
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

// Facts in the order of their entries, with their texts. They are kept packed, each as what differs
// from the one before: many wait in memory while the history is behind.
class Facts {
 public:
  // Adds what came of one entry, right after the machine applied it. An entry that changed nothing
  // here adds nothing.
  void add(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
           std::span<const core::Effect> effects);

  std::string_view text(const Fact::Text& text) const {
    return std::string_view(texts_).substr(text.at, text.size);
  }
  std::vector<Fact> all() const;  // unpacked
  size_t size() const { return count_; }
  size_t bytes() const { return packed_.size() + texts_.size(); }
  // No more come: what they have beyond `bytes` is freed.
  void shrink();

 private:
  struct Applied;

  Seq add_send(const Applied& turn);
  void add_deliveries(const Applied& turn, core::MessageRef message);
  void add_effect(const Applied& turn, size_t at);
  void add_delivery(const Applied& turn, core::DeliveryRef ref, bool again = false);
  void add_moved(const Applied& turn, Seq moved, std::string_view to);
  void add_target(const Applied& turn, const core::Target& target);
  void add_resolved(const Applied& turn, uint64_t letter, core::Resolution resolution,
                    std::string_view by);
  void put(const Fact& fact);
  Fact::Text keep(std::string_view text);

  std::string packed_;
  size_t count_ = 0;
  Fact last_;  // what the next one is packed against
  std::string texts_;
  std::array<Fact::Text, 64> kept_{};  // by the hash of the text: most names come again and again
};

}  // namespace parley::view
