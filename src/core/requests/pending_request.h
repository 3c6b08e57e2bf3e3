// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "core/model/envelope.h"
#include "core/state/slots.h"

namespace parley::core {

// What the sender of a message waits for.
enum class Awaited : uint8_t {
  answer,            // to a request, or to a pipeline's stage
  roll_call,         // who of many acknowledges the message
  acknowledgements,  // that all whom it was sent to acknowledge it
};

// A message whose sender waits for what becomes of it.
struct PendingRequest {
  Seq message;
  Duration timeout;
  OnTimeout on_timeout = OnTimeout::fail;
  uint32_t retries = 0;  // that were made
  Awaited awaited = Awaited::answer;
  bool pauses = false;  // before it is sent again
  Seq pipeline;         // whose stage it is; none: 0
  std::string owner{};  // who waits
  bool failed = false;  // its last try was answered with an error that another may mend
  Duration extended{};  // what its receiver got beyond `timeout`
  // It, or the answer to it, waits for people to approve it: its timer stands still.
  Seq held{};
  Duration left{};  // of the timer, while it stands still
  Time due{};
  uint32_t timer = none;

  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("timeout", self.timeout);
    field("on_timeout", self.on_timeout, on_timeout_last);
    field("retries", self.retries);
    // A byte each, from before they were one word.
    bool is_roll_call = self.awaited == Awaited::roll_call;
    bool is_for_acknowledgements = self.awaited == Awaited::acknowledgements;
    field("is_roll_call", is_roll_call);
    field("is_for_acknowledgements", is_for_acknowledgements);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(self)>>) {
      self.awaited = is_roll_call              ? Awaited::roll_call
                     : is_for_acknowledgements ? Awaited::acknowledgements
                                               : Awaited::answer;
    }
    field("pauses", self.pauses);
    field("pipeline", self.pipeline);
    field("owner", self.owner);
    field("failed", self.failed);
    field("extended", self.extended);
    field("held", self.held);
    field("left", self.left);
    field("due", self.due);
  }
};

}  // namespace parley::core
