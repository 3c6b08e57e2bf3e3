// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/model/envelope.h"

namespace parley::core {

// The most bytes that a message has when it is written in another dialect than its own: with what
// that adds.
struct MessageSizes {
  size_t whole = 0;    // as a whole: collab
  size_t content = 0;  // its content, as text: inbox
};
MessageSizes sizes_of(const Envelope& envelope);

}  // namespace parley::core
