// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace parley::core {

// The words of a closed set, in the order of its enumerators; `last` is the last of them. A word
// that is missing is found when this is compiled.
template <auto last>
class Words {
 public:
  using Value = decltype(last);

  template <class... Text>
  constexpr explicit Words(Text... text) : words_{text...} {
    static_assert(sizeof...(text) == static_cast<size_t>(last) + 1);
  }

  constexpr std::string_view operator[](Value value) const {
    return words_[static_cast<size_t>(value)];
  }

  // What the word stands for; nothing for any other word.
  constexpr std::optional<Value> find(std::string_view word) const {
    for (size_t n = 0; n < words_.size(); ++n) {
      if (words_[n] == word) {
        return static_cast<Value>(n);
      }
    }
    return std::nullopt;
  }

  // All of them, in the order of the enumerators.
  constexpr std::span<const std::string_view> all() const { return words_; }

 private:
  std::array<std::string_view, static_cast<size_t>(last) + 1> words_;
};

}  // namespace parley::core
