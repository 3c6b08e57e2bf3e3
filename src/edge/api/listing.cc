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

struct Steps {
  Asker asker;
  std::function<bool()> step;
  bool is_over = false;  // its client hung up
};

void step_later(const std::shared_ptr<Steps>& steps) {
  steps->asker.context->deferred.push(caller_id(steps->asker.caller), [steps] {
    if (!steps->is_over && !steps->asker.refuse_if_stale() && !steps->step()) {
      step_later(steps);
    }
  });
}

}  // namespace

void answer_in_steps(const Asker& asker, std::function<bool()> step) {
  if (step() || !asker.context->waiting->begin(asker)) {
    return;
  }
  const auto steps = std::make_shared<Steps>(asker, std::move(step));
  asker.context->waiting->add(asker, [steps] { steps->is_over = true; });
  step_later(steps);
}

void Listings::add(const Asker& asker, Listing listing) {
  std::deque<JobRef>& line = lines_[caller_id(asker.caller)];
  const bool is_first = line.empty();
  if (!is_first && !context_.waiting->begin(asker)) {
    return;
  }
  const auto job = std::make_shared<Job>(asker, std::move(listing));
  line.push_back(job);
  context_.waiting->add(asker, [this, job] { hang_up(job); });
  if (is_first) {
    go_on(job);
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
  context_.deferred.push(at->first, [this, next = at->second.front()] { go_on(next); });
}

void Listings::go_on(const JobRef& job) {
  if (job->is_over || job->asker.refuse_if_stale()) {
    end(job);
    return;
  }
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
    context_.deferred.push(caller_id(job->asker.caller), [this, job] { go_on(job); });
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
