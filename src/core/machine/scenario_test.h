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
#include "core/agents/work.h"
#include "core/limits/breaker.h"
#include "core/limits/budgets.h"
#include "core/model/command.h"
#include "core/outbox/outbox.h"

// The words that scenario scripts are made of: docs/scenarios.md.
namespace parley::core::testing {

inline std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text.empty() ? "nothing" : text;
}

inline bool is_quote(char c) { return c == '"' || c == '\''; }

// A separator between quotes is a part of the text.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && is_quote(c)) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    if (c == separator && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
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

// `2 completed 1 failed 3000 ms 0 ppm`, the last of what it said how sure it was.
inline std::string work_words(const Work& work, Time now) {
  const Work::Sum sum = work.last_hour(now);
  return std::to_string(sum.completed) + " completed " + std::to_string(sum.failed) + " failed " +
         std::to_string(sum.average_response_ms()) + " ms " +
         std::to_string(sum.average_confidence_ppm()) + " ppm" +
         (work.report.n == 0 ? "" : " reported");
}

inline std::string fact_words(const Fact::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return std::to_string(*number);
  }
  const auto* yes = std::get_if<bool>(&value);
  return yes == nullptr ? "something else" : *yes ? "true" : "false";
}

// The words of a line, read one by one. What stands between quotes, "so" or 'so', is one word.
class Words {
 public:
  explicit Words(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      if (text[at] == ' ') {
        ++at;
        continue;
      }
      const bool quoted = is_quote(text[at]);
      const size_t begin = quoted ? at + 1 : at;
      const size_t end = std::min(text.find(quoted ? text[at] : ' ', begin), text.size());
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

// Kinds of what an entry brings about beside hand-outs and dead letters: `mail bo`, `settled m1
// acked`, `dropped 1`, `system 1 retried` or `system alarm`, `closed s1`, `owes escalated root`,
// `late m1 given up`, `turn bo granted`, `kept m1`, `changed approval 1`.
inline bool is_kind(std::string_view word) {
  constexpr std::array<std::string_view, 10> kinds = {
      "mail", "settled", "dropped", "system", "closed", "owes", "late", "turn", "kept", "changed"};
  return std::ranges::find(kinds, word) != kinds.end();
}

// What one entry brought about, in the words of the scripts.
struct Seen {
  bool refused = false;
  std::string outcome;  // `accepted`, `duplicate`, `skipped`, `done`, or an error's code
  std::string detail;   // of an error
  uint32_t count = 0;
  base::Duration delay;
  bool has_no_task = false;
  std::vector<std::string> taken;
  std::vector<std::string> pushed;
  std::map<std::string, std::vector<std::string>> by_stream;
  std::vector<std::string> dead;  // `m1 ttl_expired`
  // What else, by the word of its kind: `mail` of `bo`.
  std::map<std::string, std::vector<std::string>, std::less<>> other;

  bool operator==(const Seen&) const = default;

  std::vector<std::string> of(std::string_view kind) const {
    const auto at = other.find(kind);
    return at == other.end() ? std::vector<std::string>{} : at->second;
  }

  // Adds what came later, of which there is no outcome.
  void add(const Seen& later) {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(taken, later.taken);
    append(pushed, later.pushed);
    append(dead, later.dead);
    for (const auto& [stream, labels] : later.by_stream) {
      append(by_stream[stream], labels);
    }
    for (const auto& [kind, words] : later.other) {
      append(other[kind], words);
    }
  }
};

}  // namespace parley::core::testing
