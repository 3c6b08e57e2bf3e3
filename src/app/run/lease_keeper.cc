// SPDX-License-Identifier: Apache-2.0
#include "app/run/lease_keeper.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/check.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

// Renewing after a third of the lease leaves two more tries before it is over.
std::chrono::microseconds interval_of(base::Duration lease) {
  return std::chrono::microseconds(lease.us / 3);
}

// Between two tries while the broker does not answer.
constexpr std::chrono::milliseconds retry_pause(500);

int event_fd() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(fd >= 0);
  return fd;
}

void signal_event(int fd) {
  const uint64_t one = 1;
  (void)!::write(fd, &one, sizeof one);
}

}  // namespace

std::string lock_request(uint64_t fence) {
  std::string body;
  lib::JsonWriter(body)
      .object()
      .key("lease")
      .text(base::format_duration(LeaseKeeper::lock_lease))
      .key("fence")
      .number(fence)
      .end_object();
  return body;
}

std::string lease_request(base::Duration lease) {
  std::string body;
  lib::JsonWriter(body).object().key("lease").text(base::format_duration(lease)).end_object();
  return body;
}

uint64_t number_in(const std::string& json, std::string_view key) {
  lib::JsonDocument document;
  const auto parsed = document.parse(json);
  const lib::Json value = parsed ? parsed->find(key) : lib::Json();
  return value.as_uint64().value_or(0);
}

LeaseKeeper::LeaseKeeper(const ClientOptions& options, std::string agent, uint64_t fence)
    : agent_(std::move(agent)),
      stop_(event_fd()),
      lost_(event_fd()),
      fence_(fence),
      held_until_us_(now_us() + lock_lease.us),
      connection_(options, stop_),
      thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  signal_event(stop_);
  changed_.notify_all();
  thread_.join();
  ::close(stop_);
  ::close(lost_);
}

void LeaseKeeper::hold(const std::string& message, base::Duration lease) {
  const std::lock_guard lock(mutex_);
  message_ = message;
  lease_ = lease;
  extend_due_ = Clock::now() + interval_of(lease);
  changed_.notify_all();
}

void LeaseKeeper::drop() {
  const std::lock_guard lock(mutex_);
  message_.clear();
}

// Time that goes on while this machine sleeps: the lease at the broker runs out meanwhile.
int64_t LeaseKeeper::now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

void LeaseKeeper::lose() {
  is_lost_ = true;
  signal_event(lost_);
}

void LeaseKeeper::run() {
  Clock::time_point renew_due = Clock::now() + interval_of(lock_lease);
  std::unique_lock lock(mutex_);
  while (!stopping_ && !is_lost_) {
    const auto due = message_.empty() ? renew_due : std::min(renew_due, extend_due_);
    if (changed_.wait_until(lock, due) == std::cv_status::no_timeout) {
      continue;
    }
    const bool extends = !message_.empty() && extend_due_ <= Clock::now();
    const std::string message = message_;
    const base::Duration lease = lease_;
    lock.unlock();  // a call may take seconds, and `drop` must not wait for it
    if (renew_due <= Clock::now()) {
      renew_due = renew();
    }
    const auto next = extends ? extend(message, lease) : Clock::time_point{};
    lock.lock();
    if (extends && message_ == message) {
      extend_due_ = next;
    }
  }
}

// Renews the lock, and returns when to renew it next. A lock that ended while the broker was away
// is taken again if nobody else has it.
LeaseKeeper::Clock::time_point LeaseKeeper::renew() {
  const int64_t asked_us = now_us();
  HttpCall call{"PUT", "/v1/locks/" + encoded(lock_of(agent_)), lock_request(fence_), {}};
  BrokerConnection::Answer answer = connection_.call(call);
  if (answer.failure.code == "CONFLICT") {
    call.body = lock_request(0);
    answer = connection_.call(call);
  }
  if (answer.is_good()) {
    fence_ = number_in(answer.body, "fence");
    held_until_us_ = asked_us + lock_lease.us;
    return Clock::now() + interval_of(lock_lease);
  }
  if (!answer.is_passing()) {
    lose();
  }
  return Clock::now() + retry_pause;
}

// Renews the lease on the message, and returns when to renew it next.
LeaseKeeper::Clock::time_point LeaseKeeper::extend(const std::string& message,
                                                   base::Duration lease) {
  const std::string path = "/v1/messages/" + encoded(message);
  const BrokerConnection::Answer answer =
      connection_.call({"POST", path + "/extend", lease_request(lease), {}});
  if (answer.is_good()) {
    return Clock::now() + interval_of(lease);
  }
  if (answer.is_passing()) {
    return Clock::now() + retry_pause;
  }
  if (answer.failure.code == "NOT_DELIVERED") {
    // The lease ended and the message is back in the inbox. Reading it takes it again, before
    // another process does.
    (void)connection_.call({"GET", path});
    return Clock::now();
  }
  return Clock::time_point::max();  // the command settled the message itself, or it is gone
}

}  // namespace parley::app
