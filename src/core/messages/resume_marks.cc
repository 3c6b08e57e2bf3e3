// SPDX-License-Identifier: Apache-2.0
#include "core/messages/resume_marks.h"

namespace parley::core {

ResumeMark ResumeMarks::former(DeliveryRef ref) const {
  const auto at = former_.find(ref);
  return at == former_.end() ? ResumeMark{} : at->second;
}

void ResumeMarks::set(DeliveryRef ref, ResumeMark mark, ResumeMark former) {
  records_.deliveries[ref].mark = mark;
  if (!former.is_none()) {
    former_[ref] = former;
  } else if (!former_.empty()) {
    former_.erase(ref);
  }
}

ResumeMark ResumeMarks::before(DeliveryRef ref, const ResumeMark& after) const {
  const ResumeMark mark = records_.deliveries[ref].mark;
  const ResumeMark seen = after.covers(mark) ? mark : former(ref);
  return after.covers(seen) ? seen : ResumeMark{};
}

}  // namespace parley::core
