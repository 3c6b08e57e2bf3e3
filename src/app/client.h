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

// What every client subcommand takes.
struct ClientOptions {
  std::string url;    // --url
  std::string token;  // --token: the token, @FILE, or agent:NAME
  std::string ca;     // --ca: a PEM file to trust, for a broker with a certificate of its own
  std::string data;   // --data: where to look for the local broker
  bool json = false;  // --json
};

// What is told when something is refused or fails: `parley: DETAIL (CODE)` and the advice.
struct Failure {
  std::string code;
  std::string detail;
  std::string advice;

  bool operator==(const Failure&) const = default;
};

Failure failure_of(const base::Error& error);

// Prints it on standard error and returns the exit code, 1.
int complain(const Failure& failure);

// What a running broker leaves in its data directory: DIR/broker.json.
struct LocalBroker {
  std::string url;
  pid_t pid = 0;
  bool alive = false;
};
std::optional<LocalBroker> local_broker(const std::string& data);

// The broker to talk to, and as whom.
struct BrokerAddress {
  std::string url;
  std::string token;
  std::string ca;
};

// From the flags, the environment, or the data directory of a broker on this machine. The admin
// token of the data directory goes to that broker alone, never to another address.
std::expected<BrokerAddress, Failure> find_broker(const ClientOptions& options);

// Its address alone, which needs no token. Fails where a data directory was named and no broker
// runs on it: another one's address is no substitute.
std::expected<std::string, Failure> find_broker_url(const ClientOptions& options);

// What PARLEY_TOKEN holds; empty where it is not set. Set and empty is a failure: so a script whose
// own variable was empty does not speak as the admin.
std::expected<std::string, Failure> token_variable();

struct Call {
  std::string method = "GET";
  std::string path;  // with its query
  std::string body;  // JSON; may be empty
  std::vector<std::pair<std::string, std::string>> headers;
  base::Duration patience = base::seconds(10);  // beyond what the broker itself waits
};

struct Reply {
  int status = 0;
  std::string body;
  std::string date;        // the header
  std::string provenance;  // the header, of a message
};

// What an answer that is no 2xx says: its problem+json, or what can be said without.
Failure refusal(const Reply& reply);

// One request, whatever its status. Fails when there is no answer at all.
std::expected<Reply, Failure> exchange(const BrokerAddress& target, const Call& call);

// Finds the broker and makes the call; everything but 2xx is a failure, with the code and detail
// that the broker gave and the advice of the table of codes.
std::expected<Reply, Failure> ask(const ClientOptions& options, const Call& call);

// The whole of most commands: asks, then prints the answer as it is with --json, else lets `show`
// print it. Returns the exit code.
int ask_and_show(const ClientOptions& options, const Call& call,
                 const std::function<int(lib::Json)>& show);

void print_json(std::string_view json);

// A variable of the environment; empty where there is none.
std::string variable(const char* name);

// One segment of a path, or one value of a query, percent-encoded.
std::string encoded(std::string_view text);

// A member as text: a string as it is, another value as its JSON; empty when there is none.
std::string text_of(lib::Json object, std::string_view key);

}  // namespace parley::app
