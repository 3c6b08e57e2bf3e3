// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <vector>

#include "edge/api/call.h"

namespace parley::edge {

// An answer that is made of records, in parts: `each` is called with each of them, which is in
// memory then, and `answer` at the end. The tables may change in between.
struct Listing {
  std::vector<base::Seq> records;
  std::function<bool(base::Seq)> each;  // false: the others are not needed
  std::function<std::expected<net::Response, Error>()> answer;
  size_t at = 0;
  bool is_over = false;
};

// Answers with it: some of the records in a turn, the rest in later ones. None is read from the
// disk by the loop.
void list(const Asker& asker, Listing listing);

}  // namespace parley::edge
