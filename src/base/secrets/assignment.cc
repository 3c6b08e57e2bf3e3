// SPDX-License-Identifier: Apache-2.0
#include "base/secrets/assignment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <string>

#include "base/text.h"

namespace parley::base {

namespace secrets {

namespace {

constexpr size_t name_max = 48;
constexpr size_t value_min = 8;
constexpr size_t value_max = 512;

// How a value is written, which says how much of code may look like one.
enum class Style : uint8_t {
  quoted,  // "value"
  tight,   // NAME=value, as in the environment, in a URL or in a connection string
  loose,   // name = value, name: value
};

// What a name says of its value.
enum class Means : uint8_t { nothing, password, secret, aws_secret, azure_key, token };

struct Ending {
  std::string_view text;
  Means means;
};

// Without `_`, `-`, `.` and in lower case. The first that fits counts.
constexpr auto endings = std::to_array<Ending>({
    {"password", Means::password},
    {"passwd", Means::password},
    {"passphrase", Means::password},
    {"pwd", Means::password},
    {"dbpass", Means::password},
    {"userpass", Means::password},
    {"smtppass", Means::password},
    {"sshpass", Means::password},
    {"mysqlpass", Means::password},
    {"secretaccesskey", Means::aws_secret},
    {"awssecretkey", Means::aws_secret},
    {"accountkey", Means::azure_key},
    {"secret", Means::secret},
    {"secretkey", Means::secret},
    {"accesskey", Means::secret},
    {"apikey", Means::secret},
    {"privatekey", Means::secret},
    {"signingkey", Means::secret},
    {"encryptionkey", Means::secret},
    {"storagekey", Means::secret},
    {"authtoken", Means::secret},
    {"accesstoken", Means::secret},
    {"refreshtoken", Means::secret},
    {"apitoken", Means::secret},
    {"bearertoken", Means::secret},
    {"bottoken", Means::secret},
    {"authorization", Means::secret},
    {"credential", Means::secret},
    {"credentials", Means::secret},
    {"pagetoken", Means::nothing},
    {"nexttoken", Means::nothing},
    {"continuationtoken", Means::nothing},
    {"synctoken", Means::nothing},
    {"cancellationtoken", Means::nothing},
    {"token", Means::token},
});

constexpr bool is_name(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }

Means meaning_of(std::string_view name) {
  if (!may_end_name(name)) {
    return Means::nothing;
  }
  std::array<char, name_max> plain{};
  size_t size = 0;
  for (const char c : name.substr(name.size() - std::min(name.size(), name_max))) {
    if (is_alnum(c)) {
      plain[size++] = to_lower(c);
    }
  }
  const std::string_view word(plain.data(), size);
  const auto* const found = std::ranges::find_if(endings, [word](const Ending& each) {
    return !word.empty() && word.back() == each.text.back() && word.ends_with(each.text);
  });
  return found == endings.end() ? Means::nothing : found->means;
}

// What a value is made of.
struct Makeup {
  size_t letters = 0;
  size_t digits = 0;
  size_t joints = 0;   // _ - . that join words
  size_t symbols = 0;  // all else
  size_t changes = 0;  // from letter to digit and back: a hint that no one made it as a word
  bool has_upper = false;

  explicit Makeup(std::string_view text) {
    char before = 0;
    for (const char c : text) {
      letters += is_letter(c) ? 1 : 0;
      digits += is_digit(c) ? 1 : 0;
      has_upper |= is_upper(c);
      if (!is_alnum(c)) {
        const bool joins = c == '_' || c == '-' || c == '.';
        joints += joins ? 1 : 0;
        symbols += joins ? 0 : 1;
      }
      changes += (is_letter(before) && is_digit(c)) || (is_digit(before) && is_letter(c)) ? 1 : 0;
      before = c;
    }
  }
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), to_lower);
  return out;
}

// Words that stand where a password would, in schemas, forms and documents.
bool is_plain_word(std::string_view word) {
  constexpr auto words = std::to_array<std::string_view>(
      {"required",    "optional",  "unknown",   "disabled",   "enabled",    "internal",
       "password",    "passwords", "username",  "identifier", "encrypted",  "function",
       "textfield",   "undefined", "anything",  "whatever",   "incorrect",  "forgotten",
       "protected",   "plaintext", "mandatory", "sensitive",  "passphrase", "credential",
       "credentials", "generated", "automatic", "security",   "verified"});
  return std::ranges::find(words, word) != words.end();
}

// A path, a pattern, or something that is looked up elsewhere.
bool is_reference(std::string_view value) {
  return value.starts_with('/') || value.starts_with("./") || value.starts_with("~/") ||
         value.starts_with('^') || contains(value, "://");
}

// `module.Type2`, `a::b`, `a->b`: a name of something in code.
bool is_code_name(std::string_view value) {
  if (contains(value, "::") || contains(value, "->") || value.starts_with(':')) {
    return true;
  }
  if (!contains(value, ".") || !std::ranges::all_of(value, is_name)) {
    return false;
  }
  char before = '.';
  for (const char c : value) {
    if (before == '.' && !is_letter(c) && c != '_') {
      return false;
    }
    before = c;
  }
  return true;
}

bool is_word_password(std::string_view name, std::string_view value, Style style) {
  const std::string plain = lower(value);
  if (is_plain_word(plain) || plain != value || style == Style::loose) {
    return false;
  }
  if (style == Style::tight) {
    return std::ranges::none_of(name, is_lower);  // DB_PASSWORD=word; not f(password=word)
  }
  constexpr auto names =
      std::to_array<std::string_view>({"password", "passwd", "pwd", "passphrase"});
  return std::ranges::find(names, lower(name)) != names.end();
}

bool looks_real(std::string_view name, Means means, std::string_view value, Style style) {
  if (value.size() < value_min || value.size() > value_max || distinct(value) < 4 ||
      contains(value, " ")) {
    return false;
  }
  const bool is_code =
      (style != Style::quoted && value.find_first_of("([{") != std::string_view::npos) ||
      (style == Style::loose && is_code_name(value));
  if (is_code || is_placeholder(value)) {
    return false;
  }
  const Makeup has(value);
  const bool is_password = means == Means::password;
  if (has.letters == 0) {
    return is_password && has.joints == 0 && has.digits > 0;
  }
  if (has.digits == 0 && has.symbols == 0) {
    return is_password && has.joints == 0 && is_word_password(name, value, style);
  }
  if (is_reference(value)) {
    return false;
  }
  // `token_v2`, `config.step1.password`: names of things have one number, if any.
  const bool looks_made = has.changes >= 2 || (has.symbols > 0 && has.digits > 0);
  if (!is_password || style == Style::loose) {
    return looks_made || (is_password && has.symbols > 0);
  }
  return looks_made || has.joints == 0 || has.symbols > 0;
}

SecretKind kind_of(std::string_view name, Means means, std::string_view value, Style style) {
  if (means == Means::aws_secret && value.size() == 40 && std::ranges::all_of(value, is_base64) &&
      distinct(value) >= 8 && !is_placeholder(value)) {
    return SecretKind::aws_secret_key;
  }
  if (means == Means::nothing || !looks_real(name, means, value, style)) {
    return SecretKind::count;
  }
  if (means == Means::azure_key && value.size() >= 44 && value.ends_with('=')) {
    return SecretKind::azure_key;
  }
  return means == Means::password ? SecretKind::password : SecretKind::secret;
}

// The name before the `=` or `:` at `at`; empty where none ends there.
std::string_view name_before(std::string_view text, size_t at) {
  const size_t end = name_end(text, at);
  if (!may_end_name(text.substr(0, end))) {
    return {};
  }
  size_t begin = end;
  while (begin > 0 && end - begin < name_max && is_name(text[begin - 1])) {
    --begin;
  }
  return text.substr(begin, end - begin);
}

// What a placeholder has in it, in lower case.
constexpr auto placeholders = std::to_array<std::string_view>(
    {"${",      "$(",        "{{",       "...",         "xxxx",       "****",     "your",
     "example", "placehold", "changeme", "change_me",   "change-me",  "redacted", "dummy",
     "sample",  "insert",    "replace",  "todo",        "undefined",  "hidden",   "masked",
     "_here",   "-here",     "foobar",   "process.env", "os.environ", "getenv",   "required",
     "config.", "self.",     "this.",    "vault:",      "secretref"});
static_assert(placeholders.size() <= 64);

// Which of these may begin a text, by its first three characters: a bit for each. At most places of
// a text it is none, so that one pass finds them all.
struct PlaceholderBegins {
  using Bits = std::array<uint64_t, 256>;
  std::array<Bits, 3> bits{};

  constexpr PlaceholderBegins() {
    for (size_t n = 0; n < placeholders.size(); ++n) {
      const uint64_t bit = uint64_t{1} << n;
      for (size_t at = 0; at < bits.size(); ++at) {
        if (at >= placeholders[n].size()) {
          for (uint64_t& any : bits[at]) {
            any |= bit;
          }
          continue;
        }
        const char c = placeholders[n][at];
        const bool is_letter = c >= 'a' && c <= 'z';
        bits[at][static_cast<uint8_t>(c)] |= bit;
        bits[at][static_cast<uint8_t>(is_letter ? c - 'a' + 'A' : c)] |= bit;
      }
    }
  }
  // Of a text of two characters or more.
  uint64_t fit(std::string_view text) const {
    const auto byte = [text](size_t at) { return static_cast<uint8_t>(text[at]); };
    const uint64_t two = bits[0][byte(0)] & bits[1][byte(1)];
    return two == 0 ? 0 : two & bits[2][text.size() > 2 ? byte(2) : 0];
  }
};
constexpr PlaceholderBegins placeholder_begins;

// Behind `Bearer ` and its like.
size_t skip_scheme(std::string_view text, size_t at) {
  for (const std::string_view scheme : {"bearer ", "basic ", "token "}) {
    if (text.size() - at > scheme.size() &&
        std::ranges::equal(text.substr(at, scheme.size()), scheme, {}, to_lower)) {
      return at + scheme.size();
    }
  }
  return at;
}

struct Value {
  size_t at = 0;
  size_t size = 0;
  Style style = Style::loose;
};

Value quoted_value(std::string_view text, size_t at) {
  const bool is_escaped = text[at] == '\\';
  at += is_escaped ? 1 : 0;
  const char quote = text[at++];
  at = skip_scheme(text, at);
  const std::string_view rest = text.substr(at, value_max + 2);
  size_t size = 0;
  while (size < rest.size() && rest[size] != quote && rest[size] != '\n') {
    size += rest[size] == '\\' && !is_escaped && size + 1 < rest.size() ? 2 : 1;
  }
  size = std::min(size, rest.size());
  size -= is_escaped && size > 0 && rest[size - 1] == '\\' ? 1 : 0;
  return {.at = at, .size = size, .style = Style::quoted};
}

constexpr CharacterSet bare_ends(" \t\r\n,;\"'`<>)]}|");

Value bare_value(std::string_view text, size_t at, Style style) {
  at = skip_scheme(text, at);
  const std::string_view rest = text.substr(at, value_max + 2);
  size_t size = 0;
  while (size < rest.size() && !bare_ends.has(rest[size]) &&
         (rest[size] != '&' || style != Style::tight)) {
    ++size;
  }
  return {.at = at, .size = size, .style = style};
}

// The value behind the `=`, `:` or `=>` at `at`.
Value value_after(std::string_view text, size_t at, bool is_tight) {
  size_t begin = at + 1;
  begin += begin < text.size() && (text[begin] == '>' || text[begin] == '=') ? 1 : 0;
  const size_t last = std::min(text.size(), begin + spaces_max);
  const size_t unspaced = begin;
  while (begin < last && is_space(text[begin])) {
    ++begin;
  }
  if (begin >= text.size()) {
    return {};
  }
  const char c = text[begin];
  const bool is_escaped =
      c == '\\' && begin + 1 < text.size() && (text[begin + 1] == '"' || text[begin + 1] == '\'');
  if (c == '"' || c == '\'' || c == '`' || is_escaped) {
    return quoted_value(text, begin);
  }
  const bool has_space = begin != unspaced;
  return bare_value(text, begin,
                    is_tight && !has_space && text[at] == '=' ? Style::tight : Style::loose);
}

}  // namespace

size_t distinct(std::string_view text) {
  std::bitset<256> seen;
  for (const char c : text.substr(0, 64)) {
    seen.set(static_cast<uint8_t>(c));
  }
  return seen.count();
}

bool is_placeholder(std::string_view text) {
  constexpr CharacterSet begins("<{[%&*");
  if (text.empty()) {
    return false;
  }
  const bool is_variable = text.size() > 1 && text[0] == '$' &&
                           std::ranges::all_of(text.substr(1), is_name) && !is_digit(text[1]);
  if (is_variable || begins.has(text[0])) {
    return true;
  }
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    for (uint64_t fit = placeholder_begins.fit(rest); fit != 0; fit &= fit - 1) {
      const std::string_view part = placeholders[static_cast<size_t>(std::countr_zero(fit))];
      if (std::ranges::equal(rest.substr(0, part.size()), part, {}, to_lower)) {
        return true;
      }
    }
  }
  return false;
}

Assignment assigned_at(std::string_view text, size_t at, Looks& looks) {
  const std::string_view name = name_before(text, at);
  // Paid for before it is known what it means: a text can be made of nothing but such names.
  if (name.empty() || !looks.take_name()) {
    return {};
  }
  const Means means = meaning_of(name);
  if (means == Means::nothing) {
    return {};
  }
  const bool is_tight = name.data() + name.size() == text.data() + at;
  const Value value = value_after(text, at, is_tight);
  // What is too short is out before it is judged.
  if (value.size >= value_min && !looks.take(value.size)) {
    return {};
  }
  return {.kind = kind_of(name, means, text.substr(value.at, value.size), value.style),
          .at = value.at,
          .size = value.size,
          .is_quoted = value.style == Style::quoted};
}

}  // namespace secrets

SecretKind secret_in_member(std::string_view name, std::string_view value, Looks& looks) {
  if (value.size() < secrets::value_min || !secrets::may_end_name(name) || !looks.take_name()) {
    return SecretKind::count;
  }
  const secrets::Means means = secrets::meaning_of(name);
  if (means == secrets::Means::nothing || !looks.take(std::min(value.size(), secrets::value_max))) {
    return SecretKind::count;
  }
  return secrets::kind_of(name, means, value.substr(secrets::skip_scheme(value, 0)),
                          secrets::Style::quoted);
}

bool names_password(std::string_view name) {
  return secrets::meaning_of(name) == secrets::Means::password;
}

}  // namespace parley::base
