// SPDX-License-Identifier: Apache-2.0
#include "app/text/describe.h"

#include <optional>
#include <vector>

#include "app/text/terminal.h"
#include "core/conversation/sessions.h"
#include "core/model/words.h"
#include "dialect/dialect.h"

namespace parley::app {

namespace {

using namespace core;

// A name in quotes; one that holds control bytes must not rewrite the reader's terminal.
std::string quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped.push_back('\\');
    }
    escaped.push_back(c);
  }
  return "\"" + printable(escaped) + "\"";
}

std::string_view word_of(Dialect value) { return dialect::name_of(value); }
std::string_view word_of(SessionAct value) { return session_act_name(value); }
std::string_view word_of(Strategy value) { return strategy_words[value]; }
std::string_view word_of(OnPartial value) { return on_partial_words[value]; }
std::string_view word_of(OnUnavailable value) { return on_unavailable_words[value]; }
std::string_view word_of(Resolution value) {
  static constexpr Words<resolution_last> words("pending", "retry", "discard", "escalate");
  return words[value];
}

std::string text_of(std::string_view value) { return quoted(value); }
std::string text_of(bool value) { return value ? "yes" : "no"; }
std::string text_of(Seq value) { return "#" + std::to_string(value.n); }
std::string text_of(Time value) { return base::format_time(value); }
std::string text_of(Duration value) { return base::format_duration(value); }
std::string text_of(const Id128& value) { return base::format_uuid(value); }
std::string text_of(std::integral auto value) { return std::to_string(value); }
std::string text_of(const Target& value) {
  return value.seq.n != 0 ? text_of(value.seq) : text_of(value.id);
}
std::string text_of(const StreamId& value) { return std::to_string(value.number); }
std::string text_of(const ResumeMark& value) {
  return std::to_string(value.stream) + "-" + std::to_string(value.number);
}
std::string text_of(const Gathering& value) {
  return std::string(word_of(value.strategy)) +
         (value.strategy == Strategy::quorum ? "(" + std::to_string(value.quorum) + ")" : "") +
         ", " + base::format_duration(value.window) + ", " + std::string(word_of(value.on_partial));
}
std::string text_of(const std::pair<std::string_view, std::string_view>& value) {
  return std::string(value.first) + ":" + quoted(value.second);
}
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : std::string("none");
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    text += (text.empty() ? "" : ",") + text_of(value);
  }
  return text;
}

// The bytes of each field, by which one that says nothing is known.
class FieldBytes {
 public:
  void operator()(std::string_view name, const auto& value, auto... form) {
    Writer out(fields.emplace_back());
    FieldWriter writer(out);
    writer(name, value, form...);
  }
  void operator()(std::string_view, const Envelope& envelope) { Envelope::fields(envelope, *this); }

  std::vector<std::string> fields;
};

template <class Record>
std::vector<std::string> bytes_of(const Record& record) {
  FieldBytes bytes;
  Record::fields(record, bytes);
  return std::move(bytes.fields);
}

std::string_view word_of(ApprovalDecision decision) {
  switch (decision) {
    case ApprovalDecision::approve:
      return "approve";
    case ApprovalDecision::reject:
      return "reject";
    case ApprovalDecision::modify:
      return "modify";
    case ApprovalDecision::withdraw:
      return "withdraw";
  }
  return "unknown";
}

// Writes the fields whose bytes are other than those of a record in which nothing is said.
class FieldTexts {
 public:
  FieldTexts(std::vector<std::string> bytes, std::vector<std::string> usual)
      : bytes_(std::move(bytes)), usual_(std::move(usual)) {}

  void operator()(std::string_view name, const auto& value, Form form = Form::plain) {
    if (form == Form::secret) {
      add(name, "(not shown)");
    } else if (form == Form::opaque) {
      if constexpr (std::convertible_to<decltype(value), std::string_view>) {
        add(name, std::to_string(value.size()) + " bytes");
      }
    } else if constexpr (requires { text_of(value); }) {
      add(name, text_of(value));
    }
  }
  template <Enumerator E>
  void operator()(std::string_view name, const E& value, E) {
    add(name, word_of(value));
  }
  template <Enumerator E>
  void operator()(std::string_view name, const std::optional<E>& value, E) {
    add(name, value ? word_of(*value) : "none");
  }
  void operator()(std::string_view, const Envelope& envelope) { Envelope::fields(envelope, *this); }

  std::string text;

 private:
  void add(std::string_view name, std::string_view value) {
    if (bytes_[at_] != usual_[at_]) {
      text += " " + std::string(name) + "=" + std::string(value);
    }
    ++at_;
  }

  std::vector<std::string> bytes_;
  std::vector<std::string> usual_;
  size_t at_ = 0;
};

// Looks for a name among those that a record's fields hold.
class FieldNames {
 public:
  explicit FieldNames(std::string_view name) : name_(name) {}

  void operator()(std::string_view, const auto&, auto...) {}
  void operator()(std::string_view, const std::string_view& value, Form form) {
    found = found || (form == Form::agent && value == name_);
  }
  void operator()(std::string_view, const std::vector<std::string_view>& values, Form form) {
    found = found || (form == Form::agent && std::ranges::find(values, name_) != values.end());
  }
  void operator()(std::string_view, const Envelope& envelope) { Envelope::fields(envelope, *this); }

  bool found = false;

 private:
  std::string_view name_;
};

std::string command_text(const auto& command) {
  using Record = std::remove_cvref_t<decltype(command)>;
  FieldTexts texts(bytes_of(command), bytes_of(Record{}));
  Record::fields(command, texts);
  return std::string(Record::verb) + texts.text;
}

}  // namespace

std::string describe(const Entry& entry) {
  const std::string actor = entry.actor == broker_name ? "broker" : quoted(entry.actor);
  const auto workspace = static_cast<uint32_t>(entry.workspace);
  return "#" + std::to_string(entry.seq.n) + " " + base::format_time(entry.time) + " " +
         (workspace == 0 ? "" : "workspace " + std::to_string(workspace) + " ") + actor + " " +
         std::visit([](const auto& command) { return command_text(command); }, entry.command);
}

bool concerns(const Entry& entry, std::string_view name) {
  if (entry.actor == name) {
    return true;
  }
  FieldNames names(name);
  std::visit(
      [&](const auto& command) { std::remove_cvref_t<decltype(command)>::fields(command, names); },
      entry.command);
  return names.found;
}

}  // namespace parley::app
