// SPDX-License-Identifier: Apache-2.0
#include "core/limits/breaker.h"

namespace parley::core {

std::string_view breaker_name(Breaker::State state) {
  switch (state) {
    case Breaker::State::closed:
      return "closed";
    case Breaker::State::open:
      return "open";
    case Breaker::State::half_open:
      return "half_open";
  }
  return "unknown";
}

std::string_view breaker_name(Breaker::Reason reason) {
  switch (reason) {
    case Breaker::Reason::nothing:
      return "none";
    case Breaker::Reason::failures:
      return "failures";
    case Breaker::Reason::queue:
      return "queue";
  }
  return "unknown";
}

}  // namespace parley::core
