// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/fair_queue.h"
#include "view/feed/feed.h"
#include "view/reader.h"

namespace parley::view {

// Asks a history for those who may not wait for the disk: on a thread of its own with a low
// priority, one question after the other. Those who ask take turns, so that many questions of one
// delay those of another by one. A slow question delays other questions and nothing else.
class Questions {
 public:
  struct Options {
    std::string path;  // of the database
    Feed::Post post;
    int nice = 10;
    size_t waiting_max = 10'000;
    bool thread = true;  // false: whoever has it calls `step`
  };

  // What is to be done with an answer, on the thread that asked.
  using Answer = std::function<void()>;
  // The question itself, on the other thread.
  using Ask = std::function<std::expected<Answer, Error>(Reader&)>;
  using Refuse = std::function<void(const Error&)>;

  explicit Questions(Options options);
  // Questions that wait are dropped unanswered.
  ~Questions();

  // Posts the answer, or `refuse` with what went wrong: OVERLOADED when too many questions wait.
  // `caller` is the number of whoever asks.
  void ask(uint64_t caller, Ask ask, Refuse refuse);
  // Without a thread: answers the next question. False when there is none.
  bool step();

 private:
  struct Question {
    Ask ask;
    Refuse refuse;
  };

  void run();
  void answer_next(std::unique_lock<std::mutex>& lock);
  void answer(const Question& question);

  const Options options_;
  std::optional<Reader> reader_;  // the thread's; opened when it is first needed
  std::mutex mutex_;
  std::condition_variable changed_;
  base::FairQueue<Question> waiting_;
  bool stop_ = false;
  std::thread thread_;  // last, so that all else is there when it starts
};

}  // namespace parley::view
