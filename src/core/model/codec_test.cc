// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <concepts>
#include <deque>

#include "core/machine/testing.h"
#include "core/model/command.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::id_of;

// Fills the fields of a command, by its own list. Each gets a value of its own, so that two of them
// cannot change places unseen.
class Sample {
 public:
  template <class T>
  void operator()(std::string_view, T& value, Form = Form::plain) {
    fill(value);
  }
  template <Enumerator E>
  void operator()(std::string_view, E& value, E last) {
    value = last;
  }
  template <Enumerator E>
  void operator()(std::string_view, std::optional<E>& value, E last) {
    value = last;
  }

 private:
  void fill(std::string_view& value) { value = text(); }
  void fill(bool& value) { value = true; }
  void fill(Seq& value) { value = Seq{++filled_ << 40}; }
  void fill(Time& value) { value = Time{-1'234'567 - static_cast<int64_t>(++filled_)}; }
  void fill(Duration& value) { value = base::seconds(static_cast<int64_t>(++filled_)); }
  void fill(Id128& value) { value = id_of(text()); }
  template <std::integral I>
  void fill(I& value) {
    value = static_cast<I>(~++filled_);
  }
  template <class T, size_t size>
  void fill(std::array<T, size>& items) {
    for (T& item : items) {
      fill(item);
    }
  }
  template <class First, class Second>
  void fill(std::pair<First, Second>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <FieldList T>
  void fill(T& value) {
    T::fields(value, *this);
  }
  template <List L>
  void fill(L& list) {
    for (int n = 0; n < 2; ++n) {
      typename L::value_type item{};
      fill(item);
      list.insert(list.end(), std::move(item));
    }
  }
  // Commands have views. One text has a zero in it.
  std::string_view text() {
    static std::deque<std::string> texts;
    return texts.emplace_back(std::string("te\0xt ", 6) + std::to_string(++filled_));
  }

  uint64_t filled_ = 0;
};

template <FieldList T>
T sample_of() {
  T value{};
  Sample sample;
  T::fields(value, sample);
  return value;
}

template <class... Each>
std::vector<Command> samples_of(std::type_identity<std::variant<Each...>>) {
  return {sample_of<Each>()...};
}

std::vector<Command> every_command() { return samples_of(std::type_identity<Command>{}); }

Entry entry_with(Command command) {
  return Entry{Seq{9},  Time{1'000},       {0xabcdef, 300}, static_cast<WorkspaceId>(70'000),
               "actor", std::move(command)};
}

std::string encoded(const Entry& entry) {
  std::string bytes;
  encode(entry, bytes);
  return bytes;
}

// Stands for a member of any type. An optional is made of what it holds.
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
struct AnyMember {
  template <class T>
    requires(!is_optional<T>)
  operator T() const;
};

template <class T, class... Before>
consteval size_t members_of() {
  if constexpr (requires { T{Before{}..., AnyMember{}}; }) {
    return members_of<T, Before..., AnyMember>();
  } else {
    return sizeof...(Before);
  }
}

template <FieldList T>
size_t fields_of() {
  size_t fields = 0;
  const auto count = [&fields](std::string_view, const auto&...) { ++fields; };
  const T value{};
  T::fields(value, count);
  return fields;
}

template <class... Each>
void expect_all_listed(std::type_identity<std::variant<Each...>>) {
  ([] { EXPECT_EQ(fields_of<Each>(), members_of<Each>()) << Each::verb; }(), ...);
}

// The samples below have what is listed, so a member that is not would be lost unseen.
TEST(Codec, EveryMemberOfACommandIsInItsList) {
  expect_all_listed(std::type_identity<Command>{});
  EXPECT_EQ(fields_of<Envelope>(), members_of<Envelope>());
}

TEST(Codec, EveryCommandComesBackAsItWas) {
  for (const Command& command : every_command()) {
    const Entry entry = entry_with(command);
    const std::string bytes = encoded(entry);
    const auto decoded = decode_entry(entry.seq, entry.time, bytes);
    ASSERT_TRUE(decoded.has_value()) << command.index();
    EXPECT_EQ(*decoded, entry) << command.index();
  }
}

TEST(Codec, EnvelopeComesBackFieldByField) {
  const Envelope full = sample_of<Envelope>();
  for (const Envelope& envelope : {full, Envelope{}}) {
    std::string bytes;
    Writer out(bytes);
    put(envelope, out);
    Reader in(bytes);
    Envelope read;
    get(read, in);
    EXPECT_EQ(read, envelope);
    EXPECT_TRUE(in.done());
  }
}

TEST(Codec, EveryTruncationIsRefused) {
  for (const Command& command : every_command()) {
    const std::string bytes = encoded(entry_with(command));
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto decoded = decode_entry(Seq{9}, Time{}, std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(decoded.has_value()) << "tag " << command.index() << ", " << size << " bytes";
      EXPECT_EQ(decoded.error().code, base::Code::malformed_record);
    }
  }
}

TEST(Codec, TrailingBytesAreRefused) {
  for (const Command& command : every_command()) {
    const std::string bytes = encoded(entry_with(command)) + '\0';
    EXPECT_FALSE(decode_entry(Seq{9}, Time{}, bytes).has_value()) << command.index();
  }
}

TEST(Codec, UnknownTagIsRefusedAndNamed) {
  for (const size_t tag : {std::variant_size_v<Command>, size_t{255}}) {
    std::string bytes = encoded(entry_with(Tick{}));
    bytes[0] = static_cast<char>(tag);
    const auto decoded = decode_entry(Seq{9}, Time{}, bytes);
    ASSERT_FALSE(decoded.has_value());
    EXPECT_NE(decoded.error().detail.find("tag " + std::to_string(tag)), std::string::npos);
    EXPECT_NE(decoded.error().detail.find("record 9"), std::string::npos);
  }
}

// What decodes at all has one form only: so a record says exactly what it says.
TEST(Codec, FlippedBytesAreRefusedOrMeanSomethingElse) {
  for (const Command& command : every_command()) {
    const Entry entry = entry_with(command);
    const std::string bytes = encoded(entry);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        const auto decoded = decode_entry(entry.seq, entry.time, flipped);
        if (decoded) {
          EXPECT_NE(*decoded, entry) << "tag " << command.index() << ", byte " << at;
          EXPECT_EQ(encoded(*decoded), flipped) << "tag " << command.index() << ", byte " << at;
        }
      }
    }
  }
}

TEST(Codec, WorkspaceBeyondItsRangeIsRefused) {
  std::string bytes;
  Writer out(bytes);
  out.u8(0);
  out.fixed64(1);
  out.varint(1);
  out.varint(uint64_t{1} << 32);
  out.text("");
  EXPECT_FALSE(decode_entry(Seq{1}, Time{}, bytes).has_value());
}

TEST(Codec, HugeCountsAskForNoMemory) {
  std::string bytes;
  Writer out(bytes);
  out.u8(3);  // SetRules
  out.fixed64(1);
  out.varint(1);
  out.varint(0);
  out.text("");
  out.varint(uint64_t{1} << 60);
  EXPECT_FALSE(decode_entry(Seq{1}, Time{}, bytes).has_value());
}

}  // namespace
}  // namespace parley::core
