// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>

#include "app/failure.h"

namespace parley::net {
struct Place;
}

namespace parley::app {

// The options that every client subcommand takes.
struct ClientOptions {
  std::string url;    // --url
  std::string token;  // --token: the token, @FILE, or agent:NAME
  std::string ca;     // --ca: a PEM file to trust, for a broker with a certificate of its own
  std::string data;   // --data: where to look for the local broker
  bool json = false;  // --json
};

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
// As a connection wants it.
net::Place place_of(const BrokerAddress& address);

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

// The value of a variable of the environment; empty where it is not set.
std::string variable(const char* name);

}  // namespace parley::app
