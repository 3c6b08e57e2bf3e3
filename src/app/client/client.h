// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "lib/json.h"

namespace parley::app {

// The options that every client subcommand takes.
struct ClientOptions {
  std::string url;    // --url
  std::string token;  // --token: the token, @FILE, or agent:NAME
  std::string ca;     // --ca: a PEM file to trust, for a broker with a certificate of its own
  std::string data;   // --data: where to look for the local broker
  bool json = false;  // --json
};

// What the user is told when something is refused or fails: `parley: DETAIL (CODE)` and the advice.
struct Failure {
  std::string code;
  std::string detail;
  std::string advice;
  bool has_lost_connection = false;  // there was a broker: it went while it was asked

  bool operator==(const Failure&) const = default;
};

Failure failure_of(const base::Error& error);

// Prints the failure on standard error and returns the exit code, 1.
int complain(const Failure& failure);

// What DIR/broker.json says, which a running broker keeps in its data directory.
struct LocalBroker {
  std::string url;
  pid_t pid = 0;
  bool alive = false;
};
std::optional<LocalBroker> local_broker(const std::string& data);

// The broker to talk to, and the token to talk with.
struct BrokerAddress {
  std::string url;
  std::string token;
  std::string ca;
};

// Finds the broker by the flags, the environment, or the data directory of a broker on this
// machine. The admin token of the data directory goes to that broker alone, never to another
// address.
std::expected<BrokerAddress, Failure> find_broker(const ClientOptions& options);

// Finds the address of the broker alone, which needs no token. Fails where a data directory was
// named and no broker runs on it: the address of another broker is no substitute.
std::expected<std::string, Failure> find_broker_url(const ClientOptions& options);

// The value of PARLEY_TOKEN; empty where it is not set. A variable that is set and empty is a
// failure: so a script whose own variable was empty does not speak as the admin.
std::expected<std::string, Failure> token_variable();

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

void print_json(std::string_view json);

// The value of a variable of the environment; empty where it is not set.
std::string variable(const char* name);

// Percent-encodes one segment of a path, or one value of a query.
std::string encoded(std::string_view text);

// The member of an object as text: a string as it is, another value as its JSON. Empty when there
// is no such member.
std::string text_of(lib::Json object, std::string_view key);

}  // namespace parley::app
