// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Finds what looks like a password, a key or a token in a text. Pure. One pass looks for the few
// characters that a secret cannot do without (`_` in ghp_, `-` in sk-, `=` in password=, ...), and
// only there are the detectors asked. Work is linear in the size of the text, whatever it says.
namespace parley::base {

// The names are public: they stand in `[redacted:NAME]`, in warnings and in docs.
enum class SecretKind : uint8_t {
  aws_access_key,
  aws_secret_key,
  azure_key,
  google_key,
  github_token,
  gitlab_token,
  slack_token,
  slack_webhook,
  stripe_key,
  api_key,  // sk-... of OpenAI, Anthropic and those that write theirs alike
  npm_token,
  pypi_token,
  huggingface_token,
  parley_token,
  jwt,
  private_key,
  password,
  secret,  // the value of something that is called secret, token or key
  url_password,
  count,  // not a kind: how many there are
};

std::string_view secret_kind_name(SecretKind kind);

// A part of a text: `size` bytes from `at` on.
struct Secret {
  SecretKind kind{};
  size_t at = 0;
  size_t size = 0;

  bool operator==(const Secret&) const = default;
};

// How much may be judged of what looks like secrets. To judge a value takes time even where it is
// none, and a body can be made of such values: so a request has so many units for all that it says.
class Looks {
 public:
  static constexpr uint64_t units_max = 20'000;

  explicit Looks(uint64_t units = units_max) : left_(units), names_left_(units * names_per_unit) {}

  // Pays for a look at a value. False from the first one on that is too dear: none is judged then.
  bool take(size_t value_size) { return pay(left_, 1 + value_size / 32); }
  // Pays for a look at a name that may mean a secret, whatever it is the name of.
  bool take_name() { return pay(names_left_, 1); }
  // How many values were not judged. What is looked at while this grows is not known to have none.
  uint64_t denied() const { return denied_; }

 private:
  static constexpr uint64_t names_per_unit = 8;

  bool pay(uint64_t& left, uint64_t price) {
    const bool is_there = price <= left;
    left = is_there ? left - price : 0;
    denied_ += is_there ? 0 : 1;
    return is_there;
  }

  uint64_t left_;
  uint64_t names_left_;
  uint64_t denied_ = 0;
};

// All secrets of a text, in its order; none overlaps another. Ends where the looks do.
std::vector<Secret> find_secrets(std::string_view text, Looks& looks);
// For texts that have a limit of their own: with looks for all that they can have.
std::vector<Secret> find_secrets(std::string_view text);

// What the value of a member of this name is, if it looks real: `{"password": VALUE}`. `count` if
// the name says nothing, if the value is a placeholder, a type, a word or prose, or if there are no
// looks for it.
SecretKind secret_in_member(std::string_view name, std::string_view value, Looks& looks);
// Whether the value of a member of this name is a password, so that a number may be one too.
bool names_password(std::string_view name);

constexpr std::string_view redaction_begin = "[redacted:";
// `[redacted:KIND]`.
std::string redaction(SecretKind kind);
// The text with `[redacted:KIND]` in place of each secret.
std::string without_secrets(std::string_view text);
// The same, of secrets that were found before.
std::string without_secrets(std::string_view text, const std::vector<Secret>& secrets);
// The same, of the first `bytes_max` bytes; a secret that begins in them is replaced as a whole.
// Looks a little further than that and no more, and ends where the looks do.
std::string without_secrets(std::string_view text, size_t bytes_max, Looks& looks);

}  // namespace parley::base
