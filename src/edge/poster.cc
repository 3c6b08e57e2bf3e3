// SPDX-License-Identifier: Apache-2.0
#include "edge/poster.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/dial.h"

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

}  // namespace

bool Reach::admits(const net::IpAddress& address, bool is_tls) const {
  const bool is_allowed = std::ranges::any_of(
      allowed, [&](const net::Network& network) { return network.contains(address); });
  return is_tls ? address.is_public() || is_allowed : address.is_loopback() && is_allowed;
}

std::expected<void, Error> Reach::check(std::string_view url) const {
  const bool is_tls = url.starts_with("https://");
  const auto parsed = net::Url::parse(parts_of(url).origin);
  if ((!is_tls && !url.starts_with("http://")) || !parsed || url.find('#') != url.npos ||
      parsed->host.find_first_of("@?\\") != std::string::npos ||
      parsed->port.find_first_not_of('0') == std::string::npos) {
    return wrong("a webhook is a URL such as https://example.org/wake, without a name, a password "
                 "or a fragment");
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
    jobs_.clear();
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
  if (stopping_ || jobs_.size() >= options_.queue_max) {
    return false;
  }
  jobs_.push_back({std::move(request), std::move(done)});
  if (threads_.size() < std::min(options_.threads, jobs_.size())) {  // where nobody has a webhook
    threads_.emplace_back([this] { run(); });                        // there are none
  }
  changed_.notify_one();
  return true;
}

void Poster::run() {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) {
      return;
    }
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job.done(bring(job.request));
    lock.lock();
  }
}

Poster::Result Poster::bring(const Request& request) const {
  const auto [origin, path] = parts_of(request.url);
  const bool is_tls = origin.starts_with("https://");
  net::Client client({.url = std::string(origin),
                      .token = {},
                      .trusted_file = options_.trusted_file,
                      .stop = stop_,
                      .admits = [this, is_tls](const net::IpAddress& address) {
                        return options_.reach.admits(address, is_tls);
                      },
                      .answer_bytes_max = answer_bytes_max});
  const auto answer =
      client.request("POST", path, request.body, request.headers, options_.timeout);
  if (!answer) {
    return {.status = 0, .error = answer.error().detail, .retry_after = {}};
  }
  const bool good = answer->status >= 200 && answer->status < 300;
  return {.status = answer->status,
          .error = good ? std::string() : "HTTP " + std::to_string(answer->status),
          .retry_after = answer->retry_after()};
}

}  // namespace parley::edge
