// SPDX-License-Identifier: Apache-2.0
#include "dialect/members.h"

#include <algorithm>

#include "dialect/foreign.h"
#include "dialect/iso8601.h"
#include "dialect/reading.h"
#include "dialect/tracing.h"

namespace parley::dialect {

using base::Code;
using lib::Json;

std::expected<Envelope, Error> MemberReader::finish(bool good, FieldId traceparent,
                                                    FieldId tracestate) {
  if (!good) {
    return std::unexpected(std::move(error_));
  }
  const KeptTrace kept = read_trace(given(traceparent), given(tracestate), e_);
  if (kept.parent) {
    keep(traceparent);
  }
  if (kept.state) {
    keep(tracestate);
  }
  keep_the_rest();
  return std::move(e_);
}

bool MemberReader::collect(Json object, uint8_t part) {
  const MemberTable::Part& range = table_.parts[part];
  for (const lib::JsonMember& member : object.members()) {
    // Most names differ in their size or first letter: no call to compare the rest.
    FieldId known = range.first;
    for (; known < range.end; ++known) {
      const std::string_view name = table_.fields[known].name;
      if (name.size() == member.key.size() && name[0] == member.key[0] && name == member.key) {
        break;
      }
    }
    if (known == range.end && unknown_.size() == unknown_members_max) {
      error_ = too_many_members(range.pointer);
      return false;
    }
    if (known == range.end) {
      unknown_.push_back({part, member.key, member.value});
      continue;
    }
    if (found_[known]) {
      return fail(Code::validation_failed,
                  std::string(member.key) + ": the member is there twice; leave one out",
                  table_.fields[known].pointer);
    }
    found_[known] = member.value;
  }
  return true;
}

bool MemberReader::unknown_once() {
  if (unknown_.size() < 2) {
    return true;
  }
  std::vector<std::pair<uint8_t, std::string_view>> keys;
  for (const Unknown& unknown : unknown_) {
    keys.emplace_back(unknown.part, unknown.key);
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  return twice == keys.end() ||
         fail(Code::validation_failed, "a member is there twice; leave one out",
              std::string(table_.parts[twice->first].pointer) + pointer_step(twice->second));
}

bool MemberReader::fail(Code code, std::string detail, std::string_view pointer) {
  error_ = Error{code, std::move(detail), std::string(pointer)};
  return false;
}

bool MemberReader::wrong(FieldId field, std::string_view wanted, std::string_view advice) {
  std::string detail = std::string(table_.fields[field].name) + ": wanted ";
  detail.append(wanted).append(", found ");
  detail.append(found(field) ? describe(found(field)) : "nothing");
  if (!advice.empty()) {
    detail.append("; ").append(advice);
  }
  return fail(Code::validation_failed, std::move(detail), table_.fields[field].pointer);
}

Json MemberReader::given(FieldId field) {
  const Json value = found(field);
  if (value && value.is_null()) {
    keep(field);
    return {};
  }
  return value;
}

Json MemberReader::unknown(uint8_t part, std::string_view key) const {
  const auto at = std::ranges::find_if(
      unknown_, [&](const Unknown& unknown) { return unknown.part == part && unknown.key == key; });
  return at == unknown_.end() ? Json() : at->value;
}

Json MemberReader::take_unknown(std::string_view key) {
  const auto at = std::ranges::find_if(
      unknown_, [&](const Unknown& unknown) { return unknown.part == 0 && unknown.key == key; });
  if (at == unknown_.end()) {
    return {};
  }
  const Json value = at->value;
  unknown_.erase(at);
  return value;
}

std::string_view MemberReader::take_all_unknown() {
  std::string& object = texts_.emplace_back();
  lib::JsonWriter out(object);
  out.object();
  for (const Unknown& unknown : unknown_) {
    if (unknown.part == 0) {
      out.key(unknown.key).raw(unknown.value.raw());
    }
  }
  out.end_object();
  std::erase_if(unknown_, [](const Unknown& unknown) { return unknown.part == 0; });
  return object;
}

bool MemberReader::require(FieldId field, bool may_be_filled_in, std::string_view wanted,
                           Json& value) {
  value = found(field);
  if (value && !value.is_null()) [[likely]] {
    return true;
  }
  if (may_be_filled_in && context_.lenient) {
    value = {};
    return true;
  }
  return wrong(field, wanted, "it is required");
}

bool MemberReader::read_text(FieldId field, Json value, size_t bytes_max, std::string_view& out) {
  const auto text = value.as_string();
  if (!text || text->empty() || text->size() > bytes_max) {
    return wrong(field, "a string of 1 to " + std::to_string(bytes_max) + " bytes");
  }
  out = *text;
  return true;
}

bool MemberReader::read_optional_text(FieldId field, size_t bytes_max, std::string_view& out) {
  const Json value = given(field);
  return !value || read_text(field, value, bytes_max, out);
}

bool MemberReader::read_time(FieldId field, Json value, base::Time& out) {
  const auto text = value.as_string();
  const auto time = text ? parse_time(*text) : std::nullopt;
  if (!time) {
    return wrong(field, time_wanted, "the offset is Z or +00:00, and the date must exist");
  }
  out = *time;
  return true;
}

bool MemberReader::read_created(FieldId field, Json value) {
  e_.created = context_.received;
  if (!value) {
    return true;
  }
  if (!read_time(field, value, e_.created)) {
    return false;
  }
  if (!is_canonical_time(*value.as_string())) {
    keep(field);
  }
  return true;
}

bool MemberReader::read_sender(FieldId field, Json value) {
  e_.sender = context_.sender;
  if (!value) {
    return true;
  }
  const auto name = value.as_string();
  if (!name) {
    return wrong(field, "the agent's id, a string");
  }
  return *name == context_.sender ||
         fail(Code::sender_mismatch,
              std::string(table_.fields[field].name) + ": wanted \"" +
                  std::string(context_.sender) + "\", the principal of the token, found " +
                  describe(value),
              table_.fields[field].pointer);
}

bool MemberReader::read_any_id(FieldId field, Json value, size_t bytes_max) {
  if (!value) {
    e_.id = context_.fallback_id;
    return true;
  }
  std::string_view text;
  if (!read_text(field, value, bytes_max, text)) {
    return false;
  }
  if (const auto uuid = uuid_of(text)) {
    e_.id = *uuid;
    e_.native_id = has_upper_case(text) ? text : std::string_view{};
  } else {
    const auto said = uuid_said(text);
    e_.id = said ? *said : message_id_of(context_.derive, e_.sender, text);
    e_.native_id = text;
  }
  return true;
}

void MemberReader::keep_the_rest() {
  if (kept_.none() && kept_as_.empty() && unknown_.empty()) {
    return;
  }
  std::string& extra = texts_.emplace_back();
  lib::JsonWriter out(extra);
  out.object();
  for (FieldId field = 0; field < table_.fields.size(); ++field) {
    const auto as =
        std::ranges::find(kept_as_, field, &std::pair<FieldId, std::string_view>::first);
    if (as != kept_as_.end()) {
      out.key(table_.fields[field].pointer).raw(as->second);
    } else if (kept_.test(field)) {
      out.key(table_.fields[field].pointer);
      // Written anew, so that the same text always gives the same bytes.
      const auto text = found(field).as_string();
      text ? out.text(*text) : out.raw(found(field).raw());
    }
  }
  for (uint8_t part = 0; part < table_.parts.size(); ++part) {
    for (const Unknown& unknown : unknown_) {
      if (unknown.part == part) {
        out.key(std::string(table_.parts[part].pointer) + pointer_step(unknown.key));
        out.raw(unknown.value.raw());
      }
    }
  }
  out.end_object();
  e_.extra = extra;
}

MemberWriter::MemberWriter(const MemberTable& table, Dialect own, const Envelope& envelope,
                           std::string& out)
    : e_(envelope), out_(out), table_(table), foreign_(envelope.dialect != own) {
  if (!foreign_) {
    read_extra(e_.extra);
  } else if (const auto before = sent_before(e_, own)) {
    came_back_ = true;
    read_extra(*before, foreign_key(own));
  }
}

void MemberWriter::read_extra(std::string_view extra, std::string_view left_out) {
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(extra); slices.next(slice);) {
    if (slice.key == left_out) {
      continue;
    }
    const std::string_view pointer = slice.key.substr(1, slice.key.size() - 2);
    if (!pointer.starts_with('/')) {
      return;
    }
    const auto known = std::ranges::find(table_.fields, pointer, &FieldInfo::pointer);
    if (known != table_.fields.end()) {
      kept_[static_cast<size_t>(known - table_.fields.begin())] = slice.value;
      continue;
    }
    Unknown member{0, {}, slice.value};
    std::string_view rest = slice.key.substr(1);
    for (uint8_t part = 1; part < table_.parts.size(); ++part) {
      const std::string_view prefix = table_.parts[part].pointer;
      if (rest.starts_with(prefix) && rest.substr(prefix.size()).starts_with('/')) {
        member.part = part;
        rest.remove_prefix(prefix.size());
      }
    }
    member.key = quoted_key(rest);
    unknown_.push_back(std::move(member));
  }
}

void MemberWriter::write_trace(FieldId traceparent, FieldId tracestate,
                               EncodeContext::Trace trace) {
  const WrittenTrace written = trace_for(e_, trace);
  if (written.is_own) {
    kept_[traceparent] = {};
  }
  write(traceparent, !written.parent.empty(), [&] { out_.plain(written.parent); });
  write(tracestate, !written.parent.empty() && !e_.tracestate.empty(),
        [&] { out_.text(e_.tracestate); });
}

void MemberWriter::write_unknown(uint8_t part) {
  for (const Unknown& member : unknown_) {
    if (member.part == part) {
      out_.raw_key(member.key).raw(member.value);
    }
  }
}

bool MemberWriter::has_unknown(std::string_view quoted) const {
  return std::ranges::any_of(
      unknown_, [&](const Unknown& member) { return member.part == 0 && member.key == quoted; });
}

void MemberWriter::write_foreign_text(std::string_view key, std::string_view value) {
  if (!value.empty()) {
    out_.key(key).text(value);
  }
}

void MemberWriter::write_foreign_receivers() {
  if (e_.receivers.size() > 1) {
    out_.key("receivers").array();
    for (const std::string_view receiver : e_.receivers) {
      out_.text(receiver);
    }
    out_.end_array();
  }
}

void MemberWriter::write_foreign_extra() {
  dialect::write_extra(e_.extra, came_back_ ? foreign_key(e_.dialect) : "", out_);
}

std::string_view receiver_of(const Envelope& e, const EncodeContext& context) {
  if (e.receivers.size() == 1 || (!e.receivers.empty() && context.recipient.empty())) {
    return e.receivers.front();
  }
  return context.recipient;
}

}  // namespace parley::dialect
