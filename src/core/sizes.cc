// SPDX-License-Identifier: Apache-2.0
// How large a message can become on its way from one dialect to another. The codecs live elsewhere,
// so this is a bound, which a test holds them to: never too small, and too large by the names of
// members that are not there.
#include "core/sizes.h"

#include <algorithm>

#include "core/refusal.h"

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
         (e.confidence_ppm < 0 ? 0 : 40) + (e.in_reply_to.is_none() ? 0 : 130);
}

// A message that comes back to a dialect can have members of its own there, in its own spelling.
size_t kept_bytes(const Envelope& e) {
  return e.extra.find("foreign") == std::string_view::npos ? 0 : e.extra.size();
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
  return bytes + kept_bytes(e) + e.extra.size() + (e.extra.empty() ? 0 : 16);
}

// A content that is not one of inbox's own is written into the members of one, which name the task
// and say in words what it is.
size_t content_bytes(const Envelope& e) {
  constexpr size_t members = 100;
  constexpr size_t content_bytes_max = 1'024 * 1'024;  // that any rule allows
  constexpr size_t title_bytes_max = 80;
  constexpr size_t id_bytes = 38;
  if (e.body.size() > content_bytes_max) {
    return e.body.size();
  }
  size_t bytes = members + e.body.size() + kept_bytes(e);
  bool has_escapes = false;
  for (size_t at = e.body.find('\\'); at < e.body.size(); at = e.body.find('\\', at + 2)) {
    has_escapes = true;
    const char next = at + 1 < e.body.size() ? e.body[at + 1] : ' ';
    bytes += next == 'b' || next == 'f' ? 4 : 0;  // which are written as \u0008 and \u000c
  }
  bytes += std::max({written(e.task), written(e.native_id), written(e.question), id_bytes});
  const std::string_view name = !e.subject.empty()  ? e.subject
                                : !e.action.empty() ? e.action
                                                    : e.type;
  const size_t title = (has_escapes ? 6 : 1) * title_bytes_max;
  const bool is_text = e.body.starts_with('"');
  return bytes + 2 * written(name) +
         (is_text && e.subject.empty() && e.action.empty() ? title : 0);
}

}  // namespace

MessageSizes sizes_of(const Envelope& e) { return {whole_bytes(e), content_bytes(e)}; }

std::string size_fault(const Rules& rules, const Agent& receiver, Dialect sent_in,
                       const MessageSizes& sizes) {
  if (receiver.kind != PrincipalKind::agent || receiver.dialect == sent_in) {
    return {};
  }
  if (receiver.dialect == Dialect::inbox && sizes.content >= rules.inbox_content_bytes) {
    return "its content has up to " + std::to_string(sizes.content) + " bytes in inbox; " +
           quoted(receiver.name) + " speaks inbox and takes fewer than " +
           std::to_string(rules.inbox_content_bytes) +
           " (inbox.content_bytes); summarize it, or name a file that has the rest";
  }
  if (receiver.dialect == Dialect::collab && sizes.whole > rules.collab_message_bytes_max) {
    return "the message has up to " + std::to_string(sizes.whole) + " bytes in collab; " +
           quoted(receiver.name) + " speaks collab and takes at most " +
           std::to_string(rules.collab_message_bytes_max) + " (collab.message_bytes_max)";
  }
  return {};
}

std::string size_fault(const Rules& rules, const Agent& receiver, const Message& message) {
  return message.is_own ? std::string()
                        : size_fault(rules, receiver, message.dialect,
                                     {message.whole_bytes, message.content_bytes});
}

}  // namespace parley::core
