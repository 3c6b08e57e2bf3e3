// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "edge/telemetry/otlp_limits.h"
#include "net/client/client.h"
#include "view/facts.h"
#include "view/traces.h"

namespace parley::edge {

// The spans of messages as OTLP/HTTP JSON: one request with all of them.
std::string otlp_text(const std::vector<view::Span>& spans, std::string_view version);

// Sends the spans of each message to a collector once no receiver has it open any more. Works on a
// thread of its own with a low priority, behind the history, so no message waits for it. Messages
// that do not fit into its queue, or that the collector does not take in spite of retries, are
// dropped and counted. A span may come twice: after a restart, or when a dead letter is tried
// again.
class SpanExporter {
 public:
  struct Options {
    std::string endpoint;  // http://127.0.0.1:4318, with /v1/traces where it has no path
    net::Headers headers;  // secrets: never logged
    std::string trusted_file;
    std::string history;  // the path of the database
    std::string version;
    OtlpLimits limits;
  };
  explicit SpanExporter(Options options);
  // Sends what it can within two seconds.
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // These facts are in the history now. Any thread may call it; it never waits for the collector.
  void folded(const view::Facts& facts);

  uint64_t exported() const { return exported_.load(std::memory_order_relaxed); }  // spans
  uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }  // requests
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }    // messages

 private:
  struct Job {
    view::WorkspaceId workspace{};
    base::Seq message;
  };
  // Messages and their spans that are not exported yet.
  struct Batch {
    std::vector<view::Span> spans;
    uint64_t messages = 0;
  };

  void run();
  bool wait(std::deque<Job>& jobs);
  bool pause(base::Duration duration);
  bool is_over();
  void read(view::Reader& reader, const Job& job, Batch& batch);
  void send(Batch& batch);
  bool is_new(uint64_t span);

  const Options options_;
  net::Client client_;
  std::atomic<uint64_t> exported_ = 0;
  std::atomic<uint64_t> failures_ = 0;
  std::atomic<uint64_t> dropped_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::chrono::steady_clock::time_point stop_by_{};

  std::unordered_set<uint64_t> recent_;  // spans exported lately; only the thread uses it
  std::deque<uint64_t> order_;           // oldest first
  std::thread thread_;
};

}  // namespace parley::edge
