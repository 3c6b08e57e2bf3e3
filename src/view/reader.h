// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/entry.h"
#include "core/state.h"
#include "lib/sqlite.h"
#include "view/facts.h"

namespace parley::view {

// A message that was, whole: its record is as the journal had it.
struct StoredMessage {
  Seq seq;
  Time time;
  WorkspaceId workspace{};
  std::string record;

  // Its texts are views into `record`.
  std::expected<core::Entry, Error> entry() const {
    return core::decode_entry(seq, time, record);
  }
};

struct StoredDelivery {
  std::string receiver;
  core::State state = core::State::queued;
  Time time;
  uint32_t attempts = 0;
  std::string last_error;

  bool operator==(const StoredDelivery&) const = default;
};

struct StoredDeadLetter {
  uint64_t id = 0;
  Seq message;
  std::string receiver;
  core::Reason reason = core::Reason::receiver_not_found;
  Time failed_at;
  uint32_t retry_count = 0;
  std::string last_error;
  core::Resolution resolution = core::Resolution::pending;
  bool dropped = false;  // it had to go for another before anyone resolved it
  std::string resolved_by;
  Time resolved_at;

  bool operator==(const StoredDeadLetter&) const = default;
};

// Asks a History's file, by a read-only connection of its own: on any thread, one at a time, beside
// the writing. What is still in the engine is answered by the machine, which is ahead of this: of
// a delivery whose lease ended the row says `offered` until the next thing happens to it.
class Reader {
 public:
  static std::expected<Reader, Error> open(const std::string& path);

  // Whose messages are looked at. No principal: everyone's, for an admin.
  struct Viewer {
    WorkspaceId workspace{};
    std::optional<std::string_view> principal;
  };

  // The message at a place, or the newest with an id, among those that the viewer sent or received.
  // None when there is none.
  std::expected<std::optional<StoredMessage>, Error> find(const Viewer& viewer, Seq seq);
  std::expected<std::optional<StoredMessage>, Error> find(const Viewer& viewer,
                                                          const base::MessageId& id);

  // Messages of a thread that the viewer sent or received, oldest first.
  struct ThreadPage {
    std::string_view thread;
    Seq after;
    size_t limit = 100;
  };
  std::expected<std::vector<StoredMessage>, Error> thread(const Viewer& viewer,
                                                          const ThreadPage& page);

  // What one agent sent or received in [from, to), newest first. The cursor of the next page is
  // the last seq of this one.
  enum class Side : uint8_t { sent, received };
  struct AgentPage {
    std::string_view agent;
    Side side = Side::sent;
    Time from;
    Time to = base::time_max;
    Seq before{INT64_MAX};
    size_t limit = 100;
  };
  std::expected<std::vector<StoredMessage>, Error> agent(WorkspaceId workspace,
                                                         const AgentPage& page);

  // By receiver's name.
  std::expected<std::vector<StoredDelivery>, Error> deliveries(Seq message);
  // Oldest first.
  std::expected<std::vector<StoredDeadLetter>, Error> dead_letters(Seq message);

  // The last entry that is folded in.
  std::expected<Seq, Error> position();

  static constexpr size_t limit_max = 1'000;

 private:
  Reader() = default;

  std::expected<std::optional<StoredMessage>, Error> find(lib::Statement& statement,
                                                          const Viewer& viewer);
  std::expected<std::optional<int64_t>, Error> number_of(const Viewer& viewer);
  std::expected<std::vector<StoredMessage>, Error> messages(lib::Statement& statement,
                                                            size_t limit);
  std::expected<std::optional<int64_t>, Error> principal(WorkspaceId workspace,
                                                         std::string_view name);
  std::expected<std::pair<Seq, Seq>, Error> first_and_last();
  std::expected<Seq, Error> first_at(Time time);

  lib::Database database_;
  lib::Statement by_seq_;
  lib::Statement by_id_;
  lib::Statement by_thread_;
  lib::Statement by_sender_;
  lib::Statement by_receiver_;
  lib::Statement deliveries_;
  lib::Statement letters_;
  lib::Statement principal_;
  lib::Statement time_from_;
  lib::Statement ends_;
  lib::Statement position_;
};

}  // namespace parley::view
