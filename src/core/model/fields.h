// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/model/wire.h"

namespace parley::core {

// Over 150 lines: what is written and what is read must be seen side by side.

// Whatever is stored, a command in the journal or a row of a table in a snapshot, lists its fields
// once, in the order of its bytes:
//
//   static void fields(auto& self, auto& field) {
//     field("name", self.name);
//     field("kind", self.kind, principal_kind_last);  // an enumerator, with the last one there is
//     field("token", self.token, Form::secret);
//   }
//
// One visitor writes them and one reads them; others describe a command or look for a name in it.
// A member that is not listed is derived from the others when they are read.

// How a field is written, and what may be told of it.
enum class Form : uint8_t {
  plain,
  fixed,   // a number in all of its bytes, because it is seldom small: a hash, a node's life
  sized,   // bytes, with their number before them
  if_any,  // an id: whether there is one, and then the id
  agent,   // a text, or several: the names of principals whom the record concerns
  opaque,  // a text that only its users understand: of it no more than the size is told
  secret,  // never told
};

// Which table the slot in a field is of, or that it is none. A snapshot knows no slots: it names an
// agent, a topic or a thread by its place in the canonical order of its table.
enum class SlotOf : uint8_t {
  agent,
  agent_or_none,
  topic_or_none,
  thread_or_none,
  deadline,  // of which the snapshot keeps only whether there is one
};

template <class T>
concept FieldList = requires(T& self, int& field) { T::fields(self, field); };

template <class T>
concept Enumerator = std::is_enum_v<T>;

template <class T>
concept List = !std::same_as<T, std::string> &&
               requires(T& list, typename T::value_type item) { list.insert(list.end(), item); };

class FieldWriter {
 public:
  explicit FieldWriter(Writer& out) : out_(out) {}

  template <class T>
  void operator()(std::string_view, const T& value, Form form = Form::plain) {
    put(value, form);
  }
  template <Enumerator E>
  void operator()(std::string_view, const E& value, E) {
    out_.enumerator(value);
  }
  template <Enumerator E>
  void operator()(std::string_view, const std::optional<E>& value, E) {
    out_.u8(value ? static_cast<uint8_t>(static_cast<uint8_t>(*value) + 1) : uint8_t{0});
  }

 private:
  void put(std::string_view value, Form) { out_.text(value); }
  void put(const std::string& value, Form) { out_.text(value); }
  void put(bool value, Form) { out_.boolean(value); }
  void put(base::Seq value, Form) { out_.seq(value); }
  void put(base::Time value, Form) { out_.time(value); }
  void put(base::Duration value, Form) { out_.duration(value); }
  void put(const base::Id128& value, Form form) {
    if (form == Form::if_any) {
      out_.boolean(!value.is_none());
      if (value.is_none()) {
        return;
      }
    }
    out_.id(value);
  }
  void put(uint8_t value, Form) { out_.u8(value); }
  void put(int32_t value, Form) { out_.fixed32(static_cast<uint32_t>(value)); }
  void put(int64_t value, Form form) { put(static_cast<uint64_t>(value), form); }
  void put(uint16_t value, Form) { out_.varint(value); }
  void put(uint32_t value, Form form) {
    form == Form::fixed ? out_.fixed32(value) : out_.varint(value);
  }
  void put(uint64_t value, Form form) {
    form == Form::fixed ? out_.fixed64(value) : out_.varint(value);
  }
  template <class T, size_t size>
  void put(const std::array<T, size>& items, Form form) {
    if (form == Form::sized) {
      out_.varint(size);
    }
    for (const T& item : items) {
      put(item, Form::plain);
    }
  }
  template <class First, class Second>
  void put(const std::pair<First, Second>& value, Form form) {
    put(value.first, form);
    put(value.second, form);
  }
  template <class T>
  void put(const std::optional<T>& value, Form form) {
    out_.boolean(value.has_value());
    if (value) {
      put(*value, form);
    }
  }
  template <class... T>
  void put(const std::variant<T...>& value, Form form) {
    out_.u8(static_cast<uint8_t>(value.index()));
    std::visit([&](const auto& alternative) { put(alternative, form); }, value);
  }
  template <FieldList T>
  void put(const T& value, Form) {
    T::fields(value, *this);
  }
  // Of a map the form is that of the keys.
  template <class Key, class Value>
  void put(const std::map<Key, Value>& map, Form form) {
    out_.varint(map.size());
    for (const auto& [key, value] : map) {
      put(key, form);
      put(value, Form::plain);
    }
  }
  // A vector, a deque or a set.
  template <List L>
  void put(const L& list, Form form) {
    out_.varint(list.size());
    for (const auto& item : list) {
      put(item, form);
    }
  }

  Writer& out_;
};

// A value that does not fit its member fails the reader.
class FieldReader {
 public:
  explicit FieldReader(Reader& in) : in_(in) {}

  template <class T>
  void operator()(std::string_view, T& value, Form form = Form::plain) {
    get(value, form);
  }
  template <Enumerator E>
  void operator()(std::string_view, E& value, E last) {
    value = in_.enumerator(last);
  }
  template <Enumerator E>
  void operator()(std::string_view, std::optional<E>& value, E last) {
    const uint8_t number = in_.u8();
    if (number > static_cast<uint8_t>(last) + 1) {
      in_.fail();
    } else if (number > 0) {
      value = static_cast<E>(number - 1);
    }
  }
  // Makes the alternative with this number and reads it. Where there is none, the reader fails.
  template <size_t number = 0, class... T>
  void alternative(size_t wanted, std::variant<T...>& value, Form form = Form::plain) {
    if constexpr (number == sizeof...(T)) {
      in_.fail();
    } else if (wanted == number) {
      get(value.template emplace<number>(), form);
    } else {
      alternative<number + 1>(wanted, value, form);
    }
  }

 private:
  void get(std::string_view& value, Form) { value = in_.text(); }
  void get(std::string& value, Form) { value = in_.text(); }
  void get(bool& value, Form) { value = in_.boolean(); }
  void get(base::Seq& value, Form) { value = in_.seq(); }
  void get(base::Time& value, Form) { value = in_.time(); }
  void get(base::Duration& value, Form) { value = in_.duration(); }
  void get(base::Id128& value, Form form) {
    if (form != Form::if_any || in_.boolean()) {
      value = in_.id();
    }
  }
  void get(uint8_t& value, Form) { value = in_.u8(); }
  void get(int32_t& value, Form) { value = static_cast<int32_t>(in_.fixed32()); }
  void get(int64_t& value, Form form) {
    uint64_t bits = 0;
    get(bits, form);
    value = static_cast<int64_t>(bits);
  }
  void get(uint16_t& value, Form) { value = bounded<uint16_t>(); }
  void get(uint32_t& value, Form form) {
    value = form == Form::fixed ? in_.fixed32() : bounded<uint32_t>();
  }
  void get(uint64_t& value, Form form) {
    value = form == Form::fixed ? in_.fixed64() : in_.varint();
  }
  template <class T, size_t size>
  void get(std::array<T, size>& items, Form form) {
    if (form == Form::sized && in_.varint() != size) {
      in_.fail();
    }
    for (T& item : items) {
      get(item, Form::plain);
    }
  }
  template <class First, class Second>
  void get(std::pair<First, Second>& value, Form form) {
    get(value.first, form);
    get(value.second, form);
  }
  template <class T>
  void get(std::optional<T>& value, Form form) {
    if (in_.boolean()) {
      get(value.emplace(), form);
    }
  }
  template <class... T>
  void get(std::variant<T...>& value, Form form) {
    alternative(in_.u8(), value, form);
  }
  template <FieldList T>
  void get(T& value, Form) {
    T::fields(value, *this);
  }
  template <class Key, class Value>
  void get(std::map<Key, Value>& map, Form form) {
    for (size_t left = in_.count(); left > 0 && in_.ok(); --left) {
      Key key{};
      get(key, form);
      get(map[std::move(key)], Form::plain);
    }
  }
  // It grows while there are bytes to read, so that a few cannot ask for a huge allocation.
  template <List L>
  void get(L& list, Form form) {
    size_t left = in_.count();
    if constexpr (requires { list.reserve(left); }) {
      list.reserve(std::min(left, list_reserve_max));
    }
    for (; left > 0 && in_.ok(); --left) {
      typename L::value_type item{};
      get(item, form);
      list.insert(list.end(), std::move(item));
    }
  }

  template <std::unsigned_integral T>
  T bounded() {
    const uint64_t value = in_.varint();
    if (value > std::numeric_limits<T>::max()) {
      in_.fail();
      return 0;
    }
    return static_cast<T>(value);
  }

  static constexpr size_t list_reserve_max = 64;
  Reader& in_;
};

template <FieldList T>
void put(const T& record, Writer& out) {
  FieldWriter writer(out);
  T::fields(record, writer);
}

template <FieldList T>
void get(T& record, Reader& in) {
  FieldReader reader(in);
  T::fields(record, reader);
}

// The rows of a table: how many, and then each.
template <class Key, FieldList Row, class Less>
void put_rows(const std::map<Key, Row, Less>& table, Writer& out) {
  out.varint(table.size());
  for (const auto& [key, row] : table) {
    put(row, out);
  }
}

// Gives each row to `take`, which says whether it can be one. Where it cannot, the reader fails.
template <FieldList Row>
void get_rows(Reader& in, auto&& take) {
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    Row row;
    get(row, in);
    if (in.ok() && !take(std::move(row))) {
      in.fail();
    }
  }
}

}  // namespace parley::core
