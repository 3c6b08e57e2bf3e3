// SPDX-License-Identifier: Apache-2.0
#include "core/holds/holds.h"

namespace parley::core {

std::string_view word_of(HoldReason reason) {
  switch (reason) {
    case HoldReason::session_paused:
      return "session_paused";
    case HoldReason::approval:
      return "approval";
    case HoldReason::challenge:
      return "challenge";
    case HoldReason::decision:
      return "decision";
  }
  return {};
}

HoldWords words_of(HoldReason reason) {
  switch (reason) {
    case HoldReason::session_paused:
      return {base::Code::session_paused,
              "the message waits: its session is paused, and nothing in it is handed out until it "
              "is resumed",
              "the message waits: its session is paused; read it when that is resumed"};
    case HoldReason::approval:
      return {base::Code::not_delivered,
              "the message waits: it is handed out when people have approved it",
              "the message waits: people have not approved it yet"};
    case HoldReason::challenge:
      return {
          base::Code::not_delivered,
          "the message waits: a reviewer has challenged the work in its thread, and it is handed "
          "out when that debate ends",
          "the message waits: a reviewer has challenged the work in its thread"};
    case HoldReason::decision:
      return {base::Code::not_delivered,
              "the message waits: people changed it, and what they decided comes first; read that "
              "in your inbox",
              "the message waits: read first what people decided about it"};
  }
  return {};
}

}  // namespace parley::core
