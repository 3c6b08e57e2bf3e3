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

// Three chances before a lease is over.
std::chrono::microseconds interval_of(base::Duration lease) {
  return std::chrono::microseconds(lease.us / 3);
}

constexpr std::chrono::milliseconds pause_of_absence(500);

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
      .text(base::format_duration(Duty::lock_lease))
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
  const lib::Json value = parsed && parsed->is_object() ? parsed->find(key) : lib::Json();
  return value ? value.as_uint64().value_or(0) : 0;
}

Line::Answer Line::call(const Call& call) {
  if (!client_) {
    auto found = find_broker(options_);
    if (!found) {
      const bool is_away = found.error().code == "UNAVAILABLE";
      return {.status = is_away ? 0 : 400, .body = {}, .failure = found.error()};
    }
    target_ = std::move(*found);
    client_.emplace(net::Place{
        .url = target_.url, .token = target_.token, .trusted_file = target_.ca, .stop = stop_});
  }
  auto response = client_->request(call.method, call.path, call.body, call.headers, call.patience);
  if (!response) {
    client_.reset();
    return {.status = 0, .body = {}, .failure = failure_of(response.error())};
  }
  Answer answer{.status = response->status, .body = std::move(response->body), .failure = {}};
  if (!answer.is_good()) {
    answer.failure = refusal({answer.status, answer.body, {}});
  }
  return answer;
}

Duty::Duty(const ClientOptions& options, std::string agent, uint64_t fence)
    : agent_(std::move(agent)),
      stop_(event_fd()),
      lost_(event_fd()),
      fence_(fence),
      held_until_us_(now_us() + lock_lease.us),
      line_(options, stop_),
      thread_([this] { run(); }) {}

Duty::~Duty() {
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

void Duty::hold(const std::string& message, base::Duration lease) {
  const std::lock_guard lock(mutex_);
  message_ = message;
  lease_ = lease;
  extend_due_ = Clock::now() + interval_of(lease);
  changed_.notify_all();
}

void Duty::drop() {
  const std::lock_guard lock(mutex_);
  message_.clear();
}

// Goes on while the machine sleeps, as the broker's clock does elsewhere.
int64_t Duty::now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

void Duty::lose() {
  is_lost_ = true;
  signal_event(lost_);
}

void Duty::run() {
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
    lock.unlock();
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

// When the lock is to be renewed next. One that ended while the broker was away is taken again if
// nobody else has it.
Duty::Clock::time_point Duty::renew() {
  const int64_t asked_us = now_us();
  Call call{"PUT", "/v1/locks/" + encoded(lock_of(agent_)), lock_request(fence_), {}};
  Line::Answer answer = line_.call(call);
  if (answer.failure.code == "CONFLICT") {
    call.body = lock_request(0);
    answer = line_.call(call);
  }
  if (answer.is_good()) {
    fence_ = number_in(answer.body, "fence");
    held_until_us_ = asked_us + lock_lease.us;
    return Clock::now() + interval_of(lock_lease);
  }
  if (!answer.is_passing()) {
    lose();
  }
  return Clock::now() + pause_of_absence;
}

Duty::Clock::time_point Duty::extend(const std::string& message, base::Duration lease) {
  const std::string path = "/v1/messages/" + encoded(message);
  const Line::Answer answer = line_.call({"POST", path + "/extend", lease_request(lease), {}});
  if (answer.is_good()) {
    return Clock::now() + interval_of(lease);
  }
  if (answer.is_passing()) {
    return Clock::now() + pause_of_absence;
  }
  if (answer.failure.code == "NOT_DELIVERED") {
    (void)line_.call({"GET", path});  // it waits again, and nobody else is to have it
    return Clock::now();
  }
  return Clock::time_point::max();  // settled by the command itself, or gone
}

}  // namespace parley::app
