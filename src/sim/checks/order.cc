// SPDX-License-Identifier: Apache-2.0
// The order in which an inbox hands out, as properties: each says what must not be passed over.
// Only what waited since before the entry, untouched, counts as waiting: within an entry the order
// of the core's own moves is its own affair.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

bool Ledger::is_certain(const Step& step, const Sent& sent, const Pair& pair) const {
  const bool waits = pair.state == State::queued || pair.state == State::delayed;
  return waits && !pair.tried && pair.touched < step.entry.seq && !is_held_up(sent) &&
         std::min(sent.expires, sent.expires_before) > now_;
}

void Ledger::check_order(const Step& step, const Sent& sent, const Pair& pair) {
  if (pair.receiver == moved_) {
    return;
  }
  if (discipline_of(pair.receiver) == core::Discipline::bands) {
    check_bands(step, sent, pair);
  } else {
    check_channels(step, sent, pair);
  }
}

void Ledger::check_bands(const Step& step, const Sent& sent, const Pair& pair) {
  for (const auto& [seq, other] : sent_) {
    for (const Pair& waiting : other.pairs) {
      if (waiting.receiver != pair.receiver || &waiting == &pair ||
          waiting.state != State::queued || !is_certain(step, other, waiting)) {
        continue;
      }
      const bool passed_over =
          other.priority != sent.priority ? other.priority > sent.priority : other.seq < sent.seq;
      if (passed_over) {
        fail(Check::order, step,
             text("{} is handed out to {} before {}", sent.seq.n, pair.receiver, seq.n));
      }
    }
  }
}

void Ledger::check_channels(const Step& step, const Sent& sent, const Pair& pair) {
  struct Channel {
    Seq head;  // of those that certainly wait; zero: none does
    bool ready = false;
    bool is_held_up = false;  // by one that is delayed, before what comes next by seq
    core::Priority urgency = core::Priority::low;
  };
  using Key = std::pair<std::string_view, std::string_view>;
  const Key own{sent.topic, sent.sender};
  core::Priority urgency = sent.priority;  // at most, of its own channel
  std::map<Key, Channel> others;
  for (const auto& [seq, other] : sent_) {
    for (const Pair& waiting : other.pairs) {
      if (waiting.receiver != pair.receiver || &waiting == &pair) {
        continue;
      }
      const Key key{other.topic, other.sender};
      const bool certain = is_certain(step, other, waiting);
      if (key == own && certain && other.seq < sent.seq) {
        fail(Check::order, step,
             text("{} is handed out to {} before {} of its channel", sent.seq.n, pair.receiver,
                  seq.n));
      }
      if (key == own && !core::is_final(waiting.state) && may_be_free(step, other, waiting)) {
        urgency = std::max(urgency, other.priority);
      }
      if (key != own && certain) {
        Channel& channel = others[key];
        if (channel.head.n == 0) {  // by seq: the first is the head
          channel.head = seq;
          channel.ready = waiting.state == State::queued && !channel.is_held_up;
        }
        channel.urgency = std::max(channel.urgency, other.priority);
      }
      // One that has expired holds its channel up until the entry comes to it.
      if (key != own && waiting.state == State::delayed && !waiting.tried && !is_held_up(other)) {
        others[key].is_held_up = true;
      }
    }
  }
  if (done<core::Nack>(step) != nullptr) {
    return;  // its delay may have stopped any channel
  }
  for (const auto& [key, channel] : others) {
    const bool first =
        channel.urgency != urgency ? channel.urgency > urgency : channel.head < sent.seq;
    if (channel.ready && first) {
      fail(Check::order, step,
           text("{} is handed out to {} before the channel of {}", sent.seq.n, pair.receiver,
                channel.head.n));
    }
  }
}

// For each receiver that something could be handed out to now: the first such message. After the
// start of a node there may be expired ones at the head: time passes with the next command.
std::map<std::string, Seq> Ledger::ready(bool with_expired) const {
  std::map<std::string, Seq> ready;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (const auto& [seq, sent] : sent_) {
    for (const Pair& pair : sent.pairs) {
      if ((pair.state != State::queued && pair.state != State::delayed) || pair.tried ||
          is_paused(sent)) {
        continue;
      }
      const bool bands = discipline_of(pair.receiver) == core::Discipline::bands;
      // In a channel only the head can be handed out.
      const bool head = bands || seen.emplace(pair.receiver, sent.topic, sent.sender).second;
      if (head && pair.state == State::queued && (with_expired || sent.expires > now_)) {
        ready.emplace(pair.receiver, seq);
      }
    }
  }
  return ready;
}

void Ledger::check_idle(const Step& step) {
  const std::map<std::string, Seq> waiting = ready(false);
  for (const auto& [receiver, message] : waiting) {
    for (const auto& [id, stream] : streams_) {
      const core::StreamRef ref = step.after.tables().streams.find(id);
      if (stream.agent == receiver && ref != core::none &&
          step.after.tables().streams[ref].held < stream.window) {
        fail(Check::idle, step,
             text("message {} waits for {} beside a stream with room", message.n, receiver));
      }
    }
    if (!ready_before_.contains(receiver) && !told_mail_.contains(receiver)) {
      fail(Check::idle, step,
           text("message {} waits for {}, who was not told", message.n, receiver));
    }
  }
  ready_before_ = ready(true);
}

}  // namespace parley::sim
