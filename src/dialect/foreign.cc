// SPDX-License-Identifier: Apache-2.0
#include "dialect/foreign.h"

#include <array>
#include <cstring>

#include "base/hash.h"
#include "dialect/iso8601.h"
#include "dialect/reading.h"
#include "dialect/words.h"

namespace parley::dialect {

namespace {

using base::Code;
using base::Error;
using lib::Json;
using lib::JsonKind;

struct TextMember {
  std::string_view key;
  std::string_view Foreign::*member;
};

constexpr auto texts = std::to_array<TextMember>({{"dialect", &Foreign::dialect},
                                                  {"type", &Foreign::type},
                                                  {"id", &Foreign::id},
                                                  {"in_reply_to", &Foreign::in_reply_to},
                                                  {"reply_to", &Foreign::reply_to},
                                                  {"thread", &Foreign::thread},
                                                  {"correlation", &Foreign::correlation},
                                                  {"causation", &Foreign::causation},
                                                  {"session", &Foreign::session},
                                                  {"action", &Foreign::action},
                                                  {"subject", &Foreign::subject},
                                                  {"task", &Foreign::task}});

// Reads the members one by one; false when `error` says why not.
class ForeignReader {
 public:
  explicit ForeignReader(std::string_view pointer) : pointer_(pointer) {}

  bool read(std::string_view key, Json value) {
    for (const TextMember& text : texts) {
      if (text.key == key) {
        return read_text(key, value, foreign.*text.member);
      }
    }
    if (key == "status") {
      return read_word(key, value, statuses, foreign.status);
    }
    if (key == "content_type") {
      return read_word(key, value, content_types, foreign.content_type);
    }
    if (key == "on_timeout") {
      return read_word(key, value, timeout_actions, foreign.on_timeout);
    }
    if (key == "priority") {
      return read_word(key, value, priorities, foreign.priority);
    }
    if (key == "ttl") {
      return read_duration(key, value, foreign.ttl);
    }
    if (key == "response_timeout") {
      return read_duration(key, value, foreign.response_timeout);
    }
    if (key == "requires_ack") {
      return read_flag(key, value, foreign.requires_ack);
    }
    if (key == "needs_approval") {
      return read_word(key, value, approval_needs, foreign.needs_approval);
    }
    if (key == "stance") {
      return read_word(key, value, stances, foreign.stance);
    }
    if (key == "severity") {
      return read_word(key, value, severities, foreign.severity);
    }
    if (key == "blocked_since") {
      return read_time(key, value, foreign.blocked_since);
    }
    if (key == "is_recoverable") {
      return read_flag(key, value, foreign.is_recoverable);
    }
    if (key == "wrapped") {
      return read_flag(key, value, foreign.wrapped);
    }
    if (key == "sequence_number") {
      const auto number = value.as_int64();
      foreign.sequence_number = number && *number > 0 ? static_cast<uint64_t>(*number) : 0;
      return (number && *number >= 0) || wrong(key, "an integer from 0 to 2^63-1", value);
    }
    if (key == "confidence") {
      return read_confidence(key, value);
    }
    if (key == "receivers") {
      return read_receivers(key, value);
    }
    return key != "extra" || value.is_object() || wrong(key, "an object", value);
  }

  Foreign foreign;
  Error error;

 private:
  bool wrong(std::string_view key, std::string_view wanted, Json found) {
    error = Error{
        Code::validation_failed,
        std::string(key).append(": wanted ").append(wanted).append(", found ") + describe(found),
        std::string(pointer_).append("/").append(key)};
    return false;
  }

  bool read_text(std::string_view key, Json value, std::string_view& out) {
    const auto text = value.as_string();
    out = text.value_or("");
    return !out.empty() || wrong(key, "a string that is not empty", value);
  }

  bool read_flag(std::string_view key, Json value, std::optional<bool>& out) {
    out = value.as_bool();
    return out || wrong(key, "true or false", value);
  }

  bool read_flag(std::string_view key, Json value, bool& out) {
    std::optional<bool> flag;
    const bool good = read_flag(key, value, flag);
    out = flag.value_or(false);
    return good;
  }

  template <class T, size_t n>
  bool read_word(std::string_view key, Json value, const std::array<Word<T>, n>& words,
                 std::optional<T>& out) {
    const auto text = value.as_string();
    const auto* word = text ? find_word(words, *text) : nullptr;
    if (word == nullptr) {
      return wrong(key, one_of(words), value);
    }
    out = word->value;
    return true;
  }

  template <class T, size_t n>
  bool read_word(std::string_view key, Json value, const std::array<Word<T>, n>& words, T& out) {
    std::optional<T> word;
    const bool good = read_word(key, value, words, word);
    out = word.value_or(out);
    return good;
  }

  bool read_time(std::string_view key, Json value, base::Time& out) {
    const auto time = parse_time(value.as_string().value_or(""));
    out = time.value_or(out);
    return time || wrong(key, time_wanted, value);
  }

  bool read_duration(std::string_view key, Json value, base::Duration& out) {
    const auto text = value.as_string();
    const auto duration = text ? parse_any_duration(*text) : std::nullopt;
    if (!duration || duration->us == 0) {
      return wrong(key, "a duration of more than zero such as \"30s\" or \"PT5M\"", value);
    }
    out = *duration;
    return true;
  }

  bool read_confidence(std::string_view key, Json value) {
    const auto number = value.as_double();
    if (!number || !(*number >= 0 && *number <= 1)) {
      return wrong(key, "a number from 0 to 1", value);
    }
    foreign.confidence_ppm = parts_per_million(value.raw(), false);
    foreign.is_more_confident = parts_per_million(value.raw(), true) > foreign.confidence_ppm;
    return true;
  }

  bool read_receivers(std::string_view key, Json value) {
    bool good = value.kind() == JsonKind::array;
    for (const Json element : value.elements()) {
      const auto name = element.as_string();
      good = good && name && !name->empty();
      if (good) {
        foreign.receivers.push_back(*name);
      }
    }
    return good || wrong(key, "an array of names", value);
  }

  std::string_view pointer_;
};

// Knows one message: the one that is answered, by the names that it has here.
class Answered final : public Lookup {
 public:
  explicit Answered(const core::Envelope& envelope) : e_(envelope) {}

  std::expected<base::MessageId, Error> find_received(
      std::string_view id, std::span<const std::string_view>) const override {
    if (!e_.in_reply_to.is_none() && (id == e_.question || base::parse_uuid(id) == e_.in_reply_to ||
                                      uuid_said(id) == e_.in_reply_to)) {
      return e_.in_reply_to;
    }
    return std::unexpected(Error{Code::not_found, "another message", {}});
  }

  std::optional<base::MessageId> find_task(std::string_view task, std::span<const std::string_view>,
                                           std::string_view) const override {
    const bool is_it = task == e_.task && !e_.in_reply_to.is_none();
    return is_it ? std::optional(e_.in_reply_to) : std::nullopt;
  }

 private:
  const core::Envelope& e_;
};

// What `foreign` says of the message as it was in the dialect `own`; none when it is of another.
struct Before {
  std::string_view extra;
  std::string_view type;
};

std::optional<Before> before_of(const core::Envelope& e, core::Dialect own) {
  std::string_view foreign;
  const std::string_view key = foreign_key(e.dialect);
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(e.extra); slices.next(slice);) {
    if (slice.key == key) {
      foreign = slice.value;
    }
  }
  std::string wanted_dialect;
  std::string wanted_id;
  lib::append_json_string(wanted_dialect, name_of(own));
  lib::append_json_string(wanted_id, id_in(own, e));
  Before before;
  bool right_dialect = false;
  bool right_id = false;
  for (lib::JsonSlices slices(foreign); slices.next(slice);) {
    right_dialect = right_dialect || (slice.key == "\"dialect\"" && slice.value == wanted_dialect);
    right_id = right_id || (slice.key == "\"id\"" && slice.value == wanted_id);
    before.extra = slice.key == "\"extra\"" ? slice.value : before.extra;
    if (slice.key == "\"type\"" && slice.value.size() > 2) {
      before.type = slice.value.substr(1, slice.value.size() - 2);
    }
  }
  return right_dialect && right_id ? std::optional(before) : std::nullopt;
}

// For comparing what two texts say: any function does that tells names apart. The first byte is not
// zero, so that no name has the id that stands for none.
base::Id128 hashed(std::string_view scope, std::string_view name) {
  const uint64_t low = base::hash64(name, base::hash64(scope));
  base::Id128 id{.bytes = {1}};
  std::memcpy(id.bytes.data() + 1, &low, sizeof low);
  return id;
}

// What a reader of the dialect makes of the envelope when it is written in it.
std::optional<core::Envelope> read_back(const Codec& codec, const core::Envelope& e,
                                        lib::JsonDocument& document, Texts& made) {
  std::string& text = made.emplace_back();
  codec.encode(e, {}, text);
  auto read = read_as(codec.dialect, text, e, document, made);
  return read ? std::optional(std::move(*read)) : std::nullopt;
}

// Whether `extra` only spells the message out: with it and without, a reader of `own` finds the
// same in every field of the envelope. A member that comes twice does not decode.
bool says_the_same(const core::Envelope& e, core::Dialect own, std::string_view extra) {
  const Codec* const codec = find_codec(own);
  if (extra.empty() || codec == nullptr) {
    return extra.empty();
  }
  core::Envelope plain = e;
  plain.dialect = own;
  plain.type = codec->type(e);
  plain.extra = {};
  // The body may be large. Where it is not read, only its kind of JSON can matter.
  if (!codec->reads_body) {
    plain.body = e.body.starts_with('"') ? "\"\"" : e.body.starts_with('{') ? "{}" : "null";
  }
  // One of several receivers is never spelled in a way of its own.
  if (plain.receivers.size() > 1) {
    plain.receivers = {"one-of-several"};
  }
  core::Envelope spelled = plain;
  Texts made;
  std::string& kept = made.emplace_back();
  lib::JsonWriter out(kept);
  out.object();
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(extra); slices.next(slice);) {
    if (slice.key != codec->foreign_key.value) {  // written anew, whatever it was
      out.raw_key(slice.key).raw(slice.value);
    }
  }
  out.end_object();
  spelled.extra = kept;
  lib::JsonDocument with;
  lib::JsonDocument without;
  auto one = read_back(*codec, spelled, with, made);
  auto other = read_back(*codec, plain, without, made);
  if (!one || !other) {
    return false;
  }
  one->extra = other->extra = {};
  // A time is written in milliseconds; a response has one place for what it answers and for this.
  constexpr int64_t millisecond = 1'000;
  one->created.us -= one->created.us % millisecond;
  other->created.us -= other->created.us % millisecond;
  if (one->correlation == e.correlation) {
    other->correlation = one->correlation;
  }
  // The sender's own words, of which the envelope has a hash, or the difference to another time.
  one->idempotency_key = other->idempotency_key;
  if (other->ttl.us == 0 && e.ttl.us != 0) {
    one->ttl = {};
  }
  return *one == *other;
}

}  // namespace

Error too_many_members(std::string_view pointer) {
  return Error{Code::validation_failed,
               "over " + std::to_string(unknown_members_max) +
                   " members are none of the dialect's; put them into the body",
               std::string(pointer)};
}

namespace {

// Of an object, itself alone; counts no further than one beyond `max`.
size_t count_members(Json value, size_t max) { return value.is_object() ? value.size(max + 1) : 0; }

}  // namespace

std::expected<Foreign, Error> read_foreign(Json value, std::string_view pointer) {
  if (!value.is_object()) {
    return std::unexpected(Error{Code::validation_failed,
                                 "foreign: wanted an object, found " + describe(value),
                                 std::string(pointer)});
  }
  // A message with as many unknown members as it may have was translated, and comes back in
  // `foreign`: with the members that the translation added to them. Those are the members of
  // `Foreign` and the known ones that were kept in `extra`, together fewer than this.
  constexpr size_t translated_max = 64;
  ForeignReader reader(pointer);
  size_t count = 0;
  for (const lib::JsonMember& member : value.members()) {
    count += 1 + count_members(member.value, unknown_members_max + translated_max);
    if (count > unknown_members_max + translated_max) {
      return std::unexpected(too_many_members(pointer));
    }
    if (!member.value.is_null() && !reader.read(member.key, member.value)) {
      return std::unexpected(std::move(reader.error));
    }
  }
  return std::move(reader.foreign);
}

int32_t confidence_of(const Foreign& foreign, core::Kind kind) {
  return foreign.confidence_ppm + (foreign.is_more_confident && core::asks(kind) ? 1 : 0);
}

void begin_foreign(const core::Envelope& e, lib::JsonWriter& out) {
  const auto text = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      out.key(key).text(value);
    }
  };
  text("dialect", name_of(e.dialect));
  text("type", e.type);
  out.key("id");
  e.native_id.empty() ? out.uuid(e.id) : out.text(e.native_id);
  text("subject", e.subject);
  text("task", e.task);
  if (e.confidence_ppm >= 0) {
    out.key("confidence").real(e.confidence_ppm / 1e6);
  }
  text("needs_approval", word_for(approval_needs, e.needs_approval));
  if (e.is_recoverable) {
    out.key("is_recoverable").boolean(true);
  }
  text("stance", word_for(stances, e.stance));
  text("severity", word_for(severities, e.severity));
  if (e.blocked_since.us != 0) {
    out.key("blocked_since").time(e.blocked_since);
  }
}

void take_dispute(const Foreign& foreign, core::Envelope& e) {
  e.stance = e.stance == core::Stance::unset ? foreign.stance : e.stance;
  e.severity = e.severity == core::Severity::unset ? foreign.severity : e.severity;
  e.blocked_since = e.blocked_since.us == 0 ? foreign.blocked_since : e.blocked_since;
}

std::string_view foreign_key(core::Dialect dialect) {
  const Codec* const codec = find_codec(dialect);
  return codec == nullptr ? std::string_view{} : codec->foreign_key.value;
}

std::optional<core::Kind> take_kind(const Foreign& foreign, core::Dialect own, core::Envelope& e) {
  for (const Codec& codec : codecs()) {
    const auto meaning = codec.dialect == own ? std::nullopt : codec.meaning(foreign.type);
    if (!meaning) {
      continue;
    }
    if (meaning->is_exact && asks(meaning->kind) == asks(e.kind) &&
        meaning->kind != core::Kind::response) {
      e.kind = meaning->kind;
    }
    return meaning->kind;
  }
  return std::nullopt;
}

bool is_id_of(std::string_view name, const base::MessageId& id, std::string_view sender,
              Derive derive) {
  return !name.empty() && (uuid_said(name) == id || message_id_of(derive, sender, name) == id);
}

std::string_view name_of_answered(const Foreign& foreign, const base::MessageId& answered,
                                  Derive derive) {
  const std::string_view name = foreign.in_reply_to;
  const bool can_be =
      !name.empty() && !answered.is_none() &&
      (uuid_said(name) == answered || message_id_of(derive, {}, name).low() == answered.low());
  return can_be ? name : std::string_view{};
}

std::expected<core::Envelope, Error> read_as(core::Dialect dialect, std::string_view text,
                                             const core::Envelope& e, lib::JsonDocument& document,
                                             Texts& made) {
  const auto message = document.parse(text);
  if (!message) {
    return std::unexpected(message.error());
  }
  const Answered answered(e);
  const DecodeContext context{.sender = e.sender,
                              .received = e.created,
                              .bytes_max = SIZE_MAX,
                              .derive = hashed,
                              .lookup = &answered};
  return codec_of(dialect).decode(*message, context, made);
}

std::optional<std::string_view> sent_before(const core::Envelope& e, core::Dialect own) {
  const std::optional<Before> before = before_of(e, own);
  const bool is_it = before && says_the_same(e, own, before->extra);
  return is_it ? std::optional(before->extra) : std::nullopt;
}

std::string_view type_before(const core::Envelope& e, core::Dialect own) {
  const std::optional<Before> before = before_of(e, own);
  return before ? before->type : std::string_view{};
}

void write_extra(std::string_view extra, std::string_view left_out, lib::JsonWriter& out) {
  if (left_out.empty()) {
    if (!extra.empty()) {
      out.key("extra").raw(extra);
    }
    return;
  }
  bool begun = false;
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(extra); slices.next(slice);) {
    if (slice.key == left_out) {
      continue;
    }
    if (!begun) {
      out.key("extra").object();
      begun = true;
    }
    out.raw_key(slice.key).raw(slice.value);
  }
  if (begun) {
    out.end_object();
  }
}

}  // namespace parley::dialect
