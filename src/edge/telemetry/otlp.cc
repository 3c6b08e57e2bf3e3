// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/otlp.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/trace.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;
using view::Span;

// A message is read again whenever one of its deliveries ends; its spans are exported once.
constexpr size_t recent_max = 200'000;
constexpr base::Duration retry_max = base::seconds(30);
constexpr base::Duration last_request_timeout = base::seconds(1);
constexpr std::chrono::seconds stop_timeout{2};

// OTLP counts nanoseconds and writes 64-bit numbers as strings.
std::string nanoseconds(base::Time time) { return std::to_string(time.us) + "000"; }

int kind_number(Span::Kind kind) {
  constexpr int internal = 1;
  constexpr int producer = 4;
  constexpr int consumer = 5;
  switch (kind) {
    case Span::Kind::message:
      return producer;
    case Span::Kind::queue:
      return internal;
    case Span::Kind::process:
      return consumer;
  }
  return internal;
}

void attribute(std::string_view key, std::string_view value, bool is_number, JsonWriter& out) {
  out.object().key("key").text(key).key("value").object();
  out.key(is_number ? "intValue" : "stringValue").text(value).end_object().end_object();
}

void write_span(const Span& span, JsonWriter& out) {
  constexpr int64_t status_error = 2;
  out.object().key("traceId").plain(base::format_trace_id(span.trace));
  out.key("spanId").plain(base::format_span_id(span.id));
  if (span.parent != 0) {
    out.key("parentSpanId").plain(base::format_span_id(span.parent));
  }
  if (!span.tracestate.empty()) {
    out.key("traceState").text(span.tracestate);
  }
  out.key("flags").number(int64_t{span.sampled ? 1 : 0});
  out.key("name").text(span.operation).key("kind").number(int64_t{kind_number(span.kind)});
  out.key("startTimeUnixNano").plain(nanoseconds(span.start));
  out.key("endTimeUnixNano").plain(nanoseconds(span.end.value_or(span.start)));
  out.key("attributes").array();
  for (const Span::Tag& tag : span.tags) {
    attribute(tag.key, tag.text, tag.is_number, out);
  }
  out.end_array().key("events").array();
  for (const Span::Log& log : span.logs) {
    out.object().key("timeUnixNano").plain(nanoseconds(log.time)).key("name").text(log.event);
    if (!log.detail.empty()) {
      out.key("attributes").array();
      attribute("parley.detail", log.detail, false, out);
      out.end_array();
    }
    out.end_object();
  }
  out.end_array().key("status").object();
  // Where nothing failed the status is left unset: only an application says that all is well.
  if (span.failed) {
    out.key("code").number(status_error);
    if (!span.error.empty()) {
      out.key("message").text(span.error);
    }
  }
  out.end_object().end_object();
}

// Adds the path that OTLP has for traces, unless the endpoint has a path of its own.
std::string with_path(std::string endpoint) {
  const size_t scheme = endpoint.find("://");
  const size_t slash = endpoint.find('/', scheme == endpoint.npos ? 0 : scheme + 3);
  if (slash == endpoint.npos || slash + 1 == endpoint.size()) {
    endpoint.resize(std::min(slash, endpoint.size()));
    endpoint += "/v1/traces";
  }
  return endpoint;
}

// The statuses that the OTLP specification calls retryable, and 408.
bool is_worth_a_retry(int status) {
  return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

std::string otlp_text(const std::vector<Span>& spans, std::string_view version) {
  std::string text;
  JsonWriter out(text);
  out.object().key("resourceSpans").array().object();
  out.key("resource").object().key("attributes").array();
  attribute("service.name", "parley", false, out);
  attribute("service.version", version, false, out);
  out.end_array().end_object();
  out.key("scopeSpans").array().object();
  out.key("scope").object().key("name").text("parley").key("version").text(version).end_object();
  out.key("spans").array();
  for (const Span& span : spans) {
    write_span(span, out);
  }
  out.end_array().end_object().end_array().end_object().end_array().end_object();
  return text;
}

SpanExporter::SpanExporter(Options options)
    : options_(std::move(options)),
      client_(net::Place{
          .url = with_path(options_.endpoint), .token = {}, .trusted_file = options_.trusted_file}),
      thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    stop_by_ = std::chrono::steady_clock::now() + stop_timeout;
  }
  changed_.notify_all();
  thread_.join();
}

void SpanExporter::folded(const view::Facts& facts) {
  uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const view::Fact& fact : facts.all()) {
      const bool ends =
          (fact.kind == view::Fact::Kind::sent || fact.kind == view::Fact::Kind::delivery) &&
          fact.is_finished();
      if (ends && jobs_.size() < options_.limits.queue_max) {
        jobs_.push_back({fact.workspace, fact.message});
      } else if (ends) {
        ++dropped;
      }
    }
  }
  dropped_.fetch_add(dropped, std::memory_order_relaxed);
  changed_.notify_all();
}

void SpanExporter::run() {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
  // Telemetry must not take time from the broker: the thread runs when a processor is idle.
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none);
  auto reader = view::Reader::open(options_.history);
  std::deque<Job> jobs;
  for (bool more = true; more;) {
    more = wait(jobs);
    Batch batch;
    base::Seq before;
    while (!jobs.empty()) {
      if (is_over()) {
        dropped_.fetch_add(jobs.size(), std::memory_order_relaxed);
        return;
      }
      const Job job = jobs.front();
      jobs.pop_front();
      if (!reader) {
        reader = view::Reader::open(options_.history);
      }
      if (!reader) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
      } else if (job.message != before) {
        read(*reader, job, batch);
        before = job.message;
      }
      if (batch.spans.size() >= options_.limits.batch_spans) {
        send(batch);
      }
    }
    send(batch);
  }
}

// Takes all jobs when the interval is over or there are enough for a batch. False: this was the
// last time.
bool SpanExporter::wait(std::deque<Job>& jobs) {
  std::unique_lock lock(mutex_);
  // A message that one receiver took has at least three spans.
  const size_t enough = std::max<size_t>(options_.limits.batch_spans / 3, 1);
  changed_.wait_for(lock, std::chrono::microseconds(options_.limits.interval.us),
                    [&] { return stop_ || jobs_.size() >= enough; });
  jobs.swap(jobs_);
  return !stop_;
}

// False when the exporter is to stop.
bool SpanExporter::pause(base::Duration duration) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::microseconds(duration.us), [&] { return stop_; });
}

bool SpanExporter::is_over() {
  const std::lock_guard lock(mutex_);
  return stop_ && std::chrono::steady_clock::now() >= stop_by_;
}

void SpanExporter::read(view::Reader& reader, const Job& job, Batch& batch) {
  auto found = reader.find({job.workspace, std::nullopt}, job.message);
  if (!found || !*found) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto traced = view::traced(reader, std::move(**found));
  if (!traced) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  ++batch.messages;
  for (Span& span : view::spans_of(*traced)) {
    // Whoever began the trace may have asked not to record it.
    if (span.sampled && span.end && is_new(span.id)) {
      batch.spans.push_back(std::move(span));
    }
  }
}

bool SpanExporter::is_new(uint64_t span) {
  if (!recent_.insert(span).second) {
    return false;
  }
  order_.push_back(span);
  if (order_.size() > recent_max) {
    recent_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

void SpanExporter::send(Batch& batch) {
  const Batch whole = std::exchange(batch, {});
  if (whole.spans.empty()) {
    return;
  }
  const std::string text = otlp_text(whole.spans, options_.version);
  net::Headers headers = options_.headers;
  headers.emplace_back("content-type", "application/json");
  base::Duration delay = options_.limits.retry_first;
  bool stopping = !pause(base::Duration{});
  for (unsigned attempt = 1;; ++attempt) {
    const auto answer = client_.request("POST", "", text, headers,
                                        stopping ? last_request_timeout : options_.limits.timeout);
    if (answer && answer->status >= 200 && answer->status < 300) {
      exported_.fetch_add(whole.spans.size(), std::memory_order_relaxed);
      return;
    }
    failures_.fetch_add(1, std::memory_order_relaxed);
    const bool again = !answer || is_worth_a_retry(answer->status);
    if (!again || stopping || attempt >= options_.limits.attempts_max) {
      dropped_.fetch_add(whole.messages, std::memory_order_relaxed);
      return;
    }
    const base::Duration wanted = answer ? answer->retry_after().value_or(delay) : delay;
    stopping = !pause(std::min(wanted, retry_max));
    delay = std::min(base::Duration{delay.us * 2}, retry_max);
  }
}

}  // namespace parley::edge
