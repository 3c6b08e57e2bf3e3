// SPDX-License-Identifier: Apache-2.0
#include "edge/secrets/screen.h"

#include <utility>

#include "base/text.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using base::SecretKind;
using core::SecretsPolicy;
using lib::Json;
using lib::JsonKind;

constexpr size_t shortest_secret = 8;
constexpr size_t warnings_max = 8;
constexpr size_t place_bytes_max = 256;
constexpr size_t longest_value = 1'024;  // a secret by the name of its member is no longer
constexpr std::string_view too_many =
    "there are too many places that look like secrets to judge them all";

// A string of the text that is written anew.
struct Edit {
  std::string_view raw;  // with its quotes
  std::string with;
};

struct Finding {
  SecretKind kind;
  std::string place;  // a JSON pointer
};

// Goes through a value once, in the order of its text: as far as the looks go, and no further than
// what stands in the first `bytes_max` bytes.
class Walk {
 public:
  Walk(Json value, base::Looks& looks, size_t bytes_max = SIZE_MAX)
      : value_(value), looks_(looks), denied_(looks.denied()), bytes_max_(bytes_max) {
    path_.reserve(16);
    visit(value, {});
  }

  // The first ones, as many as are named.
  const std::vector<Finding>& findings() const { return findings_; }
  // How many there are in all.
  size_t found() const { return found_; }
  // Whether there were looks for all that looks like a secret.
  bool is_whole() const { return looks_.denied() == denied_; }

  // The text of the value without what was found, as far as it was looked at.
  std::string text() const {
    const std::string_view raw = value_.raw();
    std::string text;
    const char* at = raw.data();
    for (const Edit& edit : edits_) {
      text.append(at, edit.raw.data()).append(edit.with);
      at = edit.raw.data() + edit.raw.size();
    }
    return text.append(at, end_ != nullptr ? end_ : raw.data() + raw.size());
  }

 private:
  struct Step {
    bool is_member = false;
    std::string_view name{};
    size_t index = 0;
  };

  static std::string quoted(std::string_view text) {
    std::string json;
    lib::append_json_string(json, text);
    return json;
  }

  // `name` is that of the member whose value, or element of its value, it is.
  void visit(Json value, std::string_view name) {
    switch (value.kind()) {
      case JsonKind::object:
        visit_members(value);
        break;
      case JsonKind::array:
        visit_elements(value, name);
        break;
      case JsonKind::string:
        visit_text(value, name);
        break;
      case JsonKind::number:
        visit_number(value.raw(), name);
        break;
      case JsonKind::none:
      case JsonKind::null:
      case JsonKind::boolean:
        break;
    }
  }

  void visit_members(Json object) {
    const Json::Members members = object.members();
    for (auto at = members.begin(); at != members.end() && end_ == nullptr; ++at) {
      const std::string_view name = (*at).key;
      path_.push_back({.is_member = true, .name = name});
      visit_text(at.key, {});
      if (end_ == nullptr) {
        visit((*at).value, name);
      }
      path_.pop_back();
    }
  }

  void visit_elements(Json array, std::string_view name) {
    const Json::Elements elements = array.elements();
    size_t index = 0;
    for (auto at = elements.begin(); at != elements.end() && end_ == nullptr; ++at) {
      path_.push_back({.index = index++});
      visit(*at, name);
      path_.pop_back();
    }
  }

  void visit_number(std::string_view raw, std::string_view name) {
    if (raw.size() < shortest_secret || !base::names_password(name)) {
      return;
    }
    if (looks_.take(raw.size())) {
      add(SecretKind::password);
      edit(raw, base::redaction(SecretKind::password));
    } else {
      end_ = raw.data();
    }
  }

  void visit_text(Json string, std::string_view name) {
    const std::string_view text = *string.as_string();
    if (text.size() < shortest_secret || (bytes_max_ != SIZE_MAX && ends_in(string, text))) {
      return;
    }
    const std::vector<base::Secret> found = base::find_secrets(text, looks_);
    const SecretKind kind =
        found.empty() ? base::secret_in_member(name, text, looks_) : SecretKind::count;
    for (const base::Secret& each : found) {
      add(each.kind);
    }
    if (!is_whole()) {
      end_ = string.raw().data();
    } else if (!found.empty()) {
      edit(string.raw(), base::without_secrets(text, found));
    } else if (kind != SecretKind::count) {
      add(kind);
      edit(string.raw(), base::redaction(kind));
    }
  }

  // Whether what is to be shown ends before this string, or so early in it that all of it need not
  // be looked at.
  bool ends_in(Json string, std::string_view text) {
    const std::string_view raw = string.raw();
    const size_t before = static_cast<size_t>(raw.data() - value_.raw().data() + grown_);
    if (before >= bytes_max_) {
      end_ = raw.data();
      return true;
    }
    const size_t room = bytes_max_ - before;
    if (text.size() <= room + longest_value) {
      return false;
    }
    edit(raw, base::without_secrets(text, room, looks_));
    end_ = raw.data() + raw.size();
    return true;
  }

  void edit(std::string_view raw, std::string_view with) {
    edits_.push_back({raw, quoted(with)});
    grown_ +=
        static_cast<ptrdiff_t>(edits_.back().with.size()) - static_cast<ptrdiff_t>(raw.size());
  }

  void add(SecretKind kind) {
    if (++found_ <= warnings_max) {
      findings_.push_back({kind, place()});
    }
  }

  // What is in a name must not come back in the place that it names. No more of the names is looked
  // at than what is shown of them.
  std::string place() const {
    base::Looks looks;
    std::string pointer;
    for (const Step& step : path_) {
      if (pointer.size() > place_bytes_max) {
        break;
      }
      pointer.push_back('/');
      if (!step.is_member) {
        pointer.append(std::to_string(step.index));
        continue;
      }
      for (const char c : base::without_secrets(step.name, place_bytes_max, looks)) {
        if (c == '~' || c == '/') {
          pointer.append(c == '~' ? "~0" : "~1");
        } else {
          pointer.push_back(c);
        }
      }
    }
    return std::string(base::cut(pointer, place_bytes_max));
  }

  Json value_;
  base::Looks& looks_;
  uint64_t denied_;  // before it
  size_t bytes_max_;
  std::vector<Step> path_;
  std::vector<Finding> findings_;
  size_t found_ = 0;
  std::vector<Edit> edits_;
  ptrdiff_t grown_ = 0;        // by the edits
  const char* end_ = nullptr;  // of what was looked at; null: all of it
};

std::string described(const Finding& finding) {
  const std::string kind(base::secret_kind_name(finding.kind));
  return finding.place.empty() ? kind : kind + " at " + finding.place;
}

std::vector<std::string> warnings_of(const Walk& walk, bool is_redacted) {
  const std::string_view what = is_redacted
                                    ? " was replaced before the message was stored"
                                    : " looks like a secret, and is stored and delivered as it is";
  std::vector<std::string> warnings;
  for (const Finding& finding : walk.findings()) {
    warnings.push_back(described(finding).append(what));
  }
  if (walk.found() > warnings.size()) {
    warnings.push_back(std::to_string(walk.found() - warnings.size()) +
                       " more that look like secrets");
  }
  if (!walk.is_whole()) {
    warnings.push_back(std::string(too_many) + "; what comes behind those was not looked at");
  }
  return warnings;
}

Error refusal(const Finding& finding) {
  return Error{Code::secret_found,
               "it has what looks like a secret: " + described(finding) + "; nothing was stored",
               finding.place};
}

}  // namespace

std::expected<Screened, Error> screened(Json value, SecretsPolicy policy, base::Looks& looks) {
  if (policy == SecretsPolicy::off) {
    return Screened{.value = value};
  }
  const Walk walk(value, looks);
  if (walk.findings().empty() && walk.is_whole()) {
    return Screened{.value = value};
  }
  if (policy == SecretsPolicy::refuse && !walk.findings().empty()) {
    return std::unexpected(refusal(walk.findings().front()));
  }
  if (policy != SecretsPolicy::warn && !walk.is_whole()) {
    return std::unexpected(
        Error{Code::secret_found,
              std::string(too_many) + "; nothing was stored; send it in smaller parts",
              {}});
  }
  Screened passed{.value = value, .warnings = warnings_of(walk, policy == SecretsPolicy::redact)};
  if (policy == SecretsPolicy::redact) {
    passed.document = std::make_unique<lib::JsonDocument>();
    const auto again = passed.document->parse(walk.text());
    if (!again) {
      return std::unexpected(again.error());
    }
    passed.value = *again;
  }
  return passed;
}

std::expected<void, Error> screen_name(std::string_view name, SecretsPolicy policy) {
  if (policy == SecretsPolicy::off || policy == SecretsPolicy::warn) {
    return {};
  }
  const std::vector<base::Secret> found = base::find_secrets(name);
  if (found.empty()) {
    return {};
  }
  return std::unexpected(refusal({.kind = found.front().kind, .place = {}}));
}

std::expected<void, Error> screen_names(const core::Envelope& envelope) {
  using Name = std::pair<std::string_view, std::string_view>;
  for (const auto& [what, name] :
       {Name{"id", envelope.native_id}, Name{"thread", envelope.thread},
        Name{"correlation", envelope.correlation}, Name{"causation", envelope.causation},
        Name{"session", envelope.session}, Name{"task", envelope.task}}) {
    if (name.find(base::redaction_begin) != name.npos) {
      return std::unexpected(Error{Code::secret_found,
                                   "its " + std::string(what) +
                                       " has what looks like a secret, and a name cannot be "
                                       "written in another way; nothing was stored",
                                   {}});
    }
  }
  return {};
}

std::string text_without_secrets(Json value, size_t bytes_max, base::Looks& looks) {
  return Walk(value, looks, bytes_max).text();
}

}  // namespace parley::edge
