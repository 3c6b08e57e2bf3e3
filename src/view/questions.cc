// SPDX-License-Identifier: Apache-2.0
#include "view/questions.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace parley::view {

Questions::Questions(Options options) : options_(std::move(options)) {
  if (options_.thread) {
    thread_ = std::thread([this] { run(); });
  }
}

Questions::~Questions() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Questions::ask(uint64_t caller, Ask ask, Refuse refuse) {
  bool is_queued = false;
  {
    const std::lock_guard lock(mutex_);
    is_queued = waiting_.size() < options_.waiting_max;
    if (is_queued) {
      waiting_.push(caller, {std::move(ask), std::move(refuse)});
    }
  }
  if (is_queued) {
    changed_.notify_one();
    return;
  }
  options_.post([refuse = std::move(refuse), max = options_.waiting_max] {
    refuse({base::Code::overloaded,
            std::to_string(max) + " questions to the history wait already; ask again after a pause",
            {}});
  });
}

void Questions::run() {
  // On Linux this is the thread's own. Where it is not allowed it runs like the others.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), options_.nice);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) {
      return;
    }
    answer_next(lock);
  }
}

bool Questions::step() {
  std::unique_lock lock(mutex_);
  return !waiting_.empty() && (answer_next(lock), true);
}

void Questions::answer_next(std::unique_lock<std::mutex>& lock) {
  const Question question = waiting_.pop();
  lock.unlock();
  answer(question);
  lock.lock();
}

void Questions::answer(const Question& question) {
  const auto refuse = [&](const Error& error) {
    options_.post([refuse = question.refuse, error] { refuse(error); });
  };
  if (!reader_) {
    auto opened = Reader::open(options_.path);
    if (!opened) {
      refuse(opened.error());
      return;
    }
    reader_.emplace(std::move(*opened));
  }
  auto answer = question.ask(*reader_);
  if (answer) {
    options_.post(std::move(*answer));
  } else {
    refuse(answer.error());
    reader_.reset();  // whatever it was, a new connection may do better
  }
}

}  // namespace parley::view
