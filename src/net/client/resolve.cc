// SPDX-License-Identifier: Apache-2.0
#include "net/client/resolve.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <system_error>
#include <thread>

namespace parley::net {

namespace {

using base::Code;
using base::Error;

// Each question that the resolver has not answered has a thread, also when nobody waits for it.
constexpr int asked_max = 64;
std::atomic<int> asked = 0;

int look_up(const std::string& host, const std::string& port, int flags, Addresses& addresses) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  addresses.reset(failed == 0 ? found : nullptr);
  return failed;
}

// Shared by the caller and the thread that asks the resolver: either may end first.
struct Question {
  explicit Question(const Url& url) : host(url.host), port(url.port) {}
  ~Question() { ::close(answered); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  void ask() {
    failed = look_up(host, port, 0, addresses);
    const uint64_t one = 1;
    (void)!::write(answered, &one, sizeof one);
  }

  const std::string host;
  const std::string port;
  const int answered = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int failed = EAI_AGAIN;
  Addresses addresses;
};

std::unexpected<Error> not_found(const Url& url, const char* why) {
  return std::unexpected(
      Error{Code::unavailable,
            fmt::format("cannot find the host \"{}\" of {}: {}", url.host, url.text, why),
            {}});
}

}  // namespace

std::expected<Addresses, Error> find_addresses(const Url& url, const Deadline& deadline) {
  Addresses plain;  // a host that is an address needs no resolver
  if (look_up(url.host, url.port, AI_NUMERICHOST, plain) == 0) {
    return plain;
  }
  if (asked.fetch_add(1) >= asked_max) {
    --asked;
    return not_found(url, "too many names wait for the resolver");
  }
  const auto question = std::make_shared<Question>(url);
  try {
    std::thread([question] {
      question->ask();
      --asked;
    }).detach();
  } catch (const std::system_error&) {  // no thread is to be had
    --asked;
    return not_found(url, "out of threads");
  }
  if (!deadline.wait(question->answered, POLLIN)) {
    return std::unexpected(no_answer_in_time(url));
  }
  uint64_t ignored = 0;
  (void)!::read(question->answered, &ignored, sizeof ignored);
  if (question->failed != 0) {
    return not_found(url, ::gai_strerror(question->failed));
  }
  return std::move(question->addresses);
}

}  // namespace parley::net
