// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "core/messages/message.h"

namespace parley::core {

// The places by which receivers may say that they saw a delivery: Delivery::mark, and the one by
// which its receiver said so last. It may have lost its connection again before it heard of the
// newer one. Few have the former. Part of Messages.
class ResumeMarks {
 public:
  explicit ResumeMarks(MessageRecords& records) : records_(records) {}

  ResumeMark former(DeliveryRef ref) const;
  void set(DeliveryRef ref, ResumeMark mark, ResumeMark former = {});
  // Which of the two `after` covers; none: its receiver has not seen it by then.
  ResumeMark before(DeliveryRef ref, const ResumeMark& after) const;

 private:
  MessageRecords& records_;
  std::map<DeliveryRef, ResumeMark> former_;
};

}  // namespace parley::core
