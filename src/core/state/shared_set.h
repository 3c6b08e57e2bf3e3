// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/state/shares.h"

namespace parley::core {

// The keys of what each owner has in one table, in their order: for tables that change seldom.
// SharedLine is for the others.
template <class Key>
class SharedSet {
 public:
  void add(std::string_view owner, const Key& key) {
    const auto at = keys_.try_emplace(std::string(owner)).first;
    if (at->second.insert(key).second) {
      shares_.add(owner);
    }
  }

  // Does nothing when it is not there.
  void remove(std::string_view owner, const Key& key) {
    const auto at = keys_.find(owner);
    if (at == keys_.end() || at->second.erase(key) == 0) {
      return;
    }
    shares_.remove(owner);
    if (at->second.empty()) {
      keys_.erase(at);
    }
  }

  // Those of an owner; nullptr when there is none.
  const std::set<Key>* all_of(std::string_view owner) const {
    const auto at = keys_.find(owner);
    return at == keys_.end() ? nullptr : &at->second;
  }
  // The first of an owner, and of one who holds most; nullptr when there is none.
  const Key* first_of(std::string_view owner) const {
    const auto at = keys_.find(owner);
    return at == keys_.end() ? nullptr : &*at->second.begin();
  }
  const Key* first_of_most() const {
    return shares_.most() == none ? nullptr : first_of(shares_.name_of(shares_.most()));
  }

  size_t of(std::string_view owner) const { return shares_.of(owner); }
  size_t size() const { return shares_.total(); }

 private:
  std::map<std::string, std::set<Key>, std::less<>> keys_;
  Shares shares_;
};

}  // namespace parley::core
