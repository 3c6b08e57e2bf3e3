// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "base/hash.h"
#include "base/ids.h"
#include "core/state/index.h"
#include "core/state/slots.h"

namespace parley::core {

// Finds slots by their place in the journal. Places grow, and what is near in time is near there:
// so they lie side by side in small pages; most look-ups touch what the one before them touched.
class SeqPages {
 public:
  void insert(base::Seq seq, uint32_t slot) {
    uint32_t page = find_page(seq);
    if (page == none) {
      page = pages_.add(Page{.number = number_of(seq)});
      by_number_.insert(hash(number_of(seq)), page);
    }
    ++pages_[page].used;
    pages_[page].slots[at(seq)] = slot;
    newest_ = page;
  }

  void erase(base::Seq seq) {
    const uint32_t ref = find_page(seq);
    CHECK(ref != none);
    Page& page = pages_[ref];
    CHECK(page.slots[at(seq)] != none);
    page.slots[at(seq)] = none;
    if (--page.used == 0) {
      by_number_.erase(hash(page.number), ref);
      pages_.remove(ref);
      newest_ = newest_ == ref ? none : newest_;
    }
  }

  uint32_t find(base::Seq seq) const {
    const uint32_t page = find_page(seq);
    return page == none ? none : pages_[page].slots[at(seq)];
  }

 private:
  static constexpr uint64_t page_places = 16;

  struct Page {
    uint64_t number = 0;
    uint32_t used = 0;
    std::array<uint32_t, page_places> slots = filled();
  };

  static constexpr std::array<uint32_t, page_places> filled() {
    std::array<uint32_t, page_places> slots{};
    slots.fill(none);
    return slots;
  }
  static uint64_t number_of(base::Seq seq) { return seq.n / page_places; }
  static size_t at(base::Seq seq) { return static_cast<size_t>(seq.n % page_places); }
  // Nobody chooses a place, so this needs no secret.
  static uint64_t hash(uint64_t number) { return base::mix64(number, page_places); }

  uint32_t find_page(base::Seq seq) const {
    if (newest_ != none && pages_[newest_].number == number_of(seq)) {
      return newest_;
    }
    uint32_t found = none;
    by_number_.find(hash(number_of(seq)), [&](uint32_t page) {
      if (pages_[page].number == number_of(seq)) {
        found = page;
      }
      return found != none;
    });
    return found;
  }

  Slots<Page> pages_;
  Index by_number_;
  uint32_t newest_ = none;  // the page of the newest place, if it is still there
};

}  // namespace parley::core
