// SPDX-License-Identifier: Apache-2.0
#include "view/reader.h"

#include <algorithm>
#include <utility>

#include "view/history.h"

namespace parley::view {

namespace {

using lib::Database;
using lib::Statement;

constexpr int64_t everyone = -1;  // no principal has this number

// Whether the principal ?2 sent or received the message m; everyone (-1) did.
const std::string visible =
    "(?2=-1 OR m.sender=?2 OR EXISTS (SELECT 1 FROM deliveries d "
    "WHERE d.message=m.seq AND d.receiver=?2))";
const std::string columns = "SELECT m.seq, m.time, m.workspace, m.record FROM ";

int64_t number(Seq seq) { return static_cast<int64_t>(std::min<uint64_t>(seq.n, INT64_MAX)); }
int64_t number(WorkspaceId workspace) { return static_cast<int64_t>(workspace); }
int64_t number(size_t limit) {
  return static_cast<int64_t>(std::clamp<size_t>(limit, 1, Reader::limit_max));
}

std::unexpected<Error> failed(const lib::DatabaseError& error) {
  return std::unexpected(error.as_error());
}

}  // namespace

std::expected<Reader, Error> Reader::open(const std::string& path) {
  auto database = Database::open(path, Database::Mode::read_only);
  if (!database) {
    return failed(database.error());
  }
  Reader reader;
  reader.database_ = std::move(*database);
  const std::pair<Statement*, std::string> wanted[] = {
      {&reader.by_seq_, columns + "messages m WHERE m.seq=?3 AND m.workspace=?1 AND " + visible},
      {&reader.by_id_, columns + "messages m WHERE m.id_key=?4 AND m.id=?3 AND m.workspace=?1 " +
                           "AND " + visible +
                           " ORDER BY m.seq DESC LIMIT 1"},
      {&reader.by_thread_,
       columns + "messages m WHERE m.thread=?3 AND m.thread<>'' AND m.workspace=?1 "
                 "AND m.seq>?4 AND " + visible + " ORDER BY m.seq LIMIT ?5"},
      {&reader.by_sender_,
       columns + "messages m WHERE m.sender=?1 AND m.seq>=?2 AND m.seq<?3 "
                 "ORDER BY m.seq DESC LIMIT ?4"},
      {&reader.by_receiver_,
       columns + "deliveries d CROSS JOIN messages m ON m.seq=d.message WHERE d.receiver=?1 "
                 "AND d.message>=?2 AND d.message<?3 ORDER BY d.message DESC LIMIT ?4"},
      {&reader.deliveries_,
       "SELECT p.name, d.state, d.time, d.attempts, d.last_error FROM deliveries d "
       "JOIN principals p ON p.id=d.receiver WHERE d.message=? ORDER BY p.name"},
      {&reader.letters_,
       "SELECT d.id, p.name, d.reason, d.failed_at, d.retry_count, d.last_error, d.resolution, "
       "d.dropped, d.resolved_by, d.resolved_at FROM dead_letters d "
       "JOIN principals p ON p.id=d.receiver WHERE d.message=? ORDER BY d.id"},
      {&reader.principal_, "SELECT id FROM principals WHERE workspace=? AND name=?"},
      {&reader.time_from_, "SELECT seq, time FROM messages WHERE seq>=? ORDER BY seq LIMIT 1"},
      {&reader.ends_, "SELECT (SELECT min(seq) FROM messages), (SELECT max(seq) FROM messages)"},
      {&reader.position_, "SELECT seq FROM position"},
  };
  for (const auto& [statement, sql] : wanted) {
    auto prepared = reader.database_.prepare(sql);
    if (!prepared) {
      return failed(prepared.error());
    }
    *statement = std::move(*prepared);
  }
  return reader;
}

std::expected<std::vector<StoredMessage>, Error> Reader::messages(Statement& statement,
                                                                  size_t limit) {
  std::vector<StoredMessage> found;
  while (true) {
    const auto row = statement.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      return found;
    }
    found.push_back({Seq{static_cast<uint64_t>(statement.integer(0))}, Time{statement.integer(1)},
                     static_cast<WorkspaceId>(statement.integer(2)),
                     std::string(statement.blob(3))});
    if (found.size() >= limit) {
      statement.reset();
      return found;
    }
  }
}

// None when the history never heard of the name.
std::expected<std::optional<int64_t>, Error> Reader::principal(WorkspaceId workspace,
                                                               std::string_view name) {
  principal_.bind(1, number(workspace)).bind(2, name);
  const auto row = principal_.step();
  if (!row) {
    return failed(row.error());
  }
  if (!*row) {
    return std::nullopt;
  }
  const int64_t id = principal_.integer(0);
  principal_.reset();
  return id;
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(const Viewer& viewer, Seq seq) {
  by_seq_.bind(3, number(seq));
  return find(by_seq_, viewer);
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(const Viewer& viewer,
                                                                const base::MessageId& id) {
  const auto ends = first_and_last();
  if (!ends) {
    return std::unexpected(ends.error());
  }
  by_id_.bind_blob(3, {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  for (int64_t bucket = id_bucket(ends->second); bucket >= id_bucket(ends->first); --bucket) {
    by_id_.bind(4, id_key(bucket, id));
    auto found = find(by_id_, viewer);
    if (!found || *found) {
      return found;
    }
  }
  return std::nullopt;
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(Statement& statement,
                                                                const Viewer& viewer) {
  const auto who = number_of(viewer);
  if (!who) {
    return std::unexpected(who.error());
  }
  if (!*who) {
    return std::nullopt;
  }
  statement.bind(1, number(viewer.workspace)).bind(2, **who);
  auto found = messages(statement, 1);
  if (!found) {
    return std::unexpected(found.error());
  }
  return found->empty() ? std::nullopt : std::optional(std::move(found->front()));
}

std::expected<std::optional<int64_t>, Error> Reader::number_of(const Viewer& viewer) {
  return viewer.principal ? principal(viewer.workspace, *viewer.principal)
                          : std::optional<int64_t>(everyone);
}

std::expected<std::vector<StoredMessage>, Error> Reader::thread(const Viewer& viewer,
                                                                const ThreadPage& page) {
  const auto who = number_of(viewer);
  if (!who) {
    return std::unexpected(who.error());
  }
  if (!*who) {
    return std::vector<StoredMessage>{};
  }
  by_thread_.bind(1, number(viewer.workspace))
      .bind(2, **who)
      .bind(3, page.thread)
      .bind(4, number(page.after))
      .bind(5, number(page.limit));
  return messages(by_thread_, limit_max);
}

std::expected<std::vector<StoredMessage>, Error> Reader::agent(WorkspaceId workspace,
                                                               const AgentPage& page) {
  const auto who = principal(workspace, page.agent);
  if (!who) {
    return std::unexpected(who.error());
  }
  if (!*who) {
    return std::vector<StoredMessage>{};
  }
  const auto from = first_at(page.from);
  const auto to = page.to == base::time_max ? Seq{INT64_MAX} : first_at(page.to);
  if (!from || !to) {
    return std::unexpected(!from ? from.error() : to.error());
  }
  Statement& statement = page.side == Side::sent ? by_sender_ : by_receiver_;
  statement.bind(1, **who)
      .bind(2, number(*from))
      .bind(3, number(std::min(*to, page.before)))
      .bind(4, number(page.limit));
  return messages(statement, limit_max);
}

std::expected<std::pair<Seq, Seq>, Error> Reader::first_and_last() {
  const auto row = ends_.step();
  if (!row) {
    return failed(row.error());
  }
  const std::pair<Seq, Seq> ends{Seq{static_cast<uint64_t>(ends_.integer(0))},
                                 Seq{static_cast<uint64_t>(ends_.integer(1))}};
  ends_.reset();
  return ends;
}

// The first place with a message of this time or later, or the one after the last. By halving:
// time never goes back as places go up.
std::expected<Seq, Error> Reader::first_at(Time time) {
  const auto ends = first_and_last();
  if (!ends) {
    return std::unexpected(ends.error());
  }
  int64_t low = number(ends->first);
  int64_t high = number(ends->second) + 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    time_from_.bind(1, middle);
    const auto row = time_from_.step();
    if (!row) {
      return failed(row.error());
    }
    const bool is_before = *row && time_from_.integer(1) < time.us;
    const int64_t found = *row ? time_from_.integer(0) : high;
    time_from_.reset();
    if (is_before) {
      low = found + 1;
    } else {
      high = middle;
    }
  }
  return Seq{static_cast<uint64_t>(low)};
}

std::expected<std::vector<StoredDelivery>, Error> Reader::deliveries(Seq message) {
  std::vector<StoredDelivery> found;
  deliveries_.bind(1, number(message));
  while (true) {
    const auto row = deliveries_.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      return found;
    }
    found.push_back({std::string(deliveries_.text(0)),
                     static_cast<core::State>(deliveries_.integer(1)),
                     Time{deliveries_.integer(2)}, static_cast<uint32_t>(deliveries_.integer(3)),
                     std::string(deliveries_.text(4))});
  }
}

std::expected<std::vector<StoredDeadLetter>, Error> Reader::dead_letters(Seq message) {
  std::vector<StoredDeadLetter> found;
  letters_.bind(1, number(message));
  while (true) {
    const auto row = letters_.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      return found;
    }
    found.push_back({.id = static_cast<uint64_t>(letters_.integer(0)),
                     .message = message,
                     .receiver = std::string(letters_.text(1)),
                     .reason = static_cast<core::Reason>(letters_.integer(2)),
                     .failed_at = Time{letters_.integer(3)},
                     .retry_count = static_cast<uint32_t>(letters_.integer(4)),
                     .last_error = std::string(letters_.text(5)),
                     .resolution = static_cast<core::Resolution>(letters_.integer(6)),
                     .dropped = letters_.integer(7) != 0,
                     .resolved_by = std::string(letters_.text(8)),
                     .resolved_at = Time{letters_.integer(9)}});
  }
}

std::expected<Seq, Error> Reader::position() {
  const auto row = position_.step();
  if (!row) {
    return failed(row.error());
  }
  const Seq seq{*row ? static_cast<uint64_t>(position_.integer(0)) : 0};
  position_.reset();
  return seq;
}

}  // namespace parley::view
