// SPDX-License-Identifier: Apache-2.0
#include "core/holds/holds.h"

namespace parley::core {

HoldWords words_of(HoldReason reason) {
  switch (reason) {
    case HoldReason::session_paused:
      return {base::Code::session_paused,
              "the message waits: its session is paused, and nothing in it is handed out until it "
              "is resumed",
              "the message waits: its session is paused; read it when that is resumed"};
  }
  return {};
}

}  // namespace parley::core
