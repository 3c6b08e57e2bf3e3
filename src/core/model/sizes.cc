// SPDX-License-Identifier: Apache-2.0
// How large a message can become on its way from one dialect to another. The codecs live elsewhere,
// so this is a bound, which a test holds them to: never too small, and too large by the names of
// members that are not there.
#include "core/model/sizes.h"

#include <algorithm>
#include <charconv>

namespace parley::core {

namespace {

// A text with its quotes, as JSON.
size_t written(std::string_view text) {
  size_t bytes = text.size() + 2;
  for (const char c : text) {
    bytes += c == '"' || c == '\\' ? 1 : static_cast<unsigned char>(c) < 0x20 ? 5 : 0;
  }
  return bytes;
}

// What the names and values of the members take up that are not texts.
size_t member_bytes(const Envelope& e) {
  constexpr size_t always = 460;
  return always + (e.trace_id.is_none() ? 0 : 80) + (e.ttl.us == 0 ? 0 : 90) +
         (e.response_timeout.us == 0 ? 0 : 50) + (e.sequence_number == 0 ? 0 : 45) +
         (e.confidence_ppm < 0 ? 0 : 40) + (e.stance == Stance::unset ? 0 : 22) +
         (e.severity == Severity::unset ? 0 : 24) + (e.blocked_since.us == 0 ? 0 : 44) +
         (e.in_reply_to.is_none() ? 0 : 130);
}

// A message that comes back to a dialect can have members of its own there, in its own spelling.
size_t kept_bytes(const Envelope& e) {
  return e.extra.find("foreign") == std::string_view::npos ? 0 : e.extra.size();
}

constexpr size_t title_bytes_max = 80;
constexpr size_t escaped_max = 6;  // times as long

// What superprompt says again of the body: its first words, where nothing else says what it is
// about, and in a failure what the broker knows of that.
size_t summary_bytes(const Envelope& e) {
  constexpr size_t facts_bytes_max = 6 * 256;
  constexpr size_t error_members = 180;
  const bool has_escapes =
      e.body.substr(0, escaped_max * title_bytes_max).find('\\') != std::string_view::npos;
  const size_t title = (has_escapes ? escaped_max : 1) * title_bytes_max;
  const bool is_titled = e.body.starts_with('"') && e.subject.empty() && e.action.empty();
  size_t bytes = is_titled ? title : 0;
  if (e.status == Status::error || e.status == Status::declined) {
    bytes += error_members + escaped_max * title_bytes_max;
    bytes += e.via == Via::broker ? escaped_max * std::min(e.body.size(), facts_bytes_max) : 0;
  }
  return bytes;
}

// Each text can be there twice: as a member of the dialect, and in `foreign`.
size_t whole_bytes(const Envelope& e) {
  size_t bytes = member_bytes(e) + e.body.size();
  for (const std::string_view text :
       {e.sender, e.reply_to, e.native_id, e.question, e.type, e.thread, e.correlation, e.causation,
        e.session, e.action, e.subject, e.task, e.tracestate}) {
    bytes += text.empty() ? 0 : 2 * written(text);
  }
  for (const std::string_view receiver : e.receivers) {
    bytes += written(receiver) + 1;
  }
  return bytes + summary_bytes(e) + kept_bytes(e) + e.extra.size() + (e.extra.empty() ? 0 : 16);
}

// The number that four hexadecimal digits say; what is none says 0.
uint32_t code_unit(std::string_view digits) {
  uint32_t unit = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  return error == std::errc{} && end == digits.data() + digits.size() ? unit : 0;
}

// A text's bytes without the escapes of its JSON, and as the broker writes it into JSON again: it
// escapes only what must be.
struct TextBytes {
  size_t plain = 0;
  size_t written = 0;
  bool has_escapes = false;
};

TextBytes text_bytes(std::string_view json) {
  constexpr size_t escape = 6;  // \u0001
  TextBytes bytes{json.size(), json.size()};
  for (size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at)) {
    bytes.has_escapes = true;
    const char kind = at + 1 < json.size() ? json[at + 1] : ' ';
    const bool is_unit = kind == 'u' && at + escape <= json.size();
    const size_t length = is_unit ? escape : 2;
    const uint32_t unit = is_unit ? code_unit(json.substr(at + 2, 4)) : 0;
    const bool is_half = unit >= 0xd800 && unit < 0xe000;  // of four bytes
    const size_t plain = !is_unit || unit < 0x80 ? 1 : is_half || unit < 0x800 ? 2 : 3;
    const bool is_quoted = kind == '"' || kind == '\\' || unit == '"' || unit == '\\';
    const bool is_control = kind == 'b' || kind == 'f' || (is_unit && unit < 0x20);
    const bool is_short = is_quoted || kind == 'n' || kind == 'r' || kind == 't';
    bytes.plain -= length - plain;
    bytes.written = bytes.written - length + (is_control ? escape : is_short ? 2 : plain);
    at += length;
  }
  return bytes;
}

// Whether inbox has it as it is: as a status or an error, which need no members. What was in inbox
// before has the word that it had there.
bool is_told_as_text(const Envelope& e) {
  const bool is_news = e.kind == Kind::notification || e.kind == Kind::broadcast ||
                       e.kind == Kind::private_flag || e.kind == Kind::health_report;
  return is_news && kept_bytes(e) == 0;
}

// A content that is not one of inbox's own is written into the members of one, which name the task
// and say in words what it is. What is no text stays there as its sender wrote it.
size_t content_bytes(const Envelope& e) {
  constexpr size_t members = 100;
  constexpr size_t content_bytes_max = 1'024 * 1'024;  // that any rule allows
  constexpr size_t id_bytes = 38;
  if (e.body.size() > content_bytes_max) {
    return e.body.size();
  }
  const bool is_text = e.body.starts_with('"');
  const TextBytes text = is_text ? text_bytes(e.body) : TextBytes{};
  if (is_text && is_told_as_text(e)) {
    return text.plain;
  }
  size_t bytes = members + (is_text ? text.written : e.body.size()) + kept_bytes(e);
  bytes += std::max({written(e.task), written(e.native_id), written(e.question), id_bytes});
  const std::string_view name = !e.subject.empty()  ? e.subject
                                : !e.action.empty() ? e.action
                                                    : e.type;
  const size_t title = (text.has_escapes ? escaped_max : 1) * title_bytes_max;
  return bytes + 2 * written(name) + (is_text && e.subject.empty() && e.action.empty() ? title : 0);
}

}  // namespace

MessageSizes sizes_of(const Envelope& e) { return {whole_bytes(e), content_bytes(e)}; }

}  // namespace parley::core
