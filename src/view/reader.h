// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/sqlite.h"
#include "view/facts.h"
#include "view/stored.h"
#include "view/timeline.h"

namespace parley::view {

// Asks a History's file, by a read-only connection of its own: on any thread, one at a time, beside
// the writing. What is still in the engine is answered by the machine, which is ahead of this: of
// a delivery whose lease ended the row says `offered` until the next thing happens to it.
class Reader {
 public:
  static std::expected<Reader, Error> open(const std::string& path);

  // Whose messages are looked at: what the principal sent or received from `since` on, when it was
  // registered; before that another had its name. No principal: everyone's, for an admin. An edge
  // gets its viewers of edge/gate.h.
  struct Viewer {
    WorkspaceId workspace{};
    std::optional<std::string_view> principal;
    Time since{};
  };

  // The message at a place, or the newest with an id, among those that the viewer sent or received.
  // None when there is none.
  std::expected<std::optional<StoredMessage>, Error> find(const Viewer& viewer, Seq seq);
  std::expected<std::optional<StoredMessage>, Error> find(const Viewer& viewer,
                                                          const base::MessageId& id);
  // The newest with this id in the form in which its sender wrote it.
  std::expected<std::optional<StoredMessage>, Error> find(const Viewer& viewer,
                                                          std::string_view native_id);

  // What is looked for: messages that the viewer sent or received, newest first; and of those, with
  // what is given here.
  struct Search {
    std::string_view thread;  // empty: any
    std::string_view agent;   // who sent or received it, beside the viewer; empty: anyone
    // A message on a topic is found by an agent other than the viewer only if that one sent it:
    // else a search would say who subscribes.
    bool hides_subscribers = false;
    bool sent_only = false;  // by the viewer, who must be a principal
    Time from;
    Time to = base::time_max;
    Seq before{INT64_MAX};
    size_t limit = 100;  // up to limit_max
  };
  // One page looks at `scan_max` messages at most, and ends with the one that makes it
  // `page_bytes_max`, so that no search takes long or much memory: it may hold fewer than were
  // asked for, even none, and still have a next one.
  struct Page {
    std::vector<StoredMessage> messages;
    Seq next;  // `before` of the next page; 0 when there is none
  };
  std::expected<Page, Error> search(const Viewer& viewer, const Search& search);

  // How many receivers a message has, for how many it is open (not final) or failed, when the last
  // of that came about, and where it stands with each, if there are no more than `listed_max`. How
  // it stands with others is for its sender: who only got it sees itself.
  struct Receivers {
    uint64_t count = 0;
    uint64_t open = 0;
    uint64_t failed = 0;
    Time last;
    std::vector<StoredDelivery> listed;
  };
  std::expected<Receivers, Error> receivers(const Viewer& viewer, Seq message, size_t listed_max);
  // The same, each of them, by receiver's name.
  std::expected<std::vector<StoredDelivery>, Error> deliveries(const Viewer& viewer, Seq message);
  // Oldest first; for those who may see all.
  std::expected<std::vector<StoredDeadLetter>, Error> dead_letters(Seq message);

  // What the viewer may see of a thread: of its messages only those count that it may see, and its
  // owner is known to who sees its first. None when there is nothing.
  std::expected<std::optional<StoredThread>, Error> thread(const Viewer& viewer,
                                                           std::string_view name);
  // The threads of messages with this correlation id that the viewer sent or received, newest
  // message first.
  std::expected<std::vector<StoredThread>, Error> correlated(const Viewer& viewer,
                                                             std::string_view correlation,
                                                             size_t limit);

  // The messages that go on with a trace which another began, or that one itself, as far as the
  // viewer may see them; oldest first. Of those after a place the first only, if one is given.
  // Looks at scan_max messages at most: whoever knows a trace's id can add to it.
  std::expected<std::vector<StoredMessage>, Error> of_trace(const Viewer& viewer,
                                                            const base::Id128& trace, size_t limit,
                                                            Seq after = {});

  // The last entry that is folded in.
  std::expected<Seq, Error> position();

  static constexpr size_t limit_max = 1'000;
  static constexpr size_t scan_max = 20'000;
  static constexpr size_t page_bytes_max = size_t{2} << 20;

 private:
  struct Statements {
    lib::Statement by_seq;
    lib::Statement by_id;
    lib::Statement by_native_id;
    lib::Statement in_thread;
    lib::Statement own_in_thread;
    lib::Statement sent;
    lib::Statement sent_or_received;
    lib::Statement all;
    lib::Statement deliveries;
    lib::Statement counts;
    lib::Statement letters;
    lib::Statement principal;
    lib::Statement thread;
    lib::Statement own_thread;
    lib::Statement sender;
    lib::Statement correlated;
    lib::Statement in_trace;
    lib::Statement position;

    std::expected<void, Error> prepare(lib::Database& database);
  };

  Reader() = default;

  std::expected<std::optional<StoredMessage>, Error> find(lib::Statement& statement,
                                                          const Viewer& viewer);
  std::expected<std::optional<int64_t>, Error> number_of(const Viewer& viewer);
  std::expected<bool, Error> bind(lib::Statement& statement, const Viewer& viewer);
  std::expected<std::optional<int64_t>, Error> principal(WorkspaceId workspace,
                                                         std::string_view name);
  std::expected<Page, Error> collect(lib::Statement& scan, size_t limit);

  lib::Database database_;
  Timeline timeline_;
  Statements sql_;
};

}  // namespace parley::view
