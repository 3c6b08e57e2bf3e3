// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/humans/approval.h"
#include "core/state/cases.h"

namespace parley::core {

// The approvals of a workspace, by id, and which is due next: for a reminder or for its end.
class Approvals {
 public:
  // Gives it its id, and returns that. Beyond `max` a decided one goes.
  uint64_t add(Approval approval, uint64_t max);
  // How a pending one ended. It is decided once.
  struct End {
    ApprovalState state;
    std::string_view by;
    std::string_view comment{};
    Seq decision{};
    Time at;
    uint64_t untold = 0;
  };
  void end(uint64_t id, const End& how);
  // One more is to be told of the change, or one is told. With the last it is over.
  void add_untold(uint64_t id);
  void told_one(uint64_t id);
  // Of those in which someone is still to be told.
  const std::set<uint64_t>& untold() const { return untold_; }
  void approve(uint64_t id, std::string_view by);  // one more of those that are needed
  void drop_vote(uint64_t id, std::string_view of);
  // The principal is removed: its vote counts no more, and who is registered under its name later
  // was not named.
  void lose(uint64_t id, std::string_view name);
  void remind_again(uint64_t id, Time at);

  // What people decided about a message waits in the inbox of one who is to get it; until that was
  // handed out, the message is kept from this one (core/humans/held.h).
  struct Decided {
    Seq message;
    std::string receiver;
    static void fields(auto& self, auto& field) {
      field("message", self.message);
      field("receiver", self.receiver);
    }
    bool operator==(const Decided&) const = default;
  };
  // By the place of the message that says so.
  const std::map<Seq, Decided>& unread() const { return unread_; }
  void add_unread(Seq notice, Decided decided);
  void remove_unread(Seq notice);
  // The place of the one for this receiver; none: 0.
  Seq find_unread(Seq message, std::string_view receiver) const;

  const Approval* find(uint64_t id) const { return cases_.find(id); }
  // That of a message that waits, or waited; nullptr when there is none.
  const Approval* find_held(Seq message) const;
  // The newest that the asker gave this id; nullptr when there is none.
  const Approval* find_sent(std::string_view asker, const base::MessageId& message) const;
  const std::map<uint64_t, Approval>& all() const { return cases_.all(); }
  size_t open() const { return cases_.open(); }
  size_t open_of(std::string_view asker) const { return cases_.open_of(asker); }
  // Those that the asker waits for.
  std::vector<uint64_t> open_ids_of(std::string_view asker) const;
  // The open ones that the name was named for, or has approved; by when they are due.
  std::vector<uint64_t> open_ids_with(std::string_view name) const;

  // time_max when there is none.
  Time next_due() const { return due_.empty() ? base::time_max : due_.begin()->first; }
  uint64_t first_due() const { return due_.begin()->second; }

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  using Name = std::pair<std::string, base::MessageId>;
  void forget(const Approval& old);

  Cases<Approval> cases_;  // by asker
  std::map<Name, uint64_t> by_message_;
  std::map<Seq, uint64_t> by_held_;
  std::map<Seq, Decided> unread_;
  std::map<std::pair<Seq, std::string>, Seq> unread_by_;  // message and receiver
  std::set<uint64_t> untold_;                // ids
  std::set<std::pair<Time, uint64_t>> due_;  // of pending ones, by `remind_at`
};

}  // namespace parley::core
