// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/time.h"
#include "journal/follower.h"
#include "view/feed/feed.h"
#include "view/history.h"
#include "view/questions.h"

namespace parley::view {

// Folds what the feed brings into the history, on a thread of its own with a low priority: it may
// lag in a burst and must not slow the node. It reads the records by itself.
//
// To start: the runner, then a node with `tell_after = feed().position()`, `view_position` from
// feed().durable() and an observer that calls feed().push, then the node's first step.
class Runner {
 public:
  struct Options {
    std::string path;             // of the database
    std::string directory;        // of the journal, whose files are followed
    History::ReadRecords read{};  // brings the records in their place; none: from the files
    Seq first;                    // the journal's snapshot_seq()
    Seq journal_last;             // the journal's last()
    Feed::Options feed;
    Feed::Post post;
    base::Duration retention;  // of messages; zero: for ever
    // Hears what is in the tables now; on the view's thread, which waits for it.
    std::function<void(const Facts&)> folded;
    std::function<base::Time()> now = [] { return base::SystemClock().now(); };
    int nice = 10;
    size_t checkpoint_bytes = size_t{64} << 20;  // of messages, folded in since the last one
    bool threads = true;  // false: whoever has it calls `step`, and that of the questions
  };

  // Opens the history, as History::open says, and starts the thread.
  static std::expected<std::unique_ptr<Runner>, Error> start(Options options);

  // Stops within one transaction. What is not folded in then is told again by the next start.
  ~Runner();

  Feed& feed() { return feed_; }
  Questions& questions() { return questions_; }
  // Without threads: what is due now. False when nothing was.
  bool step();
  const History::Report& report() const { return report_; }

 private:
  Runner(Options options, History history);

  void run();
  bool work(Feed::Woken woken, Feed::Part& part);
  bool fold(Feed::Part& part);
  void keep_house();
  void give_up(const Error& why);
  Feed::TimePoint next_work() const;

  const Options options_;
  History history_;  // the thread's
  const History::Report report_;
  Feed feed_;
  Questions questions_;
  size_t bytes_since_checkpoint_ = 0;
  // At once: a former life that was killed may have left what only SQLite's log has.
  Feed::TimePoint next_checkpoint_ = Feed::TimePoint::min();
  Feed::TimePoint next_forget_;
  bool given_up_ = false;
  std::thread thread_;  // last, so that all else is there when it starts
};

}  // namespace parley::view
