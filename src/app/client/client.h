// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/client/find_broker.h"
#include "app/failure.h"
#include "app/text/json.h"
#include "base/time.h"
#include "lib/json.h"

namespace parley::app {

// A request to the broker.
struct HttpCall {
  std::string method = "GET";
  std::string path;  // with its query
  std::string body;  // JSON; may be empty
  std::vector<std::pair<std::string, std::string>> headers;
  base::Duration patience = base::seconds(10);  // beyond what the broker itself waits
};

// The broker's answer to it, whatever its status.
struct HttpReply {
  int status = 0;
  std::string body;
  std::string date;        // the header
  std::string provenance;  // the header, of a message
};

// The failure that an answer other than 2xx means, by its problem+json if it has one.
Failure refusal(const HttpReply& reply);

// Makes one request. Fails only when there is no answer at all.
std::expected<HttpReply, Failure> exchange(const BrokerAddress& address, const HttpCall& call);

// Finds the broker and makes the call. An answer other than 2xx is a failure, with the code and
// detail that the broker gave and the advice of the table of codes.
std::expected<HttpReply, Failure> ask(const ClientOptions& options, const HttpCall& call);

// All that most commands do: makes the call, prints the answer as it is with --json, and else lets
// `show` print it. Returns the exit code.
int ask_and_show(const ClientOptions& options, const HttpCall& call,
                 const std::function<int(lib::Json)>& show);

// Percent-encodes one segment of a path, or one value of a query.
std::string encoded(std::string_view text);

}  // namespace parley::app
