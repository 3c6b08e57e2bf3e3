// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "base/error.h"
#include "lib/json.h"

namespace parley::edge {

// One operation of a client on its WebSocket. Its texts are those of the document.
struct Operation {
  enum class Kind : uint8_t { send, settle, subscribe, heartbeat };
  Kind kind = Kind::send;
  std::string_view name;  // of settle: ack, nack, reject or extend; of subscribe: also unsubscribe
  std::string_view ref;   // by which the client knows the answer, as JSON; empty: none
  lib::Json members{};
};

// What is wrong with an operation, for the client that knows it by `ref`.
struct BadOperation {
  std::string_view ref;
  base::Error error;
};

// Reads one operation. Fails with bad_request where it is none of these, where it has a member that
// it does not know, which is named, or very many: looking for one of them passes all the others.
std::expected<Operation, BadOperation> read_operation(lib::Json value);

}  // namespace parley::edge
