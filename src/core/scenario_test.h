// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/breaker.h"
#include "core/command.h"
#include "core/guard.h"

// The words that scenario scripts are made of: docs/scenarios.md.
namespace parley::core::testing {

inline std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text.empty() ? "nothing" : text;
}

inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

inline std::string_view trimmed(std::string_view word) {
  return word.ends_with(':') ? word.substr(0, word.size() - 1) : word;
}

inline bool is_outcome(std::string_view word) {
  return word == "accepted" || word == "duplicate" || word == "skipped" || word == "done" ||
         std::ranges::all_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

// `open 3 failures`, `closed 0`; `5 messages 0 tokens`.
inline std::string words_for(const Breaker& breaker, Time now, Duration pause) {
  const bool closed = breaker.state(now, pause) == Breaker::State::closed;
  return std::string(breaker_name(breaker.state(now, pause))) + " " +
         std::to_string(breaker.failures()) +
         (closed ? "" : " " + std::string(breaker_name(breaker.reason())));
}

inline std::string words_for(const Budget& budget) {
  return std::to_string(budget.messages) + " messages " + std::to_string(budget.tokens) + " tokens";
}

// The words of a line, read one by one. What stands between quotes is one word.
class Words {
 public:
  explicit Words(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      if (text[at] == ' ') {
        ++at;
        continue;
      }
      const bool quoted = text[at] == '"';
      const size_t begin = quoted ? at + 1 : at;
      const size_t end = std::min(text.find(quoted ? '"' : ' ', begin), text.size());
      all_.emplace_back(text.substr(begin, end - begin));
      at = quoted ? end + 1 : end;
    }
  }

  bool done() const { return at_ == all_.size(); }
  // Empty when there is none.
  std::string_view peek(size_t ahead = 0) const {
    return at_ + ahead < all_.size() ? std::string_view(all_[at_ + ahead]) : std::string_view();
  }
  std::string_view next() {
    const std::string_view word = peek();
    at_ += at_ < all_.size() ? 1 : 0;
    return word;
  }
  bool accept(std::string_view word) {
    const bool same = !done() && peek() == word;
    at_ += same ? 1 : 0;
    return same;
  }
  std::vector<std::string> rest() {
    std::vector<std::string> words(all_.begin() + static_cast<std::ptrdiff_t>(at_), all_.end());
    at_ = all_.size();
    return words;
  }

 private:
  std::vector<std::string> all_;
  size_t at_ = 0;
};

// `NAME VALUE NAME VALUE`.
inline SetRules rules_in(Words& words) {
  SetRules command;
  while (!words.done()) {
    const std::string_view name = words.next();
    command.values.emplace_back(name, words.next());
  }
  return command;
}

// `STATUS [on TASK]`.
inline Heartbeat heartbeat_in(Words& words) {
  const std::string_view status = words.next();
  return {status, words.accept("on") ? words.next() : std::string_view{}};
}

inline std::string resolution_word(Resolution resolution) {
  constexpr std::array<const char*, 4> words = {"pending", "retried", "discarded", "escalated"};
  return words[static_cast<size_t>(resolution)];
}

// Over 150 lines: the words of the scripts.

// What one entry brought about, in the words of the scripts.
struct Seen {
  bool refused = false;
  std::string outcome;  // `accepted`, `duplicate`, `skipped`, `done`, or an error's code
  std::string detail;   // of an error
  uint32_t count = 0;
  base::Duration delay;
  std::vector<std::string> taken;
  std::vector<std::string> pushed;
  std::map<std::string, std::vector<std::string>> by_stream;
  std::vector<std::string> dead;     // `m1 ttl_expired`
  std::vector<std::string> mail;     // `bo`
  std::vector<std::string> settled;  // `m1 acked`
  std::vector<std::string> dropped;  // `1`
  std::vector<std::string> resolved;  // `1 retried`, by the broker itself; `alarm`
  std::vector<std::string> closed;   // `s1`
  std::vector<std::string> owed;     // `escalated root`
  std::vector<std::string> late;     // `m1 given up`
  std::vector<std::string> turns;    // `bo granted`, of a lock

  bool operator==(const Seen&) const = default;

  // Adds what came later, of which there is no outcome.
  void add(const Seen& later) {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(taken, later.taken);
    append(pushed, later.pushed);
    append(dead, later.dead);
    append(mail, later.mail);
    append(settled, later.settled);
    append(dropped, later.dropped);
    append(resolved, later.resolved);
    append(closed, later.closed);
    append(owed, later.owed);
    append(late, later.late);
    append(turns, later.turns);
    for (const auto& [stream, labels] : later.by_stream) {
      append(by_stream[stream], labels);
    }
  }
};

}  // namespace parley::core::testing
