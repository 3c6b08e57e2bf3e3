// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dead_letters/commands.h"
#include "core/model/dead_letter_reason.h"
#include "core/model/envelope.h"
#include "core/state/shared_set.h"

namespace parley::core {

// A message that did not reach one of its receivers. The original is in the journal at `message`;
// the machine keeps its header while the letter is open. A malformed one has no header and no
// receiver.
struct DeadLetter {
  uint64_t id = 0;
  Seq message;
  std::string sender;
  std::string receiver;
  Reason reason = Reason::receiver_not_found;
  Time failed_at;
  uint32_t retry_count = 0;  // deliveries that were tried
  std::string last_error;
  Resolution resolution = Resolution::pending;
  std::string resolved_by;
  Time resolved_at;
  uint64_t notice = 0;        // the outbox item that tells the sender; 0: there was no one to tell
  uint32_t tries = 0;         // that the broker made by itself
  bool inspected = false;     // by a pass
  bool has_original = true;   // false of a malformed one that is too large to be kept
  Time due = base::time_max;  // when the broker looks at it next

  // Not retried or discarded: a person can still do either with one that is escalated.
  bool is_open() const {
    return resolution == Resolution::pending || resolution == Resolution::escalated;
  }

  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("message", self.message);
    field("sender", self.sender);
    field("notice", self.notice);
    field("receiver", self.receiver);
    field("reason", self.reason, reason_last);
    field("failed_at", self.failed_at);
    field("retry_count", self.retry_count);
    field("last_error", self.last_error);
    field("resolution", self.resolution, resolution_last);
    field("resolved_by", self.resolved_by);
    field("resolved_at", self.resolved_at);
    field("tries", self.tries);
    field("inspected", self.inspected);
    field("has_original", self.has_original);
    field("due", self.due);
  }
  bool operator==(const DeadLetter&) const = default;
};

// The dead letters of a workspace, by id: oldest first.
class DeadLetters {
 public:
  // Gives the letter its id, and returns that.
  uint64_t add(DeadLetter letter);
  DeadLetter* find(uint64_t id);
  const DeadLetter* find(uint64_t id) const;
  // The open letter of a message that this receiver did not get; nullptr when there is none. There
  // is one at most: whoever delivers the message again resolves the letter first.
  DeadLetter* find_open(Seq message, std::string_view receiver);
  const DeadLetter* find_open(Seq message, std::string_view receiver) const;
  // The letter that must go when there are too many: of the sender that holds most, the oldest that
  // is not open, else the oldest.
  uint64_t first_to_go() const;
  void remove(uint64_t id);
  // Removes it to make room for others, which is counted.
  void drop(uint64_t id);
  uint64_t dropped() const { return dropped_; }
  void resolve(DeadLetter& letter, Resolution resolution, std::string_view by, Time at);

  // Looks at it then; never at time_max. One that is resolved is not looked at again.
  void set_due(DeadLetter& letter, Time at);
  // The one that is due first; nullptr when none ever is.
  DeadLetter* next_due();
  Time next_due_at() const { return due_.empty() ? base::time_max : due_.begin()->first; }

  // Counts one that failed at `now`. True when there were `count` within `window`, and the last
  // alarm was before that.
  bool is_alarming(Time now, uint64_t count, Duration window);
  Time alerted() const { return alerted_; }  // Time{} when never
  uint64_t alerts() const { return alerts_; }

  const std::map<uint64_t, DeadLetter>& all() const { return letters_; }
  size_t size() const { return letters_.size(); }
  size_t open() const { return open_.size(); }
  size_t pending() const { return pending_; }  // of those, what nobody has escalated
  size_t open_of(std::string_view sender) const { return open_.of(sender); }

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  // For snapshots: all of it but the letters, and the letters with their ids.
  void encode_counts(Writer& out) const;
  void decode_counts(Reader& in);
  // False when one has an id that was never given.
  bool restore(std::map<uint64_t, DeadLetter> letters);

 private:
  // What a letter is found by; one of a malformed message has no receiver and is not.
  using Undelivered = std::pair<Seq, std::string>;
  void index(const DeadLetter& letter);
  void unindex(const DeadLetter& letter);

  uint64_t next_id_ = 1;
  uint64_t dropped_ = 0;
  std::map<uint64_t, DeadLetter> letters_;
  std::map<Undelivered, uint64_t> undelivered_;  // ids of those that are open
  SharedSet<uint64_t> open_;                     // ids, by sender
  SharedSet<uint64_t> settled_;
  Shares held_;  // both
  size_t pending_ = 0;
  std::set<std::pair<Time, uint64_t>> due_;
  std::deque<Time> recent_;  // when the newest ones failed, as many as make an alarm
  Time alerted_;
  uint64_t alerts_ = 0;
};

}  // namespace parley::core
