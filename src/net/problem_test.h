// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "net/server.h"

namespace parley::net {

// What the handlers of the tests answer with: a form of their own, so that a test can tell that the
// server asks for it.
inline Response problem_for_tests(const Error& error) {
  Response response;
  response.status = base::info(error.code).http_status;
  response.content_type = "application/problem+json";
  response.body = R"({"code":")" + std::string(base::info(error.code).name) + R"(","detail":")" +
                  error.detail + R"("})";
  if (error.retry_after.us > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after.us / 1'000'000));
  }
  return response;
}

}  // namespace parley::net
