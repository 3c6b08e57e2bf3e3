// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "app/mcp/settings_text.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using base::Code;
using base::Error;
using Change = Settings::Change;

constexpr size_t depth_max = 64;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Where an item of an object or array stands in the text.
struct Item {
  std::string key;   // of a member, unescaped
  size_t begin = 0;  // of the key, or of the value in an array
  size_t value = 0;
  size_t end = 0;  // behind the value
};

struct Container {
  size_t open = 0;
  size_t close = 0;  // of the closing bracket itself
  bool ends_with_comma = false;
  std::vector<Item> items;

  // The last one of that name, which is the one that counts.
  const Item* find(std::string_view key) const {
    const auto at = std::find_if(items.rbegin(), items.rend(),
                                 [&](const Item& item) { return item.key == key; });
    return at == items.rend() ? nullptr : &*at;
  }
};

// Finds its way about in JSON with comments without reading its values.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : text_(text) {}

  // The object that the document is; only space and comments around it.
  std::optional<Container> document() {
    const size_t from = text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    auto found = container(space(from), 0);
    if (found && space(found->close + 1) != text_.size()) {
      return fail(found->close);
    }
    if (found && text_[found->open] != '{') {
      return fail(found->open, "the document is no object");
    }
    return found;
  }

  // The container that the value of `item` is, if it has that bracket.
  std::optional<Container> inside(const Item& item, char bracket, size_t depth) {
    if (text_[item.value] != bracket) {
      return fail(item.value, item.key + (bracket == '{' ? " is no object" : " is no array"));
    }
    return container(item.value, depth);
  }

  bool is_null(const Item& item) const {
    return text_.substr(item.value, item.end - item.value) == "null";
  }

  // The string that the value of `item` is; none when it is another value.
  std::optional<std::string> string_at(const Item& item) const {
    lib::JsonDocument document;
    const auto value = document.parse(text_.substr(item.value, item.end - item.value));
    const auto text = value ? value->as_string() : std::nullopt;
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }

  std::optional<Container> container(size_t at, size_t depth) {
    if (at >= text_.size() || depth > depth_max || (text_[at] != '{' && text_[at] != '[')) {
      return fail(at);
    }
    Container found{.open = at};
    const char closing = text_[at] == '{' ? '}' : ']';
    at = space(at + 1);
    while (at < text_.size() && text_[at] != closing) {
      const bool is_first = found.items.empty();
      if (!is_first && !found.ends_with_comma) {
        return fail(at);
      }
      const auto next = item(at, closing == '}', depth);
      if (!next) {
        return std::nullopt;
      }
      found.items.push_back(*next);
      at = space(next->end);
      found.ends_with_comma = at < text_.size() && text_[at] == ',';
      at = found.ends_with_comma ? space(at + 1) : at;
    }
    if (at >= text_.size()) {
      return fail(at);
    }
    found.close = at;
    return found;
  }

  // The value without the space and comments in it, to be compared.
  std::string compact(size_t begin, size_t end) {
    std::string out;
    for (size_t at = space(begin); at < end; at = space(at)) {
      const size_t next = text_[at] == '"' ? string_end(at) : at + 1;
      if ((text_[at] == '}' || text_[at] == ']') && out.ends_with(',')) {
        out.pop_back();
      }
      out.append(text_.substr(at, next - at));
      at = next;
    }
    return out;
  }

  Error error() const {
    const auto line = std::ranges::count(text_.substr(0, fault_), '\n');
    const std::string where = "line " + std::to_string(line + 1);
    return {Code::bad_request, where + (why_.empty() ? " is not JSON" : ": " + why_), {}};
  }

  // Behind space and comments; the end for a comment that does not end.
  size_t space(size_t at) const {
    while (at < text_.size()) {
      const std::string_view rest = text_.substr(at);
      if (rest.starts_with("//")) {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (rest.starts_with("/*")) {
        const size_t end = text_.find("*/", at + 2);
        at = end == text_.npos ? text_.size() : end + 2;
      } else if (std::string_view(" \t\r\n").find(text_[at]) != std::string_view::npos) {
        ++at;
      } else {
        break;
      }
    }
    return at;
  }

 private:
  std::nullopt_t fail(size_t at, std::string why = {}) {
    fault_ = std::min(at, text_.size());
    why_ = std::move(why);
    return std::nullopt;
  }

  // Behind the closing quote; the end when there is none.
  size_t string_end(size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at) {
      at += text_[at] == '\\' ? 1 : 0;
    }
    return std::min(at + 1, text_.size());
  }

  std::optional<Item> item(size_t at, bool is_member, size_t depth) {
    Item found{.begin = at};
    if (is_member) {
      const size_t end = text_[at] == '"' ? string_end(at) : at;
      lib::JsonDocument document;
      const auto key = document.parse(text_.substr(at, end - at));
      const size_t colon = space(end);
      if (!key || !key->as_string() || colon >= text_.size() || text_[colon] != ':') {
        return fail(at);
      }
      found.key = *key->as_string();
      at = space(colon + 1);
    }
    found.value = at;
    const auto end = value_end(at, depth);
    if (!end) {
      return std::nullopt;
    }
    found.end = *end;
    return found;
  }

  std::optional<size_t> value_end(size_t at, size_t depth) {
    if (at < text_.size() && (text_[at] == '{' || text_[at] == '[')) {
      const auto inner = container(at, depth + 1);
      return inner ? std::optional<size_t>(inner->close + 1) : std::nullopt;
    }
    size_t end = at;
    if (at < text_.size() && text_[at] == '"') {
      end = string_end(at);
    } else {
      end = std::min(text_.find_first_of(" \t\r\n,:/{}[]\"", at), text_.size());
    }
    lib::JsonDocument document;
    if (end <= at || !document.parse(text_.substr(at, end - at))) {
      return fail(at);
    }
    return end;
  }

  std::string_view text_;
  size_t fault_ = 0;
  std::string why_;
};

// How the document is laid out.
struct Layout {
  std::string_view line_end = "\n";
  std::string unit = "  ";
};

Layout layout_of(std::string_view text) {
  Layout layout;
  const size_t line_end = text.find('\n');
  if (line_end != text.npos && line_end > 0 && text[line_end - 1] == '\r') {
    layout.line_end = "\r\n";
  }
  for (size_t at = line_end; at != text.npos; at = text.find('\n', at + 1)) {
    const size_t first = text.find_first_not_of(" \t", at + 1);
    if (first != text.npos && first > at + 1 && text[first] == '"') {
      layout.unit = text.substr(at + 1, first - at - 1);
      break;
    }
  }
  return layout;
}

// The space that the line of `at` begins with.
std::string indent_at(std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t from = line == text.npos ? 0 : line + 1;
  const size_t first = std::min(text.find_first_not_of(" \t", from), text.size());
  return std::string(text.substr(from, first - from));
}

bool begins_its_line(std::string_view text, size_t at) {
  const size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t", at - 1);
  return before == text.npos || text[before] == '\n';
}

// JSON of ours, laid out: objects over several lines, arrays of plain values in one.
void append_pretty(std::string& out, lib::Json value, const Layout& layout,
                   const std::string& indent) {
  const bool is_array = value.kind() == lib::JsonKind::array;
  const std::string inner = indent + layout.unit;
  bool is_first = true;
  if (value.is_object()) {
    out += "{";
    for (const auto& [key, member] : value.members()) {
      out.append(is_first ? "" : ",").append(layout.line_end).append(inner);
      lib::append_json_string(out, key);
      out += ": ";
      append_pretty(out, member, layout, inner);
      is_first = false;
    }
    out.append(is_first ? "" : layout.line_end).append(is_first ? "" : indent).append("}");
  } else if (is_array) {
    out += "[";
    for (const lib::Json element : value.elements()) {
      out.append(is_first ? "" : ", ");
      append_pretty(out, element, layout, indent);
      is_first = false;
    }
    out += "]";
  } else {
    out += value.raw();
  }
}

// The document with `value` as one more item of the container, under `key` if there is one.
std::string with_item(std::string_view text, const Container& in, const std::string& key,
                      lib::Json value) {
  const Layout layout = layout_of(text);
  const std::string outer = indent_at(text, in.open);
  const bool has_lines = !in.items.empty() && begins_its_line(text, in.items.front().begin);
  const std::string indent =
      has_lines ? indent_at(text, in.items.front().begin) : outer + layout.unit;
  // A comment behind the last item stays with it.
  const size_t solid = text.find_last_not_of(" \t\r\n", in.close - 1) + 1;
  const size_t comma = in.items.empty() || in.ends_with_comma ? solid : in.items.back().end;
  std::string out(text.substr(0, comma));
  out += in.items.empty() || in.ends_with_comma ? "" : ",";
  out.append(text.substr(comma, solid - comma)).append(layout.line_end).append(indent);
  if (!key.empty()) {
    lib::append_json_string(out, key);
    out += ": ";
  }
  append_pretty(out, value, layout, indent);
  const std::string_view rest = text.substr(solid, in.close - solid);
  if (rest.find('\n') == rest.npos) {
    out.append(layout.line_end).append(outer);
  } else {
    out += rest;
  }
  return out.append(text.substr(in.close));
}

// `value` inside of objects for the keys of `path` that are not there yet.
std::string wrapped(std::span<const std::string> path, std::string_view value) {
  std::string out;
  for (const std::string& key : path) {
    out += "{";
    lib::append_json_string(out, key);
    out += ":";
  }
  return out.append(value).append(path.size(), '}');
}

// The document with `value` in place of the null that `item` has.
std::string with_value(std::string_view text, const Item& item, std::string_view value) {
  lib::JsonDocument ours;
  std::string out(text.substr(0, item.value));
  append_pretty(out, *ours.parse(value), layout_of(text), indent_at(text, item.begin));
  return out.append(text.substr(item.end));
}

// The document without an item, its comma, and the line that would be left empty.
std::string without_item(std::string_view text, const JsonText& document, const Container& in,
                         size_t index) {
  size_t begin = in.items[index].begin;
  size_t end = in.items[index].end;
  size_t comma = document.space(end);
  if (text[comma] == ',') {
    end = comma + 1;
  } else if (index > 0) {
    comma = document.space(in.items[index - 1].end);
  }
  const size_t line_end = text.find_first_not_of(" \t\r", end);
  const bool has_lines = begins_its_line(text, begin) && line_end != text.npos;
  if (has_lines && text[line_end] == '\n') {
    begin -= indent_at(text, begin).size();
    end = line_end + 1;
  }
  std::string out(text);
  out.erase(begin, end - begin);
  if (comma < begin && text[comma] == ',') {
    out.erase(comma, 1);
  }
  return out;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// A hook of ours: its command, and where it stands; in a group, where the group stands.
struct Hook {
  std::string command;
  Item value;
  Container in;
  size_t index = 0;
  std::optional<size_t> group;
};

// The hooks of an event, each an object with a command, or a group of such.
class HookList {
 public:
  using Ours = std::function<bool(std::string_view)>;

  HookList(std::string_view text, const Container& event, const Ours& ours)
      : text_(text), document_(text) {
    for (size_t i = 0; i < event.items.size(); ++i) {
      const auto object = object_at(event.items[i]);
      if (!object) {
        continue;
      }
      take(event, i, *object, ours, std::nullopt);
      const Item* hooks = object->find("hooks");
      const auto group = hooks == nullptr ? std::nullopt : document_.inside(*hooks, '[', 0);
      for (size_t j = 0; group && j < group->items.size(); ++j) {
        if (const auto inner = object_at(group->items[j])) {
          take(*group, j, *inner, ours, i);
        }
      }
    }
  }

  const std::vector<Hook>& found() const { return found_; }

  // The document without the last of them, and without its group if it was alone in it.
  std::string without_last(const Container& event) const {
    const Hook& last = found_.back();
    const bool with_group = last.group && last.in.items.size() == 1;
    return with_group ? without_item(text_, document_, event, *last.group)
                      : without_item(text_, document_, last.in, last.index);
  }

 private:
  std::optional<Container> object_at(const Item& item) {
    return text_[item.value] == '{' ? document_.container(item.value, 0) : std::nullopt;
  }

  void take(const Container& in, size_t index, const Container& object, const Ours& ours,
            std::optional<size_t> group) {
    const Item* member = object.find("command");
    const auto command = member == nullptr ? std::nullopt : document_.string_at(*member);
    if (command && ours(*command)) {
      found_.push_back({*command, *member, in, index, group});
    }
  }

  std::string_view text_;
  JsonText document_;
  std::vector<Hook> found_;
};

// The array at `path`; `is_new` when it is not there yet, or null: neither right nor wrong.
struct FoundArray {
  std::optional<Container> array;
  bool is_new = false;
};

FoundArray find_array(JsonText& document, std::span<const std::string> path) {
  auto in = document.document();
  for (size_t i = 0; in && i < path.size(); ++i) {
    const Item* found = in->find(path[i]);
    if (found == nullptr || document.is_null(*found)) {
      return {std::nullopt, true};
    }
    in = document.inside(*found, i + 1 < path.size() ? '{' : '[', i);
  }
  return {in, false};
}

}  // namespace

std::expected<Settings, Error> add_json_member(std::string_view text,
                                               std::span<const std::string> path,
                                               std::string_view value, bool replace) {
  if (is_blank(text)) {
    text = "{}\n";
  }
  JsonText document(text);
  auto in = document.document();
  for (size_t i = 0; in; ++i) {
    const Item* found = in->find(path[i]);
    const auto rest = path.subspan(i + 1);
    lib::JsonDocument ours;
    if (found == nullptr) {
      const auto parsed = ours.parse(wrapped(rest, value));
      return Settings{Change::added, with_item(text, *in, path[i], *parsed)};
    }
    if (document.is_null(*found)) {
      return Settings{Change::added, with_value(text, *found, wrapped(rest, value))};
    }
    if (!rest.empty()) {
      in = document.inside(*found, '{', i);
      continue;
    }
    if (document.compact(found->value, found->end) == value) {
      return Settings{Change::none, std::string(text)};
    }
    if (!replace) {
      return Settings{Change::refused, std::string(text)};
    }
    return Settings{Change::replaced, with_value(text, *found, value)};
  }
  return std::unexpected(document.error());
}

std::expected<Settings, Error> add_json_element(std::string_view text,
                                                std::span<const std::string> path,
                                                std::string_view value, std::string_view mark) {
  if (is_blank(text)) {
    text = "{}\n";
  }
  JsonText document(text);
  const FoundArray found = find_array(document, path);
  if (found.is_new) {
    return add_json_member(text, path, "[" + std::string(value) + "]", false);
  }
  if (!found.array) {
    return std::unexpected(document.error());
  }
  if (document.compact(found.array->open, found.array->close).find(mark) != std::string::npos) {
    return Settings{Change::none, std::string(text)};
  }
  lib::JsonDocument ours;
  return Settings{Change::added, with_item(text, *found.array, {}, *ours.parse(value))};
}

std::expected<Settings, Error> add_json_hook(std::string_view text,
                                             std::span<const std::string> path,
                                             std::string_view value, std::string_view command,
                                             const std::function<bool(std::string_view)>& ours,
                                             bool replace) {
  Settings edit{Change::none, std::string(is_blank(text) ? "{}\n" : text)};
  while (true) {
    JsonText document(edit.text);
    const FoundArray found = find_array(document, path);
    if (found.is_new) {
      return add_json_member(edit.text, path, "[" + std::string(value) + "]", false);
    }
    if (!found.array) {
      return std::unexpected(document.error());
    }
    const HookList list(edit.text, *found.array, ours);
    if (list.found().empty()) {
      lib::JsonDocument element;
      return Settings{Change::added, with_item(edit.text, *found.array, {}, *element.parse(value))};
    }
    const Hook& first = list.found().front();
    const bool is_alone = list.found().size() == 1;
    if (is_alone && first.command == command) {
      return edit;
    }
    if (!replace) {
      return Settings{Change::refused, edit.text, list.found().back().command};
    }
    edit.change = Change::replaced;
    if (!is_alone) {
      edit.text = list.without_last(*found.array);
      continue;
    }
    std::string quoted;
    lib::append_json_string(quoted, command);
    edit.text.replace(first.value.value, first.value.end - first.value.value, quoted);
    return edit;
  }
}

}  // namespace parley::app
