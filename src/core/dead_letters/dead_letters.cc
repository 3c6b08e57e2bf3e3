// SPDX-License-Identifier: Apache-2.0
#include "core/dead_letters/dead_letters.h"

#include "base/check.h"
#include "core/model/wire.h"

namespace parley::core {

uint64_t DeadLetters::add(DeadLetter letter) {
  letter.id = next_id_++;
  const DeadLetter& added = letters_.emplace(letter.id, std::move(letter)).first->second;
  index(added);
  return added.id;
}

void DeadLetters::index(const DeadLetter& letter) {
  held_.add(letter.sender);
  pending_ += letter.resolution == Resolution::pending ? 1 : 0;
  (letter.is_open() ? open_ : settled_).add(letter.sender, letter.id);
  if (letter.is_open() && letter.reason != Reason::malformed) {
    undelivered_.emplace(Undelivered(letter.message, letter.receiver), letter.id);
  }
}

void DeadLetters::unindex(const DeadLetter& letter) {
  held_.remove(letter.sender);
  pending_ -= letter.resolution == Resolution::pending ? 1 : 0;
  open_.remove(letter.sender, letter.id);
  settled_.remove(letter.sender, letter.id);
  const auto at = undelivered_.find(Undelivered(letter.message, letter.receiver));
  if (at != undelivered_.end() && at->second == letter.id) {
    undelivered_.erase(at);
  }
}

DeadLetter* DeadLetters::find_open(Seq message, std::string_view receiver) {
  const auto at = undelivered_.find(Undelivered(message, receiver));
  return at == undelivered_.end() ? nullptr : find(at->second);
}

const DeadLetter* DeadLetters::find_open(Seq message, std::string_view receiver) const {
  const auto at = undelivered_.find(Undelivered(message, receiver));
  return at == undelivered_.end() ? nullptr : find(at->second);
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
  const std::string& sender = held_.name_of(held_.most());
  const uint64_t* const settled = settled_.first_of(sender);
  return settled != nullptr ? *settled : *open_.first_of(sender);
}

void DeadLetters::remove(uint64_t id) {
  if (const auto at = letters_.find(id); at != letters_.end()) {
    due_.erase({at->second.due, id});
    unindex(at->second);
    letters_.erase(at);
  }
}

void DeadLetters::drop(uint64_t id) {
  remove(id);
  ++dropped_;
}

void DeadLetters::resolve(DeadLetter& letter, Resolution resolution, std::string_view by, Time at) {
  unindex(letter);
  letter.resolution = resolution;
  letter.resolved_by = by;
  letter.resolved_at = at;
  index(letter);
  set_due(letter, base::time_max);
}

void DeadLetters::set_due(DeadLetter& letter, Time at) {
  due_.erase({letter.due, letter.id});
  letter.due = at;
  if (at != base::time_max) {
    due_.emplace(at, letter.id);
  }
}

DeadLetter* DeadLetters::next_due() { return due_.empty() ? nullptr : find(due_.begin()->second); }

bool DeadLetters::is_alarming(Time now, uint64_t count, Duration window) {
  recent_.push_back(now);
  while (recent_.size() > count) {
    recent_.pop_front();
  }
  const Time begin{now.us - window.us};
  if (count == 0 || recent_.size() < count || recent_.front() <= begin ||
      (alerts_ > 0 && alerted_ > begin)) {
    return false;
  }
  alerted_ = now;
  ++alerts_;
  return true;
}

// Those of a malformed message, which has no header.
void DeadLetters::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [id, letter] : letters_) {
    if (letter.reason == Reason::malformed && letter.is_open() && letter.has_original) {
      seqs.push_back(letter.message);
    }
  }
}

void DeadLetters::encode_counts(Writer& out) const {
  out.varint(dropped_);
  out.varint(next_id_);
  out.time(alerted_);
  out.varint(alerts_);
  out.varint(recent_.size());
  for (const Time time : recent_) {
    out.time(time);
  }
}

void DeadLetters::decode_counts(Reader& in) {
  dropped_ = in.varint();
  next_id_ = in.varint();
  alerted_ = in.time();
  alerts_ = in.varint();
  recent_.resize(in.count(8));
  for (Time& time : recent_) {
    time = in.time();
  }
}

bool DeadLetters::restore(std::map<uint64_t, DeadLetter> letters) {
  CHECK(letters_.empty());
  letters_ = std::move(letters);
  for (const auto& [id, letter] : letters_) {
    index(letter);
    if (letter.due != base::time_max) {
      due_.emplace(letter.due, id);
    }
  }
  return next_id_ > 0 && (letters_.empty() || letters_.rbegin()->first < next_id_);
}

}  // namespace parley::core
