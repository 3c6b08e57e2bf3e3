// SPDX-License-Identifier: Apache-2.0
#include "edge/api/listing.h"

#include <utility>

#include "edge/api/context.h"
#include "edge/api/waiting.h"

namespace parley::edge {

namespace {

// What is rendered in one turn; a record alone may be larger.
constexpr size_t records_per_turn = 64;
constexpr size_t bytes_per_turn = size_t{256} << 10;

}  // namespace

bool Listings::line_up(const JobRef& job) {
  const bool is_counted = context_.waiting->contains(job->asker.exchange);
  if (!is_counted && !context_.waiting->begin(job->asker)) {
    return false;
  }
  lines_[caller_id(job->asker.caller)].push_back(job);
  context_.waiting->add(job->asker, [this, job] { hang_up(job); });
  return true;
}

void Listings::add(const Asker& asker, Listing listing) {
  const auto job = std::make_shared<Job>(Job{.asker = asker, .listing = std::move(listing)});
  const net::CallerId caller = caller_id(asker.caller);
  if (lines_.contains(caller)) {
    (void)line_up(job);
    return;
  }
  lines_[caller].push_back(job);
  context_.waiting->add(asker, [this, job] { hang_up(job); });
  go_on(job);
}

void Listings::add(const Asker& asker, Step step) {
  const bool is_first = !lines_.contains(caller_id(asker.caller));
  if (is_first && step()) {
    return;
  }
  const auto job = std::make_shared<Job>(Job{.asker = asker, .step = std::move(step)});
  if (line_up(job) && is_first) {
    go_on_later(job);
  }
}

void Listings::hang_up(const JobRef& job) {
  job->is_over = true;
  const auto at = lines_.find(caller_id(job->asker.caller));
  if (at != lines_.end() && at->second.front() != job) {
    std::erase(at->second, job);
  }
}

void Listings::end(const JobRef& job) {
  job->is_over = true;
  const auto at = lines_.find(caller_id(job->asker.caller));
  at->second.pop_front();
  if (at->second.empty()) {
    lines_.erase(at);
    return;
  }
  go_on_later(at->second.front());
}

void Listings::go_on_later(const JobRef& job) {
  context_.deferred.push(caller_id(job->asker.caller), [this, job] { go_on(job); });
}

void Listings::go_on(const JobRef& job) {
  if (job->is_over || job->asker.refuse_if_stale() || (job->step && job->step())) {
    end(job);
  } else if (job->step) {
    go_on_later(job);
  } else {
    read_on(job);
  }
}

void Listings::read_on(const JobRef& job) {
  const core::Messages& messages = job->asker.tables().messages;
  const std::vector<base::Seq>& records = job->listing.records;
  std::vector<base::Seq> next;
  for (size_t bytes = 0; job->at + next.size() < records.size() && next.size() < records_per_turn &&
                         bytes < bytes_per_turn;) {
    next.push_back(records[job->at + next.size()]);
    const core::MessageRef ref = messages.find(next.back());
    bytes += ref == core::none ? 0 : messages.message(ref).whole_bytes;
  }
  context_.broker.records().warm(next, [this, job, count = next.size()] { make(job, count); });
}

void Listings::make(const JobRef& job, size_t count) {
  Listing& listing = job->listing;
  for (size_t n = 0; n < count && !job->is_over; ++n) {
    if (!listing.each(listing.records[job->at++])) {
      listing.records.resize(job->at);
      break;
    }
  }
  if (job->is_over || job->asker.refuse_if_stale()) {
    end(job);
    return;
  }
  if (job->at < listing.records.size()) {
    go_on_later(job);
    return;
  }
  auto answer = listing.answer();
  end(job);
  if (answer) {
    job->asker.respond(std::move(*answer));
  } else {
    job->asker.refuse(answer.error());
  }
}

}  // namespace parley::edge
