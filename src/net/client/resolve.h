// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netdb.h>

#include <expected>
#include <memory>

#include "base/error.h"
#include "net/client/dial.h"

namespace parley::net {

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// The addresses of a URL's host, for TCP. The system's resolver knows no deadline and cannot be
// interrupted, so a name is asked for on a thread of its own, which is left alone when the deadline
// comes first. When too many have been left, no more are asked: UNAVAILABLE.
std::expected<Addresses, base::Error> find_addresses(const Url& url, const Deadline& deadline);

}  // namespace parley::net
