// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/command.h"

namespace parley::core {

// Why a message could not be delivered. Written into snapshots: never renumber.
enum class Reason : uint8_t {
  receiver_not_found = 0,
  receiver_unavailable = 1,
  ttl_expired = 2,
  rejected = 3,
  malformed = 4,
  queue_overflow = 5,
};
constexpr Reason reason_last = Reason::queue_overflow;

std::string_view reason_name(Reason reason);

// A message that did not reach one of its receivers. The original is in the journal at `message`;
// the machine keeps its header until the entry is resolved. A malformed one has no header and no
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
  uint64_t notice = 0;  // the errand that tells the sender; 0: there was no one to tell

  bool operator==(const DeadLetter&) const = default;
};

// The dead letters of a workspace, by id: oldest first.
class DeadLetters {
 public:
  // Gives the entry its id, and returns that.
  uint64_t add(DeadLetter letter);
  DeadLetter* find(uint64_t id);
  const DeadLetter* find(uint64_t id) const;
  // The entry that must go when there are too many: the oldest resolved one, else the oldest.
  uint64_t first_to_go() const;
  void remove(uint64_t id);
  void resolve(DeadLetter& letter, Resolution resolution, std::string_view by, Time at);

  const std::map<uint64_t, DeadLetter>& all() const { return letters_; }
  size_t size() const { return letters_.size(); }

  // For snapshots: the id that the next entry gets, and entries with their ids.
  uint64_t next_id() const { return next_id_; }
  void restore(uint64_t next_id, std::map<uint64_t, DeadLetter> letters);

 private:
  uint64_t next_id_ = 1;
  std::map<uint64_t, DeadLetter> letters_;
  std::set<uint64_t> resolved_;
};

}  // namespace parley::core
