// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "net/peers.h"

namespace parley::net {

// A server over sockets, plain or with TLS; its thread is that of `run`. A turn reads the ready
// sockets until nothing is ready, 1 MiB came in or 1.5 ms have passed.
class SocketServer : public Peers {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t port = 0;
    std::string tls_certificate;  // PEM files; both or none
    std::string tls_key;
    Limits limits;
    base::Clock* clock = nullptr;  // by which `on_turn` says when it is due; null: the machine's
  };

  // Binds and listens. The error says what to do: port in use, no such address, no permission, …
  static std::expected<std::unique_ptr<SocketServer>, Error> listen(const Options& options,
                                                                    Handler& handler);

  virtual uint16_t port() const = 0;
  // Runs until `stop`; then writes what is buffered, for two seconds at most, and closes all:
  // `on_closed` is called for each, but no `on_turn` any more.
  virtual void run() = 0;
  // From any thread, also within a signal handler: lets the turn end, then ends `run`.
  virtual void stop() = 0;

 protected:
  using Peers::Peers;
};

}  // namespace parley::net
