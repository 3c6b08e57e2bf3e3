// SPDX-License-Identifier: Apache-2.0
#include "view/runner.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace parley::view {

namespace {

constexpr std::chrono::seconds retry_after{1};
constexpr std::chrono::seconds checkpoint_after{5};  // of the first commit since the last one
constexpr std::chrono::minutes forget_every{1};
constexpr std::chrono::milliseconds forget_pause{100};
constexpr size_t forget_step = 500;

}  // namespace

std::expected<std::unique_ptr<Runner>, Error> Runner::start(Options options) {
  auto history = History::open({options.path, options.first, options.journal_last});
  if (!history) {
    return std::unexpected(history.error());
  }
  if (!options.read) {
    const auto follower = std::make_shared<journal::Follower>(options.directory);
    options.read = [follower](Seq after, Seq upto, const VisitRecord& visit) {
      return follower->read(after, upto, [&visit](const journal::Record& record) {
        visit(record.seq, record.time, record.payload);
      });
    };
  }
  return std::unique_ptr<Runner>(new Runner(std::move(options), std::move(*history)));
}

Runner::Runner(Options options, History history)
    : options_(std::move(options)),
      history_(std::move(history)),
      report_(history_.report()),
      feed_(options_.feed, options_.post, history_.position()),
      questions_({.path = options_.path,
                  .post = options_.post,
                  .nice = options_.nice,
                  .thread = options_.threads}),
      next_forget_(options_.retention.us > 0 ? feed_.now() : Feed::TimePoint::max()) {
  if (options_.threads) {
    thread_ = std::thread([this] { run(); });
  }
}

Runner::~Runner() {
  feed_.stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Runner::run() {
  // On Linux this is the thread's own. Where it is not allowed the view runs like the others.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), options_.nice);
  // It has what the others leave: the loop must not wait for it, and what it does can wait.
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none);
  Feed::Part part;
  while (work(feed_.take(part, next_work()), part)) {
  }
}

bool Runner::step() {
  Feed::Part part;
  const Feed::Woken woken = feed_.poll(part, next_work());
  return woken != Feed::Woken::early && work(woken, part);
}

// False when it was told to stop.
bool Runner::work(Feed::Woken woken, Feed::Part& part) {
  if (woken == Feed::Woken::stopped || (woken == Feed::Woken::facts && !fold(part))) {
    return false;
  }
  keep_house();
  return true;
}

// False when it was told to stop. What cannot be written is tried again: meanwhile the feed fills,
// and the broker takes no more when it is full.
bool Runner::fold(Feed::Part& part) {
  while (true) {
    if (feed_.stopped(Feed::TimePoint::min())) {
      return false;
    }
    const auto folded = history_.fold(part.facts, part.upto, options_.read);
    if (folded) {
      break;
    }
    feed_.set_trouble(folded.error());
    if (history_.is_damaged()) {
      give_up(folded.error());
      return true;
    }
    if (feed_.stopped(feed_.now() + retry_after)) {
      return false;
    }
  }
  if (options_.folded) {
    options_.folded(part.facts);
  }
  bytes_since_checkpoint_ += part.record_bytes;
  feed_.committed(std::move(part));
  next_checkpoint_ = std::min(next_checkpoint_, feed_.now() + checkpoint_after);
  return true;
}

// What is damaged stays so until the next start sets the file aside.
void Runner::give_up(const Error& why) {
  feed_.give_up({why.code,
                 "the history " + options_.path + " is damaged (" + why.detail +
                     "); restart the broker to make it anew",
                 {}});
  given_up_ = true;
}

Feed::TimePoint Runner::next_work() const {
  return given_up_ ? Feed::TimePoint::max() : std::min(next_checkpoint_, next_forget_);
}

void Runner::keep_house() {
  if (given_up_) {
    return;
  }
  const Feed::TimePoint now = feed_.now();
  std::optional<Error> trouble;
  if (now >= next_checkpoint_ || bytes_since_checkpoint_ >= options_.checkpoint_bytes) {
    const auto done = history_.make_durable();
    bytes_since_checkpoint_ = 0;
    next_checkpoint_ = done && *done ? Feed::TimePoint::max() : now + checkpoint_after;
    if (done && *done) {
      feed_.made_durable(history_.position());
    } else if (!done) {
      trouble = done.error();
    }
  }
  if (now >= next_forget_) {
    const base::Time before{base::saturating_subtract(options_.now().us, options_.retention.us)};
    const auto forgotten = history_.forget(before, forget_step);
    next_forget_ = now + (forgotten && *forgotten == forget_step
                              ? Feed::TimePoint::duration(forget_pause)
                              : Feed::TimePoint::duration(forget_every));
    if (!forgotten) {
      trouble = forgotten.error();
    }
  }
  if (trouble && history_.is_damaged()) {
    give_up(*trouble);
  } else {
    feed_.set_trouble(std::move(trouble));
  }
}

}  // namespace parley::view
