// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "view/facts.h"
#include "view/feed/backlog.h"
#include "view/feed/pacing.h"
#include "view/feed/waiters.h"

namespace parley::view {

// What the node's thread hands to the view's thread: the facts of each entry, in order, and the
// questions "tell me when you are there". The only place where the two threads meet; one lock,
// held for the copying of a few facts.
class Feed {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Reached = Waiters::Reached;
  using Tell = Waiters::Tell;
  // Runs a function on the thread that asked; called by either thread.
  using Post = std::function<void(std::function<void()>)>;

  struct Options {
    Backlog::Options backlog;  // what `full` goes by, and how large a transaction is
    // When the view goes to work. It does so at once while someone waits, or the backlog is half
    // full.
    Pacing::Options pacing;
    size_t waiters_max = 10'000;
    std::function<TimePoint()> now = [] { return std::chrono::steady_clock::now(); };
  };

  Feed(const Options& options, Post post, Seq position);

  // The node's thread.
  // Adds what came of an entry. Never blocks for longer than the view takes to swap two buffers.
  void push(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
            std::span<const core::Effect> effects);

  // True when the view is so far behind that nothing more of that one should be accepted.
  bool full_for(WorkspaceId workspace, std::string_view actor);

  // Tells once: when the view has reached `seq`, or at `deadline`, how far it is. Beyond
  // `waiters_max` at once.
  void wait_for(Seq seq, TimePoint deadline, Tell tell);

  // Any thread.
  TimePoint now() const { return options_.now(); }
  Seq position() const { return Seq{position_.load(std::memory_order_acquire)}; }
  Seq durable() const { return Seq{durable_.load(std::memory_order_acquire)}; }
  // What was applied and is not folded in.
  struct Lag {
    uint64_t entries = 0;
    uint64_t bytes = 0;  // of their messages
    // What the file of the history will grow by: those bytes, and what only its log has until the
    // next checkpoint.
    uint64_t growth_bytes = 0;
  };
  Lag lag();

  // The view's thread.

  using Part = Backlog::Part;  // what is folded in by one transaction
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
  using Lock = std::unique_lock<std::mutex>;

  Woken look_for_work(Lock& lock, Part& part, TimePoint idle_at);
  TimePoint next_wake(TimePoint idle_at) const;
  bool is_due(TimePoint now);
  void tell_waiters(Lock& lock, TimePoint now);
  Reached reached(Seq seq);

  const Options options_;
  const Post post_;
  std::atomic<uint64_t> position_;
  std::atomic<uint64_t> durable_ = 0;  // until the first checkpoint of this process
  std::atomic<uint64_t> applied_;      // the newest entry
  std::atomic<bool> presses_ = false;  // the backlog is half full

  std::mutex mutex_;
  std::condition_variable changed_;
  Backlog backlog_;
  Pacing pacing_;
  Waiters waiters_;
  bool sleeping_ = false;  // until something comes in
  bool stop_ = false;
  bool given_up_ = false;
  std::optional<Error> trouble_;
};

}  // namespace parley::view
