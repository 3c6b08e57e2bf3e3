// SPDX-License-Identifier: Apache-2.0
#include "net/connection/answer_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace parley::net {

AnswerQueue::Slot& AnswerQueue::add(Slot slot) {
  slots_.push_back(std::move(slot));
  return slots_.back();
}

AnswerQueue::Slot* AnswerQueue::find(uint64_t number) {
  if (number < first_ || number - first_ >= waiting()) {
    return nullptr;
  }
  Slot& slot = slots_[begin_ + static_cast<size_t>(number - first_)];
  return slot.is_answered ? nullptr : &slot;
}

bool AnswerQueue::answered(Slot& slot) {
  slot.is_answered = true;
  queued_bytes_ += slot.bytes.size();
  while (waiting() > 0 && slots_[begin_].is_answered) {
    Slot& next = slots_[begin_];
    queued_bytes_ -= next.bytes.size();
    output_.bytes() += next.bytes;
    std::string().swap(next.bytes);
    output_.add_reports(next.reports);
    ++begin_;
    ++first_;
    if (!next.framing.keep_alive) {
      return false;
    }
  }
  if (waiting() == 0) {
    slots_.clear();
    begin_ = 0;
  } else if (begin_ > pipelined_max_) {
    // Many at a time: a client that always has requests under way would move the rest each time.
    slots_.erase(slots_.begin(), slots_.begin() + static_cast<ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return true;
}

AnswerQueue::Slot& AnswerQueue::drop_behind(uint64_t number) {
  const size_t kept = begin_ + static_cast<size_t>(number - first_) + 1;
  for (size_t n = kept; n < slots_.size(); ++n) {
    // Only the bytes of an answered slot were counted.
    queued_bytes_ -= slots_[n].is_answered ? slots_[n].bytes.size() : 0;
  }
  slots_.resize(kept);
  return slots_.back();
}

void AnswerQueue::add_reports(std::vector<Report>& reports) {
  if (waiting() == 0) {
    output_.add_reports(reports);
  } else {
    std::ranges::move(reports, std::back_inserter(slots_.back().reports));
  }
}

void AnswerQueue::clear() {
  slots_.clear();
  begin_ = 0;
  queued_bytes_ = 0;
}

}  // namespace parley::net
