// SPDX-License-Identifier: Apache-2.0
#include "core/deadletters.h"

#include "base/check.h"

namespace parley::core {

std::string_view reason_name(Reason reason) {
  switch (reason) {
    case Reason::receiver_not_found:
      return "receiver_not_found";
    case Reason::receiver_unavailable:
      return "receiver_unavailable";
    case Reason::ttl_expired:
      return "ttl_expired";
    case Reason::rejected:
      return "rejected";
    case Reason::malformed:
      return "malformed";
    case Reason::queue_overflow:
      return "queue_overflow";
  }
  return "unknown";
}

uint64_t DeadLetters::add(DeadLetter letter) {
  letter.id = next_id_++;
  return letters_.emplace(letter.id, std::move(letter)).first->first;
}

DeadLetter* DeadLetters::find(uint64_t id) {
  const auto at = letters_.find(id);
  return at == letters_.end() ? nullptr : &at->second;
}

const DeadLetter* DeadLetters::find(uint64_t id) const {
  const auto at = letters_.find(id);
  return at == letters_.end() ? nullptr : &at->second;
}

uint64_t DeadLetters::first_to_go() const {
  CHECK(!letters_.empty());
  return resolved_.empty() ? letters_.begin()->first : *resolved_.begin();
}

void DeadLetters::remove(uint64_t id) {
  resolved_.erase(id);
  letters_.erase(id);
}

void DeadLetters::resolve(DeadLetter& letter, Resolution resolution, std::string_view by, Time at) {
  letter.resolution = resolution;
  letter.resolved_by = by;
  letter.resolved_at = at;
  resolved_.insert(letter.id);
}

void DeadLetters::restore(uint64_t next_id, std::map<uint64_t, DeadLetter> letters) {
  next_id_ = next_id;
  letters_ = std::move(letters);
  resolved_.clear();
  for (const auto& [id, letter] : letters_) {
    if (letter.resolution != Resolution::pending) {
      resolved_.insert(id);
    }
  }
}

}  // namespace parley::core
