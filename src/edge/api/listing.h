// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "edge/api/call.h"

namespace parley::edge {

// An answer that lists ends with what makes it so large; it says that there is more.
constexpr size_t answer_bytes_max = size_t{1} << 20;

// An answer that is made of records, in parts: `each` is called with each of them, which is in
// memory then, and `answer` at the end. The tables may change in between.
struct Listing {
  std::vector<base::Seq> records;
  std::function<bool(base::Seq)> each;  // false: the others are not needed
  std::function<std::expected<net::Response, Error>()> answer;
};

// The lists that callers asked for. A turn makes a part of one of them, and the callers take turns;
// of each caller one is made at a time, so that only one is in memory. No record is read from the
// disk by the loop. The tables may change between two parts.
class Listings {
 public:
  // Does some of the work; true when it is done, and the call answered or left to wait for
  // something.
  using Step = std::function<bool()>;

  explicit Listings(Context& context) : context_(context) {}

  // Answers with it: some of the records now, the rest in later turns.
  void add(const Asker& asker, Listing listing);
  // An answer that takes a look at much: does the first step now if no other list of the caller is
  // being made, the rest in later turns.
  void add(const Asker& asker, Step step);

 private:
  struct Job {
    Asker asker;
    Step step{};  // or else
    Listing listing{};
    size_t at = 0;         // the next record
    bool is_over = false;  // answered, or its client hung up
  };
  using JobRef = std::shared_ptr<Job>;

  // False: the call may not wait, and is refused.
  bool line_up(const JobRef& job);
  void go_on(const JobRef& job);
  void go_on_later(const JobRef& job);
  void read_on(const JobRef& job);
  void make(const JobRef& job, size_t count);
  // The first of its caller's line is over: the next one begins.
  void end(const JobRef& job);
  void hang_up(const JobRef& job);

  Context& context_;
  std::unordered_map<net::CallerId, std::deque<JobRef>> lines_;  // the first is being made
};

}  // namespace parley::edge
