// SPDX-License-Identifier: Apache-2.0
#include "edge/secrets/screen.h"

#include <utility>

#include "base/secrets/secrets.h"
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

// A string of the text that is written anew.
struct Edit {
  std::string_view raw;  // with its quotes
  std::string with;
};

struct Finding {
  SecretKind kind;
  std::string place;  // a JSON pointer
};

// Goes through a value once, in the order of its text.
class Walk {
 public:
  Walk() { path_.reserve(16); }

  // `name` is that of the member whose value, or element of its value, it is.
  void visit(Json value, std::string_view name) {
    switch (value.kind()) {
      case JsonKind::object:
        visit_members(value);
        break;
      case JsonKind::array: {
        size_t at = 0;
        for (const Json each : value.elements()) {
          path_.push_back({.index = at++});
          visit(each, name);
          path_.pop_back();
        }
        break;
      }
      case JsonKind::string:
        visit_text(value, name);
        break;
      case JsonKind::number:
        if (value.raw().size() >= shortest_secret && base::names_password(name)) {
          add(SecretKind::password);
          edits_.push_back({value.raw(), quoted(base::redaction(SecretKind::password))});
        }
        break;
      case JsonKind::none:
      case JsonKind::null:
      case JsonKind::boolean:
        break;
    }
  }

  const std::vector<Finding>& findings() const { return findings_; }

  // The text of `value`, which was visited, without what was found.
  std::string text_of(Json value) const {
    const std::string_view raw = value.raw();
    std::string text;
    const char* at = raw.data();
    for (const Edit& edit : edits_) {
      text.append(at, edit.raw.data()).append(edit.with);
      at = edit.raw.data() + edit.raw.size();
    }
    return text.append(at, raw.data() + raw.size());
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

  void visit_members(Json object) {
    const Json::Members members = object.members();
    for (auto at = members.begin(); at != members.end(); ++at) {
      const std::string_view name = (*at).key;
      path_.push_back({.is_member = true, .name = name});
      visit_text(at.key, {});
      visit((*at).value, name);
      path_.pop_back();
    }
  }

  void visit_text(Json string, std::string_view name) {
    const std::string_view text = *string.as_string();
    if (text.size() < shortest_secret) {
      return;
    }
    const std::vector<base::Secret> found = base::find_secrets(text);
    for (const base::Secret& each : found) {
      add(each.kind);
    }
    if (!found.empty()) {
      edits_.push_back({string.raw(), quoted(base::without_secrets(text, found))});
    } else if (const SecretKind kind = base::secret_in_member(name, text);
               kind != SecretKind::count) {
      add(kind);
      edits_.push_back({string.raw(), quoted(base::redaction(kind))});
    }
  }

  void add(SecretKind kind) { findings_.push_back({kind, place()}); }

  // What is in a name must not come back in the place that it names.
  std::string place() const {
    std::string pointer;
    for (const Step& step : path_) {
      pointer.push_back('/');
      if (!step.is_member) {
        pointer.append(std::to_string(step.index));
        continue;
      }
      for (const char c : base::without_secrets(step.name)) {
        if (c == '~' || c == '/') {
          pointer.append(c == '~' ? "~0" : "~1");
        } else {
          pointer.push_back(c);
        }
      }
    }
    return std::string(base::cut(pointer, place_bytes_max));
  }

  std::vector<Step> path_;
  std::vector<Finding> findings_;
  std::vector<Edit> edits_;
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
    if (warnings.size() == warnings_max) {
      warnings.push_back(std::to_string(walk.findings().size() - warnings_max) +
                         " more that look like secrets");
      break;
    }
    warnings.push_back(described(finding).append(what));
  }
  return warnings;
}

Error refusal(const Finding& finding) {
  return Error{Code::secret_found,
               "it has what looks like a secret: " + described(finding) + "; nothing was stored",
               finding.place};
}

}  // namespace

std::expected<Screened, Error> screened(Json value, SecretsPolicy policy) {
  if (policy == SecretsPolicy::off) {
    return Screened{.value = value};
  }
  Walk walk;
  walk.visit(value, {});
  if (walk.findings().empty()) {
    return Screened{.value = value};
  }
  if (policy == SecretsPolicy::refuse) {
    return std::unexpected(refusal(walk.findings().front()));
  }
  Screened passed{.value = value, .warnings = warnings_of(walk, policy == SecretsPolicy::redact)};
  if (policy == SecretsPolicy::redact) {
    passed.document = std::make_unique<lib::JsonDocument>();
    const auto again = passed.document->parse(walk.text_of(value));
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

std::string text_without_secrets(Json value) {
  Walk walk;
  walk.visit(value, {});
  return walk.text_of(value);
}

}  // namespace parley::edge
