// SPDX-License-Identifier: Apache-2.0
// What the body of each type has, as schemas/squad/message.schema.json says it.
#include "dialect/content.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "dialect/iso8601.h"
#include "dialect/reading.h"
#include "dialect/squad/fields.h"
#include "dialect/squad/squad.h"

namespace parley::dialect::squad {

namespace {

using base::Code;
using lib::Json;
using lib::JsonKind;

constexpr double ppm_of_one = 1e6;

bool says_something(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

bool is_text(Json value) { return value.as_string().has_value(); }
bool is_full_text(Json value) { return says_something(value.as_string().value_or("")); }

template <class Fits>
bool all_fit(Json value, const Fits& fits) {
  bool all = value.kind() == JsonKind::array;
  for (const Json element : value.elements()) {
    all = all && fits(element);
  }
  return all;
}

// From 0 to 1, or in percent: `0.65` or `"65%"`.
std::optional<double> read_confidence(Json value) {
  constexpr double all = 100;
  if (const auto number = value.as_double()) {
    return *number >= 0 && *number <= 1 ? number : std::nullopt;
  }
  std::string_view text = value.as_string().value_or("");
  if (!text.ends_with('%')) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const bool is_number =
      digits >= 1 && (digits <= 2 || text.substr(0, digits) == "100") && !text.ends_with('.');
  double percent = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  const bool good = is_number && error == std::errc{} && end == text.data() + text.size();
  return good && percent <= all ? std::optional(percent / all) : std::nullopt;
}

namespace shape {

constexpr Shape text = {"a string", is_text};
constexpr Shape full_text = {"a text that says something", is_full_text};
constexpr Shape texts = {"an array of strings", [](Json value) { return all_fit(value, is_text); }};
constexpr Shape objects = {"an array of objects", [](Json value) {
                             return all_fit(value, [](Json each) { return each.is_object(); });
                           }};
constexpr Shape evidence = {
    "a text, or an array of at least one text, that says something", [](Json value) {
      return is_full_text(value) || (!value.empty() && all_fit(value, is_full_text));
    }};
constexpr Shape any_evidence = {"a string or an array of strings", [](Json value) {
                                  return is_text(value) || all_fit(value, is_text);
                                }};
constexpr Shape time = {
    time_wanted, [](Json value) { return parse_time(value.as_string().value_or("")).has_value(); }};
constexpr Shape ratio = {"a number from 0 to 1, or a text such as \"65%\"",
                         [](Json value) { return read_confidence(value).has_value(); }};
constexpr Shape stance = {"one of revise, defend, escalate", [](Json value) {
                            return find_word(stances, value.as_string().value_or("")) != nullptr;
                          }};
constexpr Shape severity = {
    "one of minor, moderate, critical",
    [](Json value) { return find_word(severities, value.as_string().value_or("")) != nullptr; }};
constexpr Shape external = {
    "a text that says what is done, an object, true or false",
    [](Json value) { return is_full_text(value) || value.is_object() || value.as_bool(); }};

}  // namespace shape

constexpr uint32_t of(Type type) { return bit_of(static_cast<uint8_t>(type)); }
constexpr uint32_t every = (uint32_t{1} << types.size()) - 1;
constexpr uint32_t asking = of(Type::handoff) | of(Type::query);
constexpr uint32_t answering = of(Type::response) | of(Type::ack);

constexpr auto rows = std::to_array<ContentRow>({
    {asking, "", "task", &shape::text},
    {asking, "", "context", &shape::text},
    {asking, "", "constraints", &shape::texts},
    {asking, "", "deadline", &shape::time},
    {asking | answering, "", "artifacts", &shape::texts},
    {answering, "", "result", &shape::text},
    {answering, "", "summary", &shape::text},
    {answering, "", "notes", &shape::text},
    {answering, "", "evidence", &shape::any_evidence},
    {of(Type::challenge), "", "claim_challenged", &shape::full_text, true},
    {of(Type::challenge), "", "grounds", &shape::full_text, true},
    {of(Type::challenge), "", "evidence", &shape::evidence, true},
    {of(Type::challenge), "", "requested_action", &shape::stance},
    {of(Type::challenge), "", "severity", &shape::severity},
    {of(Type::escalation), "", "reason", &shape::text},
    {of(Type::escalation), "", "positions", &shape::objects},
    {of(Type::escalation), "/positions", "agent", &shape::text},
    {of(Type::escalation), "/positions", "position", &shape::text},
    {of(Type::escalation), "/positions", "evidence", &shape::any_evidence},
    {of(Type::escalation), "", "debate_log", &shape::texts},
    {of(Type::escalation), "", "recommended_action", &shape::text},
    {of(Type::escalation), "", "deadline", &shape::text},
    {every, "", "confidence", &shape::ratio},
    {every, "", "blocked_since", &shape::time},
    {every, "", "external_action", &shape::external},
});

// Of a challenge that lacks one of the three: it says nothing that could be answered.
bool is_vague(const Error& error) {
  return error.field == "/body/claim_challenged" || error.field == "/body/grounds" ||
         error.field == "/body/evidence";
}

// The first of these members that is a text.
std::string_view first_text(Json object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto found = object.find(key).as_string();
    if (found && says_something(*found)) {
      return *found;
    }
  }
  return {};
}

std::string_view summary_of(Type type, Json object) {
  switch (type) {
    case Type::handoff:
    case Type::query:
      return first_text(object, {"task", "context"});
    case Type::response:
    case Type::ack:
      return first_text(object, {"summary", "result", "notes"});
    case Type::challenge:
      return first_text(object, {"claim_challenged"});
    case Type::escalation:
      return first_text(object, {"reason", "recommended_action"});
  }
  return {};
}

// A result that is one of the words, in any case: the text writes DEFEND and defend.
template <class T, size_t n>
std::optional<T> result_in(Json object, const std::array<Word<T>, n>& words) {
  std::string word(object.find("result").as_string().value_or(""));
  std::ranges::transform(word, word.begin(), base::to_lower);
  const auto* const known = find_word(words, word);
  return known == nullptr ? std::nullopt : std::optional(known->value);
}

void read_external(Json value, Body& body) {
  body.is_external = value && !value.is_null() && value.as_bool() != false;
  body.external = value.is_object() ? first_text(value, {"description", "action", "type", "name"})
                                    : value.as_string().value_or("");
}

}  // namespace

std::expected<Body, Error> read_body(Type type, Json object) {
  if (auto good = check_content(rows, static_cast<uint8_t>(type), object, "/body"); !good) {
    if (type == Type::challenge && is_vague(good.error())) {
      good.error().detail +=
          ". A challenge is specific: it names the claim, the grounds and the evidence";
    }
    return std::unexpected(std::move(good.error()));
  }
  Body body;
  body.summary = summary_of(type, object);
  if (const auto ratio = read_confidence(object.find("confidence"))) {
    constexpr double slack = 1e-3;  // of the multiplication
    body.confidence_ppm = static_cast<int32_t>(std::floor(*ratio * ppm_of_one + slack));
  }
  body.blocked_since =
      parse_time(object.find("blocked_since").as_string().value_or("")).value_or(base::Time{});
  read_external(object.find("external_action"), body);
  if (type == Type::challenge) {
    const auto word = [&](std::string_view key) {
      return object.find(key).as_string().value_or("");
    };
    const auto* const wanted = find_word(stances, word("requested_action"));
    const auto* const how_grave = find_word(severities, word("severity"));
    body.stance = wanted == nullptr ? core::Stance::unset : wanted->value;
    body.severity = how_grave == nullptr ? core::Severity::unset : how_grave->value;
  }
  if (type == Type::response || type == Type::ack) {
    body.status = result_in(object, results).value_or(core::Status::unset);
    body.stance = result_in(object, stances).value_or(core::Stance::unset);
    const Json proof = object.find("evidence");
    if (body.stance == core::Stance::defend && (!proof || !shape::evidence.fits(proof))) {
      return std::unexpected(Error{Code::validation_failed,
                                   "evidence: wanted " + std::string(shape::evidence.wanted) +
                                       ", found " + (proof ? describe(proof) : "nothing") +
                                       "; a defence without evidence is none",
                                   "/body/evidence"});
    }
  }
  return body;
}

}  // namespace parley::dialect::squad

namespace parley::dialect {

uint64_t squad_tokens(lib::Json /*message*/) { return 0; }

}  // namespace parley::dialect
