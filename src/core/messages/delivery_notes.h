// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/messages/message.h"

namespace parley::core {

// What is to be said of few deliveries, so that the record of each need not have room for it. Part
// of Messages, which forgets it with the delivery.
class DeliveryNotes {
 public:
  using Texts = std::map<DeliveryRef, std::string>;

  // Why it was given back, refused or withdrawn last; nullptr: it was not.
  const std::string* last_error(DeliveryRef ref) const { return find(last_errors_, ref); }
  void set_last_error(DeliveryRef ref, std::string error) { last_errors_[ref] = std::move(error); }
  void clear_last_error(DeliveryRef ref) { last_errors_.erase(ref); }

  // Whose place its receiver took; nullptr: it was not redirected.
  const std::string* redirected_from(DeliveryRef ref) const { return find(redirected_, ref); }
  void set_redirected_from(DeliveryRef ref, std::string who) { redirected_[ref] = std::move(who); }
  const Texts& redirected() const { return redirected_; }

  void remove(DeliveryRef ref) {
    last_errors_.erase(ref);
    redirected_.erase(ref);
  }

 private:
  static const std::string* find(const Texts& texts, DeliveryRef ref) {
    const auto at = texts.find(ref);
    return at == texts.end() ? nullptr : &at->second;
  }

  Texts last_errors_;
  Texts redirected_;
};

}  // namespace parley::core
