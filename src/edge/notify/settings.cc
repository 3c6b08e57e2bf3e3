// SPDX-License-Identifier: Apache-2.0
#include "edge/notify/settings.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/nearest.h"
#include "base/text.h"

namespace parley::edge::notify {

namespace {

using base::Code;
using base::Error;

constexpr std::string_view table = "notify";
constexpr size_t rows_max = 100;
constexpr size_t text_bytes_max = 2'048;
constexpr std::array<std::string_view, 6> keys = {"url",     "form",  "secret",
                                                  "chat_id", "which", "for"};

struct Place {
  size_t row = 0;
  std::string_view key;  // empty: of the row itself
};

// `notify[2].url`
std::optional<Place> place_of(std::string_view name) {
  if (!name.starts_with(table) || !name.substr(table.size()).starts_with('[')) {
    return std::nullopt;
  }
  std::string_view rest = name.substr(table.size() + 1);
  const size_t end = std::min(rest.find(']'), rest.size());
  const auto row = base::parse_number(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (!row || !(rest.empty() || rest.starts_with('.'))) {
    return std::nullopt;
  }
  return Place{*row, rest.substr(rest.empty() ? 0 : 1)};
}

// These return what the value must be; empty when it is that.
std::string set_form(Target& target, std::string_view text) {
  const std::map<std::string_view, Form> forms = {
      {"json", Form::json}, {"slack", Form::slack}, {"telegram", Form::telegram}};
  const auto found = forms.find(text);
  if (found == forms.end()) {
    return "json, slack or telegram";
  }
  target.form = found->second;
  return {};
}

// A list that TOML had as an array, or as one word.
std::string set_which(Target& target, std::string_view text) {
  target.escalations = target.approvals = target.only_p0 = false;
  bool is_good = !text.empty();
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    target.escalations = target.escalations || word == "escalations";
    target.approvals = target.approvals || word == "approvals";
    target.only_p0 = target.only_p0 || word == "p0";
    is_good = is_good && (word == "escalations" || word == "approvals" || word == "p0");
  }
  if (!target.escalations && !target.approvals) {
    target.escalations = target.approvals = true;  // `p0` alone: what is critical of both
  }
  return is_good ? "" : "some of escalations, approvals, p0";
}

std::string set(Target& target, std::string_view key, std::string_view value) {
  if (value.empty() || value.size() > text_bytes_max) {
    return "a text of 1 to " + std::to_string(text_bytes_max) + " bytes";
  }
  if (key == "url") {
    target.url = value;
    const bool is_web = value.starts_with("https://") || value.starts_with("http://");
    return is_web ? "" : "a URL of http or https";
  }
  if (key == "form") {
    return set_form(target, value);
  }
  if (key == "which") {
    return set_which(target, value);
  }
  (key == "secret" ? target.secret : key == "chat_id" ? target.chat_id : target.for_whom) = value;
  return {};
}

Error bad_value(std::string detail) { return {Code::bad_rule_value, std::move(detail), {}}; }

// What a whole row lacks, or has in vain.
std::string fault_of(const Target& target) {
  if (target.url.empty()) {
    return "[[notify]] needs the key \"url\"";
  }
  if ((target.form == Form::telegram) == target.chat_id.empty()) {
    return target.chat_id.empty() ? "[[notify]] of the form telegram needs the key \"chat_id\""
                                  : "chat_id is for the form telegram alone";
  }
  if (target.form != Form::json && !target.secret.empty()) {
    return "secret is for the form json alone: nobody looks for a signature elsewhere";
  }
  return {};
}

}  // namespace

bool is_of_table(std::string_view name) { return place_of(name).has_value(); }

std::expected<std::vector<Target>, SettingFault> read_targets(
    std::span<const lib::TomlEntry> entries) {
  std::vector<Target> targets;
  std::vector<int> lines;
  for (const lib::TomlEntry& entry : entries) {
    const auto place = place_of(entry.name);
    if (!place) {
      continue;
    }
    if (place->row >= rows_max) {
      return std::unexpected(SettingFault{
          entry.line,
          bad_value("there are at most " + std::to_string(rows_max) + " of [[notify]]")});
    }
    if (place->row >= targets.size()) {
      targets.resize(place->row + 1);
      lines.resize(place->row + 1, entry.line);
    }
    if (place->key.empty()) {
      continue;
    }
    const std::string key(base::cut(place->key, 64));
    if (std::ranges::find(keys, key) == keys.end()) {
      return std::unexpected(SettingFault{
          entry.line, Error{Code::unknown_rule,
                            "[[notify]] has no key \"" + key + "\"; the nearest is \"" +
                                std::string(base::nearest(key, keys)) + "\"",
                            {}}});
    }
    // The value is not shown: it may be a secret.
    if (const std::string wanted = set(targets[place->row], key, entry.value); !wanted.empty()) {
      return std::unexpected(SettingFault{entry.line, bad_value(key + " takes " + wanted)});
    }
  }
  for (size_t n = 0; n < targets.size(); ++n) {
    if (const std::string fault = fault_of(targets[n]); !fault.empty()) {
      return std::unexpected(SettingFault{lines[n], bad_value(fault)});
    }
  }
  return targets;
}

}  // namespace parley::edge::notify
