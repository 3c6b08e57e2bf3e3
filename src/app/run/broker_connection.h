// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "app/client/client.h"
#include "net/client/client.h"

namespace parley::app {

// A connection to a broker that may restart meanwhile. After a connection was lost, the next call
// looks for the broker again, and reads its address again. Not thread-safe.
class BrokerConnection {
 public:
  // A call ends without an answer as soon as the descriptor `stop` can be read.
  BrokerConnection(ClientOptions options, int stop) : options_(std::move(options)), stop_(stop) {}

  struct Answer {
    int status = 0;  // 0: there was no answer
    std::string body;
    std::string provenance;  // the header, of a message
    Failure failure;  // what was wrong, unless the answer is good

    bool is_good() const { return status >= 200 && status < 300; }
    // The call is worth another try: the broker is away, or has too much to do.
    bool is_passing() const { return status == 0 || status >= 500 || status == 429; }
  };
  Answer call(const HttpCall& call);

  // Where the newest call went.
  const BrokerAddress& address() const { return address_; }

 private:
  ClientOptions options_;
  int stop_;
  BrokerAddress address_;
  std::optional<net::Client> client_;
};

}  // namespace parley::app
