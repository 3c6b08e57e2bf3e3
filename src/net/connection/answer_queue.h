// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/connection/output_buffer.h"
#include "net/http.h"

namespace parley::net {

// The requests of a connection that are not answered yet, and the answers that wait for those
// before them. Answers leave in the order of the requests: the answer to the oldest request is
// written straight into the output, the others into their slots.
class AnswerQueue {
 public:
  struct Slot {
    std::string bytes;  // the answer, while it waits
    std::vector<Report> reports{};
    bool is_answered = false;
    bool is_safe = false;  // asks only
    bool is_upgrade = false;
    Framing framing;
  };

  // `pipelined_max` is the number of answered slots that are kept before they are erased.
  AnswerQueue(OutputBuffer& output, size_t pipelined_max)
      : output_(output), pipelined_max_(pipelined_max) {}

  size_t waiting() const { return slots_.size() - begin_; }
  // Bytes of all slots.
  size_t queued_bytes() const { return queued_bytes_; }
  bool ends_with_upgrade() const { return waiting() > 0 && slots_.back().is_upgrade; }

  Slot& add(Slot slot);
  // The slot of a request that is not answered yet; nullptr when there is none. Good until the
  // next call that adds or releases one.
  Slot* find(uint64_t number);
  // Where the answer to this slot is appended.
  std::string& sink(Slot& slot) { return &slot == &slots_[begin_] ? output_.bytes() : slot.bytes; }
  // The answer was written to the slot's sink. Moves all answers to the output whose turn it is.
  // False when the last of those is the last one of the connection.
  bool answered(Slot& slot);
  // Drops the requests behind this one; returns the slot, which may have moved.
  Slot& drop_behind(uint64_t number);

  // Appends behind all answers: bytes of a stream, or frames.
  template <class Append>
  void append_last(const Append& append) {
    if (waiting() == 0) {
      append(output_.bytes());
    } else {
      std::string& bytes = slots_.back().bytes;
      const size_t before = bytes.size();
      append(bytes);
      queued_bytes_ += bytes.size() - before;
    }
  }
  // Reports that are told when all that was appended so far has left.
  void add_reports(std::vector<Report>& reports);

  void clear();
  void shrink() { slots_.shrink_to_fit(); }

 private:
  OutputBuffer& output_;
  size_t pipelined_max_;
  std::vector<Slot> slots_;
  size_t begin_ = 0;  // the slots before it are answered
  size_t queued_bytes_ = 0;
  uint64_t first_ = 1;  // the number of the request at `begin_`
};

}  // namespace parley::net
