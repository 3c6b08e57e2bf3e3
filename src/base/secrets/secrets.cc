// SPDX-License-Identifier: Apache-2.0
#include "base/secrets/secrets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <optional>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/secrets/assignment.h"
#include "base/text.h"

namespace parley::base {

namespace {

using namespace secrets;

constexpr auto kind_names = std::to_array<std::string_view>(
    {"aws_access_key", "aws_secret_key", "azure_key", "google_key", "github_token", "gitlab_token",
     "slack_token", "slack_webhook", "stripe_key", "api_key", "npm_token", "pypi_token",
     "huggingface_token", "parley_token", "jwt", "private_key", "password", "secret",
     "url_password"});
static_assert(kind_names.size() == static_cast<size_t>(SecretKind::count));

using Found = std::optional<Secret>;
using IsPart = bool (*)(char);

constexpr size_t body_max = 512;

bool is_part_of_key_id(char c) { return is_upper(c) || is_digit(c); }
bool is_part_of_word(char c) { return is_alnum(c); }
bool is_part_of_base64url(char c) { return is_base64url(c); }
bool is_part_of_slack(char c) { return is_alnum(c) || c == '-'; }

// How many characters from `at` on belong to it.
size_t run(std::string_view text, size_t at, IsPart is_part) {
  const size_t end = std::min(text.size(), at + body_max);
  size_t n = at;
  while (n < end && is_part(text[n])) {
    ++n;
  }
  return n - at;
}

// A well-known kind: a prefix, and what may follow it.
struct Shape {
  std::string_view prefix;
  SecretKind kind;
  IsPart is_part;
  size_t size_min;
};

constexpr size_t distinct_min = 8;

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Whether the character before `at` is the last of an escape that stands as text: a backslash and n
// in JSON inside of a string, `%20` in a URL. What follows it begins a word.
bool ends_escape(std::string_view text, size_t at) {
  constexpr size_t unit = 6;  // a backslash, u and four digits
  if (at >= 2 && text[at - 2] == '\\') {
    return std::string_view("ntrbfv0").find(text[at - 1]) != std::string_view::npos;
  }
  if (at >= 3 && text[at - 3] == '%') {
    return is_hex(text[at - 2]) && is_hex(text[at - 1]);
  }
  return at >= unit && text[at - unit] == '\\' && text[at - unit + 1] == 'u' &&
         is_hex(text[at - 1]) && is_hex(text[at - 2]) && is_hex(text[at - 3]) &&
         is_hex(text[at - 4]);
}

// Whether the word that begins at `at` only goes on there.
bool goes_on(std::string_view text, size_t at, IsPart is_part) {
  return at > 0 && (is_alnum(text[at - 1]) || is_part(text[at - 1])) && !ends_escape(text, at);
}

// The secret whose prefix ends behind `last`. Before it is no letter and no digit; nor `_` or `-`
// where those are parts of the body, so that a long chain of prefixes is looked at once.
Found token_at(std::string_view text, size_t last, Looks& looks, const Shape& shape) {
  const size_t end = last + 1;
  if (!text.substr(0, end).ends_with(shape.prefix)) {
    return std::nullopt;
  }
  const size_t begin = end - shape.prefix.size();
  if (goes_on(text, begin, shape.is_part)) {
    return std::nullopt;
  }
  const size_t size = run(text, end, shape.is_part);
  const std::string_view body = text.substr(end, size);
  if (size < shape.size_min || !looks.take(size) || distinct(body) < distinct_min ||
      is_placeholder(body)) {
    return std::nullopt;
  }
  return Secret{.kind = shape.kind, .at = begin, .size = end + size - begin};
}

constexpr uint32_t pair(char a, char b) {
  return static_cast<uint32_t>(static_cast<uint8_t>(a)) << 8 | static_cast<uint8_t>(b);
}

Found at_underscore(std::string_view text, size_t at, Looks& looks) {
  using enum SecretKind;
  if (at < 2) {
    return std::nullopt;
  }
  switch (pair(text[at - 2], text[at - 1])) {
    case pair('h', 'p'):
      return token_at(text, at, looks, {"ghp_", github_token, is_part_of_word, 36});
    case pair('h', 'o'):
      return token_at(text, at, looks, {"gho_", github_token, is_part_of_word, 36});
    case pair('h', 'u'):
      return token_at(text, at, looks, {"ghu_", github_token, is_part_of_word, 36});
    case pair('h', 's'):
      return token_at(text, at, looks, {"ghs_", github_token, is_part_of_word, 36});
    case pair('h', 'r'):
      return token_at(text, at, looks, {"ghr_", github_token, is_part_of_word, 36});
    case pair('a', 't'):
      return token_at(text, at, looks, {"github_pat_", github_token, is_part_of_base64url, 40});
    case pair('p', 'm'):
      return token_at(text, at, looks, {"npm_", npm_token, is_part_of_word, 36});
    case pair('h', 'f'):
      return token_at(text, at, looks, {"hf_", huggingface_token, is_part_of_word, 30});
    case pair('r', 'l'):
      return token_at(text, at, looks, {"prl_", parley_token, is_part_of_base64url, 43});
    case pair('e', 'c'):
      return token_at(text, at, looks, {"whsec_", stripe_key, is_part_of_word, 24});
    case pair('v', 'e'): {
      const Found secret = token_at(text, at, looks, {"sk_live_", stripe_key, is_part_of_word, 24});
      return secret ? secret
                    : token_at(text, at, looks, {"rk_live_", stripe_key, is_part_of_word, 24});
    }
    case pair('s', 't'): {
      const Found secret = token_at(text, at, looks, {"sk_test_", stripe_key, is_part_of_word, 24});
      return secret ? secret
                    : token_at(text, at, looks, {"rk_test_", stripe_key, is_part_of_word, 24});
    }
    default:
      return std::nullopt;
  }
}

// `sk-` also begins names of things with dashes in them. A key has a long part without one, or many
// digits and capitals.
Found api_key_at(std::string_view text, size_t at, Looks& looks) {
  const Found found =
      token_at(text, at, looks, {"sk-", SecretKind::api_key, is_part_of_base64url, 20});
  if (!found) {
    return found;
  }
  size_t digits = 0;
  size_t capitals = 0;
  size_t part = 0;
  size_t part_digits = 0;
  bool has_long_part = false;
  for (const char c : text.substr(found->at + 3, found->size - 3)) {
    digits += is_digit(c) ? 1 : 0;
    capitals += is_upper(c) ? 1 : 0;
    part = is_alnum(c) ? part + 1 : 0;
    part_digits = part == 0 ? 0 : part_digits + (is_digit(c) ? 1 : 0);
    has_long_part |= part >= 16 && part_digits >= 2;
  }
  const bool is_mixed = digits >= 2 && capitals >= 2 && found->size >= 33;
  return has_long_part || is_mixed ? found : std::nullopt;
}

constexpr std::string_view dashes = "-----";

// A block of a private key, with its end where that is there. `at` is the last dash before BEGIN.
Found private_key_at(std::string_view text, size_t at, Looks& looks) {
  const std::string_view rest = text.substr(at + 1);
  if (at + 1 < dashes.size() || text.substr(at + 1 - dashes.size(), dashes.size()) != dashes ||
      !rest.starts_with("BEGIN ")) {
    return std::nullopt;
  }
  const std::string_view label = rest.substr(6, 64);
  const size_t label_size = label.find(dashes);
  if (label_size == std::string_view::npos ||
      label.substr(0, label_size).find("PRIVATE KEY") == std::string_view::npos) {
    return std::nullopt;
  }
  const size_t begin = at + 1 - dashes.size();
  const size_t body = at + 1 + 6 + label_size + dashes.size();
  const size_t stop = std::min(text.find(dashes, body), text.size());
  constexpr size_t seen_max = 2'048;
  if (!looks.take(std::min(stop - body, seen_max))) {
    return std::nullopt;
  }
  // Without a body it is talk about keys.
  size_t part = 0;
  size_t n = body;
  for (const size_t last = std::min(stop, body + seen_max); n < last && part < 32; ++n) {
    part = is_base64(text[n]) ? part + 1 : 0;
  }
  if (part < 32) {
    return std::nullopt;
  }
  if (text.substr(stop).starts_with("-----END ")) {
    const size_t close = text.substr(0, std::min(text.size(), stop + 80)).find(dashes, stop + 9);
    const size_t end = close == std::string_view::npos ? stop + 9 : close + dashes.size();
    return Secret{.kind = SecretKind::private_key, .at = begin, .size = end - begin};
  }
  const auto is_body = [](char c) {
    return is_base64(c) || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\\';
  };
  while (n < stop && is_body(text[n])) {
    ++n;
  }
  return Secret{.kind = SecretKind::private_key, .at = begin, .size = n - begin};
}

Found at_dash(std::string_view text, size_t at, Looks& looks) {
  using enum SecretKind;
  if (at < 2) {
    return std::nullopt;
  }
  const char before = text[at - 1];
  if (before == '-') {
    return at + 1 < text.size() && text[at + 1] == 'B' ? private_key_at(text, at, looks)
                                                       : std::nullopt;
  }
  switch (pair(text[at - 2], before)) {
    case pair('s', 'k'):
      return api_key_at(text, at, looks);
    case pair('x', 'a'):
      return token_at(text, at, looks, {"xoxa-", slack_token, is_part_of_slack, 20});
    case pair('x', 'b'):
      return token_at(text, at, looks, {"xoxb-", slack_token, is_part_of_slack, 20});
    case pair('x', 'c'):
      return token_at(text, at, looks, {"xoxc-", slack_token, is_part_of_slack, 20});
    case pair('x', 'e'):
      return token_at(text, at, looks, {"xoxe-", slack_token, is_part_of_slack, 20});
    case pair('x', 'p'):
      return token_at(text, at, looks, {"xoxp-", slack_token, is_part_of_slack, 20});
    case pair('x', 'r'):
      return token_at(text, at, looks, {"xoxr-", slack_token, is_part_of_slack, 20});
    case pair('x', 's'):
      return token_at(text, at, looks, {"xoxs-", slack_token, is_part_of_slack, 20});
    case pair('p', 'p'):
      return token_at(text, at, looks, {"xapp-", slack_token, is_part_of_slack, 20});
    case pair('a', 't'):
      return token_at(text, at, looks, {"glpat-", gitlab_token, is_part_of_base64url, 20});
    case pair('r', 't'):
      return token_at(text, at, looks, {"glrt-", gitlab_token, is_part_of_base64url, 20});
    case pair('d', 't'):
      return token_at(text, at, looks, {"gldt-", gitlab_token, is_part_of_base64url, 20});
    case pair('t', 't'):
      return token_at(text, at, looks, {"glptt-", gitlab_token, is_part_of_base64url, 20});
    case pair('p', 'i'):
      return token_at(text, at, looks, {"pypi-", pypi_token, is_part_of_base64url, 50});
    case pair('P', 'X'):
      return token_at(text, at, looks, {"GOCSPX-", google_key, is_part_of_base64url, 20});
    default:
      return std::nullopt;
  }
}

// AKIA and ASIA of AWS, AIza of Google: as long as that and no longer.
Found at_capital_a(std::string_view text, size_t at, Looks& looks) {
  const std::string_view start = text.substr(at, 4);
  const bool is_aws = start == "AKIA" || start == "ASIA";
  if (!is_aws && start != "AIza") {
    return std::nullopt;
  }
  const IsPart is_part = is_aws ? is_part_of_key_id : is_part_of_base64url;
  const size_t size = is_aws ? 20 : 39;
  if (goes_on(text, at, is_part)) {
    return std::nullopt;
  }
  const std::string_view body = text.substr(at, size);
  if (run(text, at, is_part) != size || (at + size < text.size() && is_alnum(text[at + size])) ||
      !looks.take(size) || distinct(body) < distinct_min || is_placeholder(body)) {
    return std::nullopt;
  }
  return Secret{
      .kind = is_aws ? SecretKind::aws_access_key : SecretKind::google_key, .at = at, .size = size};
}

// Three parts in base64url with dots between; the first is an object of JSON. `at` is the J of eyJ.
Found at_capital_j(std::string_view text, size_t at, Looks& looks) {
  if (at < 2 || text[at - 1] != 'y' || text[at - 2] != 'e' ||
      goes_on(text, at - 2, is_part_of_base64url)) {
    return std::nullopt;
  }
  constexpr std::array<size_t, 3> sizes_min = {10, 8, 16};
  const size_t begin = at - 2;
  size_t end = begin;
  for (size_t part = 0; part < sizes_min.size(); ++part) {
    size_t n = end;
    while (n < text.size() && is_base64url(text[n])) {
      ++n;
    }
    const bool is_last = part + 1 == sizes_min.size();
    if (n - end < sizes_min[part] || (!is_last && (n == text.size() || text[n] != '.'))) {
      return std::nullopt;
    }
    end = is_last ? n : n + 1;
  }
  const std::string_view whole = text.substr(begin, end - begin);
  return !looks.take(std::min(whole.size(), body_max)) || distinct(whole) < distinct_min
             ? std::nullopt
             : Found(Secret{.kind = SecretKind::jwt, .at = begin, .size = end - begin});
}

bool is_url_password(std::string_view user, std::string_view password) {
  constexpr auto words =
      std::to_array<std::string_view>({"password", "pass", "passwd", "pwd", "secret", "token"});
  const auto is_it = [password](std::string_view word) {
    return std::ranges::equal(word, password, {}, {}, to_lower);
  };
  return password.size() >= 4 && password != user && distinct(password) >= 3 &&
         std::ranges::none_of(words, is_it) && !is_placeholder(password);
}

constexpr CharacterSet authority_ends("/?# \t\r\n\"'<>`\\,");

// scheme://user:password@host, and the URLs of Slack that take messages from whoever knows them.
Found at_url(std::string_view text, size_t colon, Looks& looks) {
  const size_t begin = colon + 3;
  const std::string_view rest = text.substr(begin, body_max);
  constexpr std::string_view slack = "hooks.slack.com/";
  if (rest.starts_with(slack)) {
    const auto is_path = [](char c) { return is_base64url(c) || c == '/'; };
    const size_t size = run(rest, slack.size(), is_path);
    const std::string_view path = rest.substr(slack.size(), size);
    if (size >= 30 && looks.take(size) && distinct(path) >= distinct_min && !is_placeholder(path)) {
      const size_t at = begin + slack.size();
      return Secret{.kind = SecretKind::slack_webhook, .at = at, .size = size};
    }
    return std::nullopt;
  }
  const auto ends = [](char c) { return authority_ends.has(c); };
  const auto* const end = std::ranges::find_if(rest, ends);
  const std::string_view authority(rest.begin(), end);
  const size_t sign = authority.rfind('@');
  const size_t split = authority.find(':');
  // What begins with a bracket is an address, or was redacted.
  if (sign == std::string_view::npos || split >= sign || authority.starts_with('[')) {
    return std::nullopt;
  }
  const std::string_view password = authority.substr(split + 1, sign - split - 1);
  if (!looks.take(password.size()) || !is_url_password(authority.substr(0, split), password)) {
    return std::nullopt;
  }
  return Secret{.kind = SecretKind::url_password, .at = begin + split + 1, .size = password.size()};
}

// Which two characters before a `_` or a `-` are the end of a prefix: those with a bit in common.
struct PrefixEnds {
  std::array<uint8_t, 256> first{};
  std::array<uint8_t, 256> second{};

  struct Pairs {
    std::string_view firsts;
    std::string_view seconds;
  };
  constexpr explicit PrefixEnds(std::initializer_list<Pairs> all) {
    uint8_t bit = 1;
    for (const Pairs& each : all) {
      for (const char c : each.firsts) {
        first[static_cast<uint8_t>(c)] |= bit;
      }
      for (const char c : each.seconds) {
        second[static_cast<uint8_t>(c)] |= bit;
      }
      bit = static_cast<uint8_t>(bit << 1);
    }
  }
  bool fit(std::string_view text, size_t at) const {
    return at >= 2 && (first[static_cast<uint8_t>(text[at - 2])] &
                       second[static_cast<uint8_t>(text[at - 1])]) != 0;
  }
};
constexpr PrefixEnds before_underscore(
    {{"h", "pousrf"}, {"as", "t"}, {"p", "m"}, {"r", "l"}, {"e", "c"}, {"v", "e"}});
constexpr PrefixEnds before_dash(
    {{"s", "k"}, {"x", "abceprs"}, {"p", "pi"}, {"ardt", "t"}, {"P", "X"}, {"-", "-"}});

// Whether a detector is to look at a mark: made to be cheap where it is not.
bool is_worth_a_look(std::string_view text, size_t at) {
  switch (text[at]) {
    case '_':
      return before_underscore.fit(text, at);
    case '-':
      return before_dash.fit(text, at);
    case ':':
      return (at + 1 < text.size() && text[at + 1] == '/') || may_be_assigned(text, at);
    case '=':
      return may_be_assigned(text, at);
    default:
      return true;
  }
}

// One pass over a text.
class Finder {
 public:
  Finder(std::string_view text, bool with_assignments, Looks& looks)
      : text_(text), with_assignments_(with_assignments), looks_(looks), denied_(looks.denied()) {}

  void look_at(size_t at) {
    if (at >= behind_ && is_worth_a_look(text_, at)) {
      look_closely_at(at);
    }
  }
  std::vector<Secret> take() { return std::move(found_); }

 private:
  [[gnu::noinline]] void look_closely_at(size_t at) {
    if (const Found secret = secret_at(at); secret && secret->at >= behind_) {
      found_.push_back(*secret);
      behind_ = secret->at + secret->size;
    }
    if (looks_.denied() != denied_) {
      behind_ = text_.size();
    }
  }
  Found secret_at(size_t at) {
    switch (text_[at]) {
      case '_':
        return at_underscore(text_, at, looks_);
      case '-':
        return at_dash(text_, at, looks_);
      case 'A':
        return at_capital_a(text_, at, looks_);
      case 'J':
        return at_capital_j(text_, at, looks_);
      case ':':
        return at_colon(at);
      case '=':
        return at_equals(at);
      default:
        return std::nullopt;
    }
  }
  Found at_colon(size_t at);
  Found at_equals(size_t at);
  Found at_assignment(size_t at);

  std::string_view text_;
  bool with_assignments_;
  Looks& looks_;
  uint64_t denied_;
  std::vector<Secret> found_;
  size_t behind_ = 0;  // the last one
  // Behind a value that was judged: what looks assigned in it is not judged again, else a chain
  // such as token:token:token: would cost its length for each of its parts.
  size_t judged_ = 0;
};

std::vector<Secret> find(std::string_view text, bool with_assignments, Looks& looks);

Found Finder::at_assignment(size_t at) {
  if (!with_assignments_ || at < judged_ || !may_be_assigned(text_, at)) {
    return std::nullopt;
  }
  const Assignment value = assigned_at(text_, at, looks_);
  // What is of a well-known kind is found as that.
  if (value.kind != SecretKind::count &&
      find(text_.substr(value.at, value.size), false, looks_).empty()) {
    return Secret{.kind = value.kind, .at = value.at, .size = value.size};
  }
  if (!value.is_quoted) {
    judged_ = value.at + value.size;
  }
  return std::nullopt;
}

Found Finder::at_colon(size_t at) {
  const char next = at + 1 < text_.size() ? text_[at + 1] : '\0';
  if (next == '/' && at + 2 < text_.size() && text_[at + 2] == '/') {
    return at_url(text_, at, looks_);
  }
  // a::b, and a := b, which is found at its `=`.
  const bool is_other = next == ':' || next == '=' || (at > 0 && text_[at - 1] == ':');
  return is_other ? std::nullopt : at_assignment(at);
}

Found Finder::at_equals(size_t at) {
  const char next = at + 1 < text_.size() ? text_[at + 1] : '\0';
  const char before = at > 0 ? text_[at - 1] : '\0';
  const bool compares =
      next == '=' || before == '=' || before == '!' || before == '<' || before == '>';
  return compares ? std::nullopt : at_assignment(at);
}

constexpr CharacterSet marks("_-AJ:=");

// Calls `use` with each place of a mark, in order. A place may come twice where two blocks meet.
template <class Use>
void for_each_mark(std::string_view text, const Use& use) {
  size_t at = 0;
#ifdef __SSE2__
  constexpr size_t block = 16;
  const auto load = [text](size_t from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + from));
  };
  const auto equals = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  const auto bits = [](__m128i bytes) { return static_cast<uint32_t>(_mm_movemask_epi8(bytes)); };
  for (; at + block < text.size(); at += block) {
    const __m128i bytes = load(at);
    const __m128i joints = _mm_or_si128(equals(bytes, '_'), equals(bytes, '-'));
    const __m128i signs = _mm_or_si128(equals(bytes, ':'), equals(bytes, '='));
    // Base64 is full of A and J: only AK, AS, AI and yJ count.
    const __m128i next = load(at + 1);
    const __m128i behind_a =
        _mm_or_si128(_mm_or_si128(equals(next, 'K'), equals(next, 'S')), equals(next, 'I'));
    const __m128i a = _mm_and_si128(equals(bytes, 'A'), behind_a);
    const uint32_t y = bits(_mm_and_si128(equals(bytes, 'y'), equals(next, 'J')));
    uint32_t mask = bits(_mm_or_si128(_mm_or_si128(joints, signs), a)) | y << 1;
    for (; mask != 0; mask &= mask - 1) {
      use(at + static_cast<size_t>(std::countr_zero(mask)));
    }
  }
#endif
  for (; at < text.size(); ++at) {
    if (marks.has(text[at])) {
      use(at);
    }
  }
}

std::vector<Secret> find(std::string_view text, bool with_assignments, Looks& looks) {
  Finder finder(text, with_assignments, looks);
  for_each_mark(text, [&finder](size_t at) { finder.look_at(at); });
  return finder.take();
}

}  // namespace

std::string_view secret_kind_name(SecretKind kind) { return kind_names[static_cast<size_t>(kind)]; }

std::vector<Secret> find_secrets(std::string_view text, Looks& looks) {
  return find(text, true, looks);
}

std::vector<Secret> find_secrets(std::string_view text) {
  Looks all(UINT64_MAX);
  return find_secrets(text, all);
}

std::string redaction(SecretKind kind) {
  return std::string(redaction_begin).append(secret_kind_name(kind)) + "]";
}

std::string without_secrets(std::string_view text, const std::vector<Secret>& secrets) {
  std::string out;
  size_t at = 0;
  for (const Secret& secret : secrets) {
    out.append(text.substr(at, secret.at - at)).append(redaction(secret.kind));
    at = secret.at + secret.size;
  }
  return out.append(text.substr(at));
}

std::string without_secrets(std::string_view text) {
  return without_secrets(text, find_secrets(text));
}

std::string without_secrets(std::string_view text, size_t bytes_max, Looks& looks) {
  constexpr size_t seen_beyond = 1'024;  // no secret is longer, but for JWTs and private keys
  const uint64_t denied = looks.denied();
  std::string_view shown = cut(text, bytes_max);
  const size_t seen = shown.size() + std::min(seen_beyond, text.size() - shown.size());
  std::vector<Secret> secrets = find_secrets(text.substr(0, seen), looks);
  std::erase_if(secrets, [shown](const Secret& each) { return each.at >= shown.size(); });
  const size_t behind = secrets.empty() ? 0 : secrets.back().at + secrets.back().size;
  const size_t end = looks.denied() != denied ? behind : std::max(behind, shown.size());
  return without_secrets(text.substr(0, end), secrets);
}

}  // namespace parley::base
