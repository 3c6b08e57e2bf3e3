// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/model/envelope.h"
#include "core/model/refs.h"

namespace parley::core {

// Why a message is held back from those who are to get it.
enum class HoldReason : uint8_t {
  session_paused,  // released when the session is resumed or ends
  approval,        // until people have decided on the message (core/humans/held.h)
  challenge,       // until the debate ends that a reviewer opened (core/debates)
  decision,        // from one receiver, until it was handed what they decided (the same)
};

// `session_paused`, `approval`, `challenge`, `decision`.
std::string_view word_of(HoldReason reason);

// One message is held: none of its deliveries is handed out, or not that to one receiver, and
// others pass it. It counts in its receivers' inboxes and expires as any other; its sender sees it
// as queued. It has no end of its own: what holds it lets it go.
struct Hold {
  HoldReason reason = HoldReason::session_paused;
  // What holds it: the entry that started the session, the message's own, the first challenge.
  Seq by{};
  AgentRef to = none;  // held back from this one alone; none: from all

  bool operator==(const Hold&) const = default;
};

// What those who ask for a held message are told.
struct HoldWords {
  base::Code code;
  std::string_view to_read;    // it cannot be read now
  std::string_view to_settle;  // it cannot be settled before it was read
};
HoldWords words_of(HoldReason reason);

// Which messages are held, and why. A message may be held for several reasons, and goes when the
// last of them is gone. It is part of the state, made anew from what holds them when a snapshot is
// restored. hold_acts.h moves the deliveries.
class Holds {
 public:
  // The first of its holds that keeps it from this receiver, or none: from all; nullptr when there
  // is none.
  const Hold* find(Seq message, AgentRef receiver = none) const {
    const auto at = holds_.empty() ? holds_.end() : holds_.find(message);
    if (at == holds_.end()) {
      return nullptr;
    }
    const auto first = std::ranges::find_if(at->second, [receiver](const Hold& hold) {
      return hold.to == none || hold.to == receiver;
    });
    return first == at->second.end() ? nullptr : &*first;
  }
  bool contains(Seq message, AgentRef receiver = none) const {
    return find(message, receiver) != nullptr;
  }

  void add(Seq message, const Hold& hold) {
    std::vector<Hold>& holds = holds_[message];
    if (std::ranges::find(holds, hold) == holds.end()) {
      holds.insert(std::ranges::upper_bound(holds, hold.reason, {}, &Hold::reason), hold);
    }
  }
  // Takes this hold away; the others stay.
  void remove(Seq message, const Hold& hold) {
    const auto at = holds_.find(message);
    if (at != holds_.end() && std::erase(at->second, hold) > 0 && at->second.empty()) {
      holds_.erase(at);
    }
  }
  // The message is done with: those of sessions and debates go. It may come to life again, and then
  // what people decide counts.
  void forget(Seq message) {
    const auto at = holds_.empty() ? holds_.end() : holds_.find(message);
    if (at == holds_.end()) {
      return;
    }
    std::erase_if(at->second, [](const Hold& hold) {
      return hold.reason == HoldReason::session_paused || hold.reason == HoldReason::challenge;
    });
    if (at->second.empty()) {
      holds_.erase(at);
    }
  }

  const std::map<Seq, std::vector<Hold>>& all() const { return holds_; }

 private:
  std::map<Seq, std::vector<Hold>> holds_;  // in the order of their reasons
};

}  // namespace parley::core
