// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "lib/json.h"

namespace parley::edge {

// Reads the members of a JSON object and remembers the first that is wrong, so that a handler reads
// all that it wants and asks once. A member that is left out gives what stands for it, and null
// leaves one out. The texts are good as long as the document.
class Members {
 public:
  // `place` is where the object is in the body: a JSON pointer that ends in a slash.
  explicit Members(lib::Json object, std::string_view place = "/")
      : object_(object), place_(place) {}

  // The member as it is, null too.
  lib::Json find(std::string_view key) const { return object_.find(key); }

  std::string_view text(std::string_view key, std::string_view fallback = {});
  // One that must be there and must not be empty; `wanted` says what it is, where it is not.
  std::string_view needed_text(std::string_view key, std::string_view wanted);
  // What a report says: what it said `before` where that is left out, nothing where it is null.
  std::string_view said(std::string_view key, std::string_view before);
  // An array of strings; none where it is left out.
  std::vector<std::string_view> texts(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  // A whole number. Here null is wrong: a client that lost the number must not be taken for one
  // that has none.
  std::optional<uint64_t> number(std::string_view key, std::string_view wanted);
  // Zero where it is left out.
  base::Duration duration(std::string_view key);
  // A number of tokens that an agent reports; zero where it reports none.
  uint64_t tokens(std::string_view key);

  // For what the caller finds wrong itself: the first that is blamed counts.
  void blame(std::string_view key, std::string detail);
  void blame(const base::Error& error);

  // Nothing while all is well.
  const std::optional<base::Error>& error() const { return error_; }

 private:
  // No value where the member is null.
  lib::Json given(std::string_view key) const;

  lib::Json object_;
  std::string_view place_;
  std::optional<base::Error> error_;
};

// `all, any or none`.
std::string in_words(std::span<const std::string_view> words);

// A member that is none of these, as an error that names the nearest: a typing error would change
// what is done.
std::optional<base::Error> unknown_member(lib::Json object,
                                          std::span<const std::string_view> known);

}  // namespace parley::edge
