// SPDX-License-Identifier: Apache-2.0
#include "core/model/dead_letter_reason.h"

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

}  // namespace parley::core
