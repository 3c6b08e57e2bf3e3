// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace parley::core {

// Which principals are looked at next, and when: by time and then by name, so that slots do not
// show. Who adds a name remembers its time, and names it to take it out.
class DueNames {
 public:
  void add(base::Time at, std::string_view name) { names_.emplace(at, name); }
  void remove(base::Time at, std::string_view name) { names_.erase({at, std::string(name)}); }
  void clear() { names_.clear(); }

  // time_max when there is none.
  base::Time next() const { return names_.empty() ? base::time_max : names_.begin()->first; }
  // Takes the first out; there must be one.
  std::string take() { return std::move(names_.extract(names_.begin()).value().second); }

  const std::set<std::pair<base::Time, std::string>>& all() const { return names_; }

 private:
  std::set<std::pair<base::Time, std::string>> names_;
};

}  // namespace parley::core
