// SPDX-License-Identifier: Apache-2.0
#include "edge/webhooks/poster.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "net/client/dial.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;

constexpr size_t answer_bytes_max = 64 * 1'024;

std::unexpected<Error> wrong(std::string detail) {
  return std::unexpected(Error{Code::bad_request, std::move(detail), "/webhook/url"});
}

// A URL in two: where to connect to, and what to ask for there.
struct Parts {
  std::string_view origin;
  std::string_view path;
};

Parts parts_of(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t slash = url.find('/', scheme == url.npos ? 0 : scheme + 3);
  return slash == url.npos ? Parts{url, "/"} : Parts{url.substr(0, slash), url.substr(slash)};
}

bool is_port(std::string_view digits) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc{} && end == digits.data() + digits.size() && port > 0 && port <= 65'535;
}

}  // namespace

std::string_view origin_of(std::string_view url) { return parts_of(url).origin; }

bool Reach::admits(const net::IpAddress& address, bool is_tls) const {
  const bool is_allowed = std::ranges::any_of(
      allowed, [&](const net::Network& network) { return network.contains(address); });
  return is_tls ? address.is_public() || is_allowed : address.is_loopback() && is_allowed;
}

std::expected<void, Error> Reach::check(std::string_view url) const {
  const bool is_tls = url.starts_with("https://");
  const auto parsed = net::Url::parse(parts_of(url).origin);
  if ((!is_tls && !url.starts_with("http://")) || !parsed || url.find('#') != url.npos ||
      parsed->host.find_first_of("@?\\") != std::string::npos || !is_port(parsed->port)) {
    return wrong(
        "a webhook is a URL such as https://example.org/wake, without a name, a password "
        "or a fragment");
  }
  if (std::ranges::any_of(url, [](char c) { return c <= ' ' || c >= '\x7f'; })) {
    return wrong("a URL has no spaces, line breaks or letters beyond ASCII: percent-encode them");
  }
  const auto address = net::IpAddress::parse(parsed->host);
  const bool is_here = (address && address->is_loopback()) || parsed->host == "localhost";
  if (!is_tls && !is_here) {
    return wrong("a webhook is told over https; http is for loopback only");
  }
  const auto reached = is_here && !address ? net::IpAddress::parse("127.0.0.1") : address;
  if (reached && !admits(*reached, is_tls)) {
    return wrong("a webhook at " + reached->text() +
                 " may not be reached: it is no public address; an admin allows it with the key "
                 "webhook.allowed_networks");
  }
  return {};
}

Poster::Poster(Options options)
    : options_(std::move(options)), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(stop_ >= 0);
}

Poster::~Poster() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  ::close(stop_);
}

bool Poster::post(Request request, Done done) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || waiting_ >= options_.queue_max) {
    return false;
  }
  const auto origin = origins_.try_emplace(std::string(origin_of(request.url))).first;
  origin->second.jobs.push_back({std::move(request), std::move(done)});
  ++waiting_;
  make_ready(origin);
  wake_thread();
  return true;
}

// Starts a thread if more origins are ready than threads are idle. A thread that was just started
// counts as idle until it has taken its request. Where nobody has a webhook there are no threads.
void Poster::wake_thread() {
  if (ready_.size() + ready_retries_.size() > idle_ && threads_.size() < options_.threads) {
    ++idle_;
    threads_.emplace_back([this] { run(); });
  }
  changed_.notify_one();
}

// Lets the origin take its turn, if it has a request that may begin. The turn is that of its first
// request: an origin that fails waits among the retries.
void Poster::make_ready(OriginQueues::iterator origin) {
  if (!origin->second.is_ready && !origin->second.jobs.empty() &&
      origin->second.busy < options_.per_origin) {
    origin->second.is_ready = true;
    (origin->second.jobs.front().request.failed_before ? ready_retries_ : ready_).push_back(origin);
  }
}

// The origins of which the first may begin; null when none may. Retries never take all threads, so
// receivers that hang until the timeout cannot hold up those that answer.
std::deque<Poster::OriginQueues::iterator>* Poster::next_ready() {
  if (!ready_.empty()) {
    return &ready_;
  }
  const size_t retries_max = std::max<size_t>(options_.threads / 2, 1);
  return !ready_retries_.empty() && retries_busy_ < retries_max ? &ready_retries_ : nullptr;
}

void Poster::run() {
  // The loop that serves everyone goes first.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || next_ready() != nullptr; });
    --idle_;
    if (stopping_) {
      return;
    }
    std::deque<OriginQueues::iterator>& ready = *next_ready();
    const bool is_retry = &ready == &ready_retries_;
    const OriginQueues::iterator origin = ready.front();
    ready.pop_front();
    const Job job = std::move(origin->second.jobs.front());
    origin->second.jobs.pop_front();
    origin->second.is_ready = false;
    --waiting_;
    ++origin->second.busy;
    retries_busy_ += is_retry ? 1 : 0;
    make_ready(origin);
    wake_thread();
    lock.unlock();
    job.done(send(job.request));
    lock.lock();
    --origin->second.busy;
    retries_busy_ -= is_retry ? 1 : 0;
    make_ready(origin);
    if (origin->second.busy == 0 && origin->second.jobs.empty()) {
      origins_.erase(origin);
    }
    ++idle_;
    changed_.notify_one();  // a request that could not begin may now
  }
}

// The address is checked when the connection is made, not before: a name may mean another one by
// then.
Poster::Result Poster::send(const Request& request) const {
  const auto [origin, path] = parts_of(request.url);
  const bool is_tls = origin.starts_with("https://");
  net::Client client({.url = std::string(origin),
                      .token = {},
                      .trusted_file = options_.trusted_file,
                      .stop = stop_,
                      .admits =
                          [this, is_tls](const net::IpAddress& address) {
                            return options_.reach.admits(address, is_tls);
                          },
                      .answer_bytes_max = answer_bytes_max,
                      .is_broker = false});
  const auto answer =
      client.request("POST", path, request.body, request.headers(), options_.timeout);
  if (!answer) {
    return {.status = 0,
            .error = "it cannot be reached, or does not answer; an admin sees why",
            .detail = answer.error().detail,
            .retry_after = {}};
  }
  const bool good = answer->status >= 200 && answer->status < 300;
  const std::string error = good ? std::string() : "HTTP " + std::to_string(answer->status);
  return {.status = answer->status,
          .error = error,
          .detail = error,
          .retry_after = answer->retry_after()};
}

}  // namespace parley::edge
