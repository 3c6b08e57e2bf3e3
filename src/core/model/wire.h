// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

namespace parley::core {

// Over 150 lines: what is written and what is read must be seen side by side, and inlined.

// Appends values to a string in the binary form of records and snapshots: little-endian words,
// counts and lengths as base-128 varints.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void boolean(bool value) { u8(value ? 1 : 0); }
  void fixed64(uint64_t value) { raw(&value, sizeof value); }
  void fixed32(uint32_t value) { raw(&value, sizeof value); }
  void id(const base::Id128& value) { raw(value.bytes.data(), value.bytes.size()); }
  void seq(base::Seq value) { varint(value.n); }
  void time(base::Time value) { fixed64(static_cast<uint64_t>(value.us)); }
  // A negative one is written as none: Reader refuses it, and a record must be readable.
  void duration(base::Duration value) {
    varint(static_cast<uint64_t>(std::max<int64_t>(value.us, 0)));
  }
  void text(std::string_view value) {
    varint(value.size());
    out_.append(value);
  }
  template <class E>
  void enumerator(E value) {
    u8(static_cast<uint8_t>(value));
  }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<char>(value));
  }

 private:
  void raw(const void* data, size_t size) { out_.append(static_cast<const char*>(data), size); }

  std::string& out_;
};

// Reads what Writer wrote. Text is a view into the input. Past the end, or at a value that cannot
// be, it returns zeros and `ok()` stays false: check once, at the end.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  // True when all was read and nothing was wrong.
  bool done() const { return ok_ && in_.empty(); }
  size_t left() const { return in_.size(); }
  void fail() {
    ok_ = false;
    in_ = {};
  }

  uint8_t u8() { return fixed<uint8_t>(); }
  bool boolean() { return bounded<uint8_t>(1) != 0; }
  uint64_t fixed64() { return fixed<uint64_t>(); }
  uint32_t fixed32() { return fixed<uint32_t>(); }
  base::Id128 id() { return fixed<base::Id128>(); }
  base::Seq seq() { return base::Seq{varint()}; }
  base::Time time() { return base::Time{static_cast<int64_t>(fixed64())}; }

  // Never negative.
  base::Duration duration() {
    const uint64_t us = varint();
    if (us > static_cast<uint64_t>(INT64_MAX)) {
      fail();
      return {};
    }
    return base::Duration{static_cast<int64_t>(us)};
  }

  std::string_view text() {
    const uint64_t size = varint();
    if (size > in_.size()) {
      fail();
      return {};
    }
    const std::string_view value = in_.substr(0, size);
    in_.remove_prefix(size);
    return value;
  }

  // A count of things of at least `size_min` bytes each: never more than the input can hold, so
  // that a few bytes cannot ask for a huge allocation.
  size_t count(size_t size_min = 1) {
    const uint64_t value = varint();
    if (value > in_.size() / size_min) {
      fail();
      return 0;
    }
    return value;
  }

  // An enumerator from 0 to `last`.
  template <class E>
  E enumerator(E last) {
    return static_cast<E>(bounded<uint8_t>(static_cast<uint8_t>(last)));
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = u8();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        // One form per value: the tenth byte has room for one bit, and no value ends in zeros.
        if ((shift == 63 && byte > 1) || (byte == 0 && shift > 0)) {
          fail();
          return 0;
        }
        return value;
      }
    }
    fail();
    return 0;
  }

 private:
  template <class T>
  T fixed() {
    T value{};
    if (in_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, in_.data(), sizeof value);
    in_.remove_prefix(sizeof value);
    return value;
  }

  template <class T>
  T bounded(T last) {
    const T value = fixed<T>();
    if (value > last) {
      fail();
      return 0;
    }
    return value;
  }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace parley::core
