// SPDX-License-Identifier: Apache-2.0
// XD-10: that one receiver who hangs holds up nobody else.
#include "edge/webhooks/poster.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace parley::edge {
namespace {

// Listens, and never answers: the system takes the connection.
class Hanging {
 public:
  Hanging() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_, plain, size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    EXPECT_EQ(::getsockname(fd_, plain, &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/wake";
  }
  ~Hanging() { ::close(fd_); }
  Hanging(const Hanging&) = delete;
  Hanging& operator=(const Hanging&) = delete;
  const std::string& url() const { return url_; }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string url_;
};

// Answers one request with 204.
class Good {
 public:
  Good() : thread_([this] { answer(); }) {}
  ~Good() {
    ::shutdown(socket_.fd(), SHUT_RDWR);
    thread_.join();
  }
  Good(const Good&) = delete;
  Good& operator=(const Good&) = delete;
  const std::string& url() const { return socket_.url(); }

 private:
  void answer() const {
    const int connection = ::accept(socket_.fd(), nullptr, nullptr);
    std::array<char, 4'096> some{};
    std::string text;
    while (connection >= 0 && !text.ends_with("mail")) {
      const ssize_t count = ::read(connection, some.data(), some.size());
      if (count <= 0) {
        break;
      }
      text.append(some.data(), static_cast<size_t>(count));
    }
    constexpr std::string_view good = "HTTP/1.1 204 No Content\r\n\r\n";
    (void)!::write(connection, good.data(), good.size());
    ::close(connection);
  }
  Hanging socket_;
  std::thread thread_;
};

Poster::Options options(size_t threads, size_t per_origin) {
  Poster::Options made;
  made.reach.allowed = {*net::Network::parse("127.0.0.0/8")};
  made.timeout = base::minutes(10);  // nobody is waited for
  made.threads = threads;
  made.per_origin = per_origin;
  return made;
}

Poster::Request request(const std::string& url, bool failed_before = false) {
  return {.url = url,
          .headers = [] { return net::Headers{}; },
          .body = "mail",
          .failed_before = failed_before};
}

std::future<Poster::Result> post(Poster& poster, const Poster::Request& request) {
  const auto told = std::make_shared<std::promise<Poster::Result>>();
  EXPECT_TRUE(poster.post(request, [told](const Poster::Result& r) { told->set_value(r); }));
  return told->get_future();
}

void expect_brought(std::future<Poster::Result> result) {
  ASSERT_EQ(result.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(result.get().status, 204);
}

TEST(Poster, OneWhoHangsHoldsUpNobodyElse) {
  const Hanging hanging;
  Good good;
  Poster poster(options(2, 1));
  const auto first = post(poster, request(hanging.url()));
  const auto second = post(poster, request(hanging.url()));  // waits for the first: one at a time
  expect_brought(post(poster, request(good.url())));
  EXPECT_NE(first.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_NE(second.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST(Poster, ManyWhoHangHoldUpNobodyElse) {
  const std::array<Hanging, 7> hanging;
  Good good;
  Poster poster(options(8, 4));
  for (const Hanging& each : hanging) {
    (void)post(poster, request(each.url()));
  }
  expect_brought(post(poster, request(good.url())));
}

TEST(Poster, WhatFailedBeforeLeavesHalfOfTheThreads) {
  const std::array<Hanging, 3> hanging;
  Good good;
  Poster poster(options(2, 4));
  for (const Hanging& each : hanging) {
    (void)post(poster, request(each.url(), true));
  }
  expect_brought(post(poster, request(good.url())));
}

TEST(Poster, WhatFailedBeforeLeavesItsPlaceToTheNext) {
  Good first;
  Good second;
  Poster poster(options(2, 4));  // one of the threads is for such
  expect_brought(post(poster, request(first.url(), true)));
  expect_brought(post(poster, request(second.url(), true)));
}

TEST(Poster, SaysWhatIsWrongToAdminsOnly) {
  std::string url;
  {
    const Hanging gone;
    url = gone.url();
  }
  Poster poster(options(1, 1));
  const Poster::Result result = post(poster, request(url)).get();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.error.find("127.0.0.1"), std::string::npos) << result.error;
  EXPECT_NE(result.detail.find("nobody listens at http://127.0.0.1:"), std::string::npos)
      << result.detail;
}

TEST(Poster, TakesNoMoreThanItsQueueHolds) {
  const Hanging hanging;
  Poster::Options few = options(1, 1);
  few.queue_max = 1;
  Poster poster(few);
  const auto never = [](const Poster::Result&) {};
  size_t taken = 0;
  while (taken < 3 && poster.post(request(hanging.url()), never)) {
    ++taken;
  }
  EXPECT_GE(taken, 1u);
  EXPECT_LE(taken, 2u);  // one under way, one that waits
}

}  // namespace
}  // namespace parley::edge
