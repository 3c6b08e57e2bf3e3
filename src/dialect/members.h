// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/dialect.h"
#include "dialect/words.h"
#include "lib/json_writer.h"

namespace parley::dialect {

// Over 150 lines: the two halves of what every codec does with the members of a message.

// The members that a dialect knows, in the order in which they are written. A field is named by its
// place in that list. What stands in the message itself is of part 0; the members of an object in
// it, where the dialect looks into that, are of a part of their own and stand side by side.
using FieldId = uint8_t;

struct FieldInfo {
  std::string_view pointer;  // as a JSON pointer
  std::string_view quoted;   // the name as it is written
  std::string_view name = quoted.substr(1, quoted.size() - 2);
};

constexpr size_t fields_max = 24;  // of one dialect; a reader has room for so many

struct MemberTable {
  struct Part {
    std::string_view pointer;
    FieldId first;
    FieldId end;
  };

  // Does not compile for a dialect that has more than `fields_max`.
  template <size_t field_count, size_t part_count>
  consteval MemberTable(const std::array<FieldInfo, field_count>& known,
                        const std::array<Part, part_count>& parts_of_it)
      : fields(known), parts(parts_of_it) {
    static_assert(field_count <= fields_max);
  }

  std::span<const FieldInfo> fields;
  std::span<const Part> parts;
};

// One message on its way in. A decoder is one of these with a table of its own. Each step returns
// false when it has set the error. What the envelope has no field for, or what an encoder would
// spell in another way, is kept and comes back as it was: see Envelope::extra.
class MemberReader {
 protected:
  MemberReader(const MemberTable& table, const DecodeContext& context, Texts& texts)
      : context_(context), texts_(texts), table_(table) {}

  // What became of it, with the trace and all that is kept. `good`: no step has failed.
  std::expected<Envelope, Error> finish(bool good, FieldId traceparent, FieldId tracestate);

  // Files the members of an object; one that is known must not be there twice. Then, for all parts,
  // the same of those that are not known.
  bool collect(lib::Json object, uint8_t part = 0);
  bool unknown_once();

  bool fail(base::Code code, std::string detail, std::string_view pointer);
  // What was wanted there, what was found, and what to do.
  bool wrong(FieldId field, std::string_view wanted, std::string_view advice = {});

  lib::Json found(FieldId field) const { return found_[field]; }
  // The member where it says something; null is remembered and counts as left out.
  lib::Json given(FieldId field);
  // A member that the dialect does not know; no value when it is not there.
  lib::Json unknown(uint8_t part, std::string_view key) const;
  // Takes such a member of the message itself, or all of them as one object, out of what is kept:
  // they are the message's body.
  lib::Json take_unknown(std::string_view key);
  std::string_view take_all_unknown();
  // Remembers that `field` must come back as it was written; or as `raw`.
  void keep(FieldId field) { kept_.set(field); }
  void keep_as(FieldId field, std::string_view raw) { kept_as_.emplace_back(field, raw); }
  // True when a required member is there. Where it may be filled in, and in lenient mode, it may be
  // missing: then `value` is no value.
  bool require(FieldId field, bool may_be_filled_in, std::string_view wanted, lib::Json& value);

  bool read_text(FieldId field, lib::Json value, size_t bytes_max, std::string_view& out);
  bool read_optional_text(FieldId field, size_t bytes_max, std::string_view& out);
  bool read_time(FieldId field, lib::Json value, base::Time& out);
  // The sender is the one who is authenticated, and may say so itself.
  bool read_sender(FieldId field, lib::Json value);
  // Any text; one that is a UUID of version 4 stands for itself. Without a value: the context's.
  bool read_any_id(FieldId field, lib::Json value, size_t bytes_max);
  // When it was made; without a value: when it was received.
  bool read_created(FieldId field, lib::Json value);
  template <class T, size_t n>
  bool read_word(FieldId field, lib::Json value, const std::array<Word<T>, n>& words, T& out) {
    if (!value) {
      return true;
    }
    const auto text = value.as_string();
    const auto* word = text ? find_word(words, *text) : nullptr;
    if (word == nullptr) {
      return wrong(field, one_of(words));
    }
    out = word->value;
    return true;
  }

  const DecodeContext& context_;
  Texts& texts_;
  Envelope e_;
  Error error_;

 private:
  struct Unknown {
    uint8_t part;
    std::string_view key;
    lib::Json value;
  };

  void keep_the_rest();

  const MemberTable& table_;
  std::array<lib::Json, fields_max> found_{};
  std::bitset<fields_max> kept_;
  std::vector<std::pair<FieldId, std::string_view>> kept_as_;
  std::vector<Unknown> unknown_;
};

// One message on its way out. An encoder is one of these with a table of its own.
class MemberWriter {
 protected:
  MemberWriter(const MemberTable& table, Dialect own, const Envelope& envelope, std::string& out);

  // Writes the member as it came where that was kept, else by `value` if it is `wanted`.
  template <class Value>
  void write(FieldId field, bool wanted, Value value) {
    if (!kept_[field].empty()) {
      out_.raw_key(table_.fields[field].quoted).raw(kept_[field]);
    } else if (wanted) {
      out_.raw_key(table_.fields[field].quoted);
      value();
    }
  }
  void write_key(FieldId field) { out_.raw_key(table_.fields[field].quoted); }
  void write_id(std::string_view native, const base::MessageId& id) {
    native.empty() ? out_.uuid(id) : out_.text(native);
  }
  void write_trace(FieldId traceparent, FieldId tracestate, EncodeContext::Trace trace);
  // Those of a part that the dialect does not know, in the order in which they came.
  void write_unknown(uint8_t part = 0);
  // Whether there is one of this name in the message itself, or any. `quoted`: as it is written.
  bool has_unknown(std::string_view quoted) const;
  bool has_unknown() const { return !unknown_.empty(); }
  // A member of `foreign`, where there is something to say; and what only its own dialect reads.
  void write_foreign_text(std::string_view key, std::string_view value);
  void write_foreign_receivers();
  void write_foreign_extra();

  std::string_view kept(FieldId field) const { return kept_[field]; }
  // It was sent in another dialect; in this one before it was sent in that.
  bool is_foreign() const { return foreign_; }
  bool came_back() const { return came_back_; }

  const Envelope& e_;
  lib::JsonWriter out_;

 private:
  struct Unknown {
    uint8_t part;
    std::string key;  // in quotes
    std::string_view value;
  };

  void read_extra(std::string_view extra, std::string_view left_out = {});

  const MemberTable& table_;
  bool foreign_;
  bool came_back_ = false;
  std::array<std::string_view, fields_max> kept_{};
  std::vector<Unknown> unknown_;
};

// Who is named where the dialect names one receiver: the only one, or for whom it is written.
std::string_view receiver_of(const Envelope& envelope, const EncodeContext& context);

}  // namespace parley::dialect
