// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "net/client/client.h"

namespace parley::net {

// One request on a connection of its own, whose answer is read as it comes: for a caller that waits
// for many at once, with `poll`. Only `start` waits, for the connection. Going away closes the
// connection, which is how a client takes a request back. Not thread-safe.
class Fetch {
 public:
  enum class State : uint8_t { open, done, failed };

  static std::expected<Fetch, base::Error> start(const Place& place, std::string_view method,
                                                 std::string_view path, std::string_view body,
                                                 const Headers& headers, base::Duration timeout);
  Fetch(Fetch&&) noexcept;
  Fetch& operator=(Fetch&&) noexcept;
  ~Fetch();

  // What to wait for: that it can be read, and while `wants_write` also that it can be written.
  int fd() const;
  bool wants_write() const;
  // Moves what can be moved without waiting, within bounds. Then `has_more` says that it may go on
  // at once, also if nothing more arrives.
  State advance();
  bool has_more() const;

  // The header has come. `status` and `header` are good from then on.
  bool has_header() const;
  int status() const;
  std::string_view header(std::string_view name) const;
  // What came of the body since the last call.
  std::string take_body();
  // Why it failed.
  const base::Error& error() const;

 private:
  struct Exchange;
  explicit Fetch(std::unique_ptr<Exchange> exchange);
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace parley::net
