// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

// How the core says no.
namespace parley::core {

// Mind the code in what checks a send: with bad_request, not_found and payload_too_large the
// message itself is wrong, and leaves a dead letter (`is_malformed` in core/machine/send.h). What
// is wrong with the moment has another code.
inline std::unexpected<base::Error> refuse(base::Code code, std::string detail,
                                           std::string field = {}) {
  return std::unexpected(base::Error{code, std::move(detail), std::move(field)});
}

// A principal has filled its share of a table that all share. `has` says with what, `rule` is the
// table's, `remedy` says what to do.
inline std::unexpected<base::Error> refuse_share(std::string has, std::string_view rule,
                                                 std::string_view remedy, std::string field = {}) {
  return refuse(base::Code::limit_reached,
                std::move(has) + ", which is one principal's share (share_percent of " +
                    std::string(rule) + "); " + std::string(remedy) +
                    ", or ask an admin to raise it",
                std::move(field));
}

// A name that has a bound of its own.
inline std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// The start of what a client wrote, however long it is.
inline std::string quoted_start(std::string_view text, size_t bytes_max = 256) {
  return quoted(text.substr(0, bytes_max));
}

}  // namespace parley::core
