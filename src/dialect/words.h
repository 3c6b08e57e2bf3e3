// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/model/envelope.h"

namespace parley::dialect {

// The words of the dialects and what they stand for. Private to the codecs.

template <class T>
struct Word {
  std::string_view text;
  T value;
};

constexpr std::array<Word<core::ContentType>, 3> content_types = {
    {{"text", core::ContentType::text},
     {"json", core::ContentType::json},
     {"artifact_ref", core::ContentType::artifact_ref}}};
constexpr std::array<Word<core::Priority>, 4> priorities = {{{"critical", core::Priority::critical},
                                                             {"high", core::Priority::high},
                                                             {"normal", core::Priority::normal},
                                                             {"low", core::Priority::low}}};
constexpr std::array<Word<core::Status>, 4> statuses = {{{"success", core::Status::success},
                                                         {"partial", core::Status::partial},
                                                         {"error", core::Status::error},
                                                         {"declined", core::Status::declined}}};
constexpr std::array<Word<core::OnTimeout>, 3> timeout_actions = {
    {{"retry", core::OnTimeout::retry},
     {"escalate", core::OnTimeout::escalate},
     {"fail", core::OnTimeout::fail}}};

constexpr std::array<Word<core::NeedsApproval>, 2> approval_needs = {
    {{"message", core::NeedsApproval::message}, {"answer", core::NeedsApproval::answer}}};

constexpr std::array<Word<core::Stance>, 3> stances = {{{"revise", core::Stance::revise},
                                                        {"defend", core::Stance::defend},
                                                        {"escalate", core::Stance::escalate}}};
constexpr std::array<Word<core::Severity>, 3> severities = {
    {{"minor", core::Severity::minor},
     {"moderate", core::Severity::moderate},
     {"critical", core::Severity::critical}}};

// The word for `value`; empty when there is none.
template <class T, size_t n>
constexpr std::string_view word_for(const std::array<Word<T>, n>& words, T value) {
  for (const Word<T>& word : words) {
    if (word.value == value) {
      return word.text;
    }
  }
  return {};
}

// Null when `text` is no word of these.
template <class T, size_t n>
constexpr const Word<T>* find_word(const std::array<Word<T>, n>& words, std::string_view text) {
  for (const Word<T>& word : words) {
    if (word.text == text) {
      return &word;
    }
  }
  return nullptr;
}

template <class T, size_t n>
std::string one_of(const std::array<Word<T>, n>& words) {
  std::string text = "one of ";
  for (const Word<T>& word : words) {
    text.append(&word == &words.front() ? "" : ", ").append(word.text);
  }
  return text;
}

// The receiver that means everyone, and what a topic's name may begin with.
constexpr std::string_view everyone = "*";
constexpr std::string_view topic_prefix = "topic:";

}  // namespace parley::dialect
