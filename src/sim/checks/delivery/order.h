// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Checks the order in which an inbox hands out, as properties: each says what must not be passed
// over. Only what waited since before the entry, untouched, counts as waiting, because the order of
// the core's moves within an entry is its own affair. Also checks that nothing waits without need.
class OrderChecks {
 public:
  explicit OrderChecks(Model& model) : model_(model) {}

  void begin() { notified_.clear(); }
  // The receiver is told that it has mail.
  void on_mail(const NamedEffect& effect) { notified_.insert(effect.receiver); }
  // The delivery is handed out.
  void check(const Step& step, const SentMessage& sent, const Delivery& delivery);
  // Nothing waits beside a stream with room, or without a word to its receiver.
  void check_idle(const Step& step);
  // For each receiver to which something could be handed out now: the first such message.
  std::map<std::string, Seq> ready(bool with_expired) const;

 private:
  void check_bands(const Step& step, const SentMessage& sent, const Delivery& delivery);
  void check_channels(const Step& step, const SentMessage& sent, const Delivery& delivery);
  bool is_kept(const Step& step, const SentMessage& sent, const Delivery& delivery) const;
  bool is_certain(const Step& step, const SentMessage& sent, const Delivery& delivery) const;

  Model& model_;
  std::map<std::string, Seq> ready_before_;  // After the entry before.
  std::set<std::string> notified_;           // With the entry at hand.
};

}  // namespace parley::sim
