// SPDX-License-Identifier: Apache-2.0
#include "core/model/delivery_state.h"

namespace parley::core {

std::string_view state_name(State state) {
  switch (state) {
    case State::queued:
    case State::delayed:
      return "queued";
    case State::offered:
      return "offered";
    case State::read:
      return "read";
    case State::acked:
      return "acked";
    case State::answered:
      return "answered";
    case State::expired:
      return "expired";
    case State::rejected:
      return "rejected";
    case State::dead:
      return "dead";
  }
  return "unknown";
}

}  // namespace parley::core
