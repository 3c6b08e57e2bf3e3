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

// All secrets of a text, in its order; none overlaps another.
std::vector<Secret> find_secrets(std::string_view text);

// What the value of a member of this name is, if it looks real: `{"password": VALUE}`. `count` if
// the name says nothing, or if the value is a placeholder, a type, a word or prose.
SecretKind secret_in_member(std::string_view name, std::string_view value);
// Whether the value of a member of this name is a password, so that a number may be one too.
bool names_password(std::string_view name);

constexpr std::string_view redaction_begin = "[redacted:";
// `[redacted:KIND]`.
std::string redaction(SecretKind kind);
// The text with `[redacted:KIND]` in place of each secret.
std::string without_secrets(std::string_view text);
// The same, of secrets that were found before.
std::string without_secrets(std::string_view text, const std::vector<Secret>& secrets);

}  // namespace parley::base
