// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "lib/json_writer.h"
#include "net/server.h"

namespace parley::edge {

// What one refusal says beside what each of them says.
struct ProblemExtras {
  std::function<void(lib::JsonWriter&)> members{};  // writes members into the object that is open
  std::vector<std::pair<std::string, std::string>> headers{};
};

// The answer to what went wrong: RFC 9457. Handlers do not answer with it but call `refuse`, which
// counts the refusal for /metrics.
net::Response problem(const base::Error& error, const ProblemExtras& extras = {});

// An answer with a JSON body.
net::Response json_response(int status, std::string body);

// What a caller without a valid token is told. `parley mcp` knows the refusal by it, and says it in
// other words: whoever speaks to it on standard input sets no headers.
constexpr std::string_view token_wanted =
    "send `Authorization: Bearer TOKEN` with a token of this broker";

}  // namespace parley::edge
