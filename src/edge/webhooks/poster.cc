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
  const auto lane = lanes_.try_emplace(std::string(origin_of(request.url))).first;
  lane->second.jobs.push_back({std::move(request), std::move(done)});
  ++waiting_;
  get_ready(lane);
  call_thread();
  return true;
}

// Someone is there for each turn, as far as there may be. One that was called before may not have
// begun: it is idle still, and so is the turn that it will take.
void Poster::call_thread() {
  if (fresh_.size() + doubtful_.size() > idle_ && threads_.size() < options_.threads) {
    ++idle_;
    threads_.emplace_back([this] { run(); });  // where nobody has a webhook there are none
  }
  changed_.notify_one();
}

// Gives the lane its turn, if it has something to do and may.
void Poster::get_ready(Lanes::iterator lane) {
  if (!lane->second.is_ready && !lane->second.jobs.empty() &&
      lane->second.busy < options_.per_origin) {
    lane->second.is_ready = true;
    (lane->second.jobs.front().request.failed_before ? doubtful_ : fresh_).push_back(lane);
  }
}

// The turns of which one may begin; null when none may.
std::deque<Poster::Lanes::iterator>* Poster::next_turns() {
  if (!fresh_.empty()) {
    return &fresh_;
  }
  const size_t doubtful_max = std::max<size_t>(options_.threads / 2, 1);
  return !doubtful_.empty() && doubtful_busy_ < doubtful_max ? &doubtful_ : nullptr;
}

void Poster::run() {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || next_turns() != nullptr; });
    --idle_;
    if (stopping_) {
      return;
    }
    std::deque<Lanes::iterator>& turns = *next_turns();
    const bool is_doubtful = &turns == &doubtful_;
    const Lanes::iterator lane = turns.front();
    turns.pop_front();
    const Job job = std::move(lane->second.jobs.front());
    lane->second.jobs.pop_front();
    lane->second.is_ready = false;
    --waiting_;
    ++lane->second.busy;
    doubtful_busy_ += is_doubtful ? 1 : 0;
    get_ready(lane);
    call_thread();
    lock.unlock();
    job.done(bring(job.request));
    lock.lock();
    --lane->second.busy;
    doubtful_busy_ -= is_doubtful ? 1 : 0;
    get_ready(lane);
    if (lane->second.busy == 0 && lane->second.jobs.empty()) {
      lanes_.erase(lane);
    }
    ++idle_;
    changed_.notify_one();  // what could not begin may now
  }
}

Poster::Result Poster::bring(const Request& request) const {
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
