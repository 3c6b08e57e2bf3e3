// SPDX-License-Identifier: Apache-2.0
#include "edge/marks.h"

#include <cstdint>

#include "edge/api/call.h"

namespace parley::edge {

using base::Code;
using base::Error;
using lib::Json;

std::string mark_text(const core::ResumeMark& mark) {
  return std::to_string(mark.stream) + "-" + std::to_string(mark.number);
}

std::optional<core::ResumeMark> parse_mark(std::string_view text) {
  const size_t dash = text.find('-');
  const auto stream = parse_number(text.substr(0, dash));
  const auto number =
      dash == std::string_view::npos ? std::nullopt : parse_number(text.substr(dash + 1));
  if (!stream || !number || *stream == 0 || *stream > UINT32_MAX || *number > UINT32_MAX) {
    return std::nullopt;
  }
  return core::ResumeMark{static_cast<uint32_t>(*stream), static_cast<uint32_t>(*number)};
}

namespace {

// Who names a message means the one time that it was pushed here.
std::expected<core::ResumeMark, Error> mark_of_message(const core::Tables& t,
                                                       core::AgentRef receiver,
                                                       const StreamPlace& place, base::Seq seq) {
  const core::MessageRef message = t.messages.find(seq);
  const core::DeliveryRef ref =
      message == core::none ? core::none : t.messages.delivery_to(message, receiver);
  const core::StreamRef stream = t.streams.find(place.stream);
  const bool is_held =
      ref != core::none && stream != core::none && t.messages.delivery(ref).stream == stream;
  const core::ResumeMark held = is_held ? t.messages.delivery(ref).mark : core::ResumeMark{};
  if (!held.is_none() && held.number == 0) {
    return std::unexpected(Error{Code::not_delivered,
                                 "the message came on an earlier connection, and what came there "
                                 "has one place here: acknowledge it by its id, or all of that "
                                 "with the mark " +
                                     mark_text(held),
                                 "/upto"});
  }
  if (is_held && t.messages.delivery(ref).may_be_known) {
    // Who means the first of two has not seen what was pushed between them.
    return std::unexpected(Error{Code::not_delivered,
                                 "the message was handed out before, here or elsewhere, and its "
                                 "seq does not say which push you mean: name the mark of that, "
                                 "or acknowledge the message by its id",
                                 "/upto"});
  }
  if (place.pushed.covers(held)) {
    return held;
  }
  return std::unexpected(Error{Code::not_delivered,
                               "this stream does not hold the message: it is settled, was given "
                               "back, or has not been pushed here yet; name the mark of one that "
                               "was",
                               "/upto"});
}

}  // namespace

std::expected<core::ResumeMark, Error> mark_upto(const core::Tables& tables,
                                                 core::AgentRef receiver, const StreamPlace& place,
                                                 Json upto) {
  if (const auto seq = upto.as_uint64()) {
    return mark_of_message(tables, receiver, place, base::Seq{*seq});
  }
  const auto text = upto.as_string();
  const auto mark = text ? parse_mark(*text) : std::nullopt;
  if (!mark) {
    return std::unexpected(Error{Code::bad_request,
                                 "upto is a mark of this stream, such as \"12-5\", or the seq of a "
                                 "message that it holds",
                                 "/upto"});
  }
  if (place.pushed.covers(*mark)) {
    return *mark;
  }
  if (*mark == place.after) {  // all that it had when it came back
    return core::ResumeMark{place.pushed.stream, 0};
  }
  return std::unexpected(
      Error{Code::not_delivered,
            "this stream has pushed nothing with the mark " + mark_text(*mark) +
                "; acknowledge by id, or with a mark that came on this connection",
            "/upto"});
}

}  // namespace parley::edge
