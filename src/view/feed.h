// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "view/facts.h"

namespace parley::view {

// What the node's thread hands to the view's thread: the facts of each entry, in order, and the
// questions "tell me when you are there". The only place where the two threads meet; one lock,
// held for the copying of a few facts.
class Feed {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Whether the view got there in time; and how many entries it is behind.
  struct Reached {
    bool there = false;
    Seq position;
    uint64_t behind = 0;  // entries from there to the newest
  };
  using Tell = std::function<void(const Reached&)>;
  // Runs a function on the thread that asked; called by either thread.
  using Post = std::function<void(std::function<void()>)>;

  struct Options {
    // Beyond these `full` says so. What is not folded in also holds the journal's space.
    size_t bytes_max = size_t{256} << 20;         // of facts
    size_t record_bytes_max = size_t{4} << 30;    // of messages in the journal
    size_t part_facts = 5'000;                    // one transaction, if one entry has no more
    size_t part_bytes = size_t{4} << 20;          // of messages
    // What comes in waits so long, so that more of it is folded in together. While a burst is on,
    // so many entries a second, the view rests: until it is over, something has waited so long, or
    // the feed is half full. For someone who asks it goes to work at once. So often it looks.
    std::chrono::milliseconds interval{1'000};
    uint64_t burst_per_second = 50'000;
    std::chrono::milliseconds burst_max{10'000};
    std::chrono::milliseconds look_every{100};
    size_t waiters_max = 10'000;
    std::function<TimePoint()> now = [] { return std::chrono::steady_clock::now(); };
  };

  Feed(const Options& options, Post post, Seq position);

  // The node's thread.
  // Adds what came of an entry. Never blocks for longer than the view takes to swap two buffers.
  void push(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
            std::span<const core::Effect> effects);

  // True when the view is so far behind that nothing more should be accepted.
  bool full() const { return full_.load(std::memory_order_relaxed); }

  // Tells once: when the view has reached `seq`, or at `deadline`, how far it is. Beyond
  // `waiters_max` at once.
  void wait_for(Seq seq, TimePoint deadline, Tell tell);

  // Any thread.
  TimePoint now() const { return options_.now(); }
  Seq position() const { return Seq{position_.load(std::memory_order_acquire)}; }
  Seq durable() const { return Seq{durable_.load(std::memory_order_acquire)}; }
  // Entries that were applied and are not folded in, and the bytes of their messages.
  uint64_t lag() const;
  uint64_t lag_bytes();

  // The view's thread.

  struct Part {  // what is folded in by one transaction
    Facts facts;
    Seq upto;  // the last entry; facts may end before it
    size_t entries = 0;
    uint64_t record_bytes = 0;
  };
  enum class Woken : uint8_t { facts, idle, stopped, early };
  // Waits until there is something to fold in and it is time to, and moves the next part of it into
  // `part`; or until `idle_at`. Tells those whose deadline has come.
  Woken take(Part& part, TimePoint idle_at);
  Woken poll(Part& part, TimePoint idle_at);  // without waiting: `early` when nothing is to do
  // True when it was told to stop; waits until then or until `deadline`.
  bool stopped(TimePoint deadline);

  void committed(Part part);  // it is in the tables
  void made_durable(Seq position);

  // The history is damaged and nothing more can be folded in until it is opened anew. From here on
  // nothing is collected and nothing held back: the broker goes on without a history.
  void give_up(const Error& why);

  // Why the view makes no progress; none when all is well. Any thread.
  void set_trouble(std::optional<Error> trouble);
  std::optional<Error> trouble();

  void stop();  // any thread

 private:
  struct Waiter {
    Seq seq;
    TimePoint deadline;
    Tell tell;
  };
  using Lock = std::unique_lock<std::mutex>;

  Woken look_for_work(Lock& lock, Part& part, TimePoint idle_at);
  TimePoint next_wake(TimePoint idle_at) const;
  TimePoint next_deadline() const;
  bool is_due(TimePoint now);
  void look(TimePoint now);
  bool is_half_full() const;
  void tell_waiters(Lock& lock, TimePoint now);
  void update_full();
  Part& open_part();
  Reached reached(const Waiter& waiter) const;

  const Options options_;
  const Post post_;
  std::atomic<uint64_t> position_;
  std::atomic<uint64_t> durable_ = 0;  // until the first checkpoint of this process
  std::atomic<uint64_t> applied_;
  std::atomic<bool> full_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> collecting_;  // in parts, so that growing never copies much
  std::vector<Facts> spare_;     // memory of parts that are done: new pages are dear
  Seq last_;                     // the newest entry
  size_t entries_ = 0;           // in `collecting_`
  size_t bytes_ = 0;             // of all facts that are not committed
  uint64_t record_bytes_ = 0;
  size_t entries_since_look_ = 0;
  TimePoint last_look_;
  std::optional<TimePoint> waits_since_;  // what is in `collecting_`; none: nothing was
  TimePoint rests_until_;
  bool sleeping_ = false;  // until something comes in
  bool presses_ = false;   // it is half full
  bool stop_ = false;
  bool given_up_ = false;
  std::optional<Error> trouble_;
  std::vector<Waiter> waiters_;
};

}  // namespace parley::view
