// SPDX-License-Identifier: Apache-2.0
#include "core/limits/backpressure.h"

namespace parley::core {

std::string_view backpressure_name(BackpressureLevel level) {
  switch (level) {
    case BackpressureLevel::eased:
      return "recovering";
    case BackpressureLevel::throttled:
      return "throttled";
    case BackpressureLevel::overloaded:
      return "overloaded";
  }
  return "unknown";
}

}  // namespace parley::core
