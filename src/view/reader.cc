// SPDX-License-Identifier: Apache-2.0
#include "view/reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "view/history.h"
#include "view/traces.h"

namespace parley::view {

namespace {

using lib::Database;
using lib::Statement;

constexpr int64_t everyone = -1;  // no principal has this number

// Whether the principal `who` sent or received the message m; everyone (-1) did.
std::string involves(const std::string& who) {
  return "(" + who + "=-1 OR m.sender=" + who + " OR EXISTS (SELECT 1 FROM deliveries d " +
         "WHERE d.message=m.seq AND d.receiver=" + who + "))";
}
// The gate of the history, twin of `may_see` in edge/gate.h: whether the viewer ?2 may see the
// message m of its workspace ?1. What is older than ?6, when it was registered, is another's who
// had its name, unless it was delivered since: a dead letter that was retried. What was dead before
// it was handed out nobody got.
const std::string may_see =
    "m.workspace=?1 AND (?2=-1 OR (m.sender=?2 AND m.time>=?6) OR EXISTS (SELECT 1 FROM deliveries "
    "d WHERE d.message=m.seq AND d.receiver=?2 AND (d.attempts>0 OR d.state<>" +
    std::to_string(static_cast<int>(core::State::dead)) +
    ") AND (m.time>=?6 OR (d.time>=?6 AND d.state<" +
    std::to_string(static_cast<int>(core::State::expired)) + "))))";
// The deliveries d of the message ?3 that the viewer may know of.
const std::string of_message =
    "FROM messages m JOIN deliveries d ON d.message=m.seq WHERE m.seq=?3 AND m.workspace=?1 "
    "AND (?2=-1 OR (m.sender=?2 AND m.time>=?6) OR d.receiver=?2)";
// A message on a topic, as `is_on_topic` tells it: what no agent of that name got.
const std::string on_topic =
    "(m.receivers<>'*' AND instr(m.receivers, ', ')=0 AND (m.receivers GLOB 'topic:*' OR "
    "(instr(m.receivers, '.')>0 AND NOT EXISTS (SELECT 1 FROM deliveries d JOIN principals p "
    "ON p.id=d.receiver WHERE d.message=m.seq AND p.name=m.receivers))))";
// As `involves`; but where ?5 is not 0, a message on a topic involves its sender only.
std::string involves_openly(const std::string& who) {
  return "(" + involves(who) + " AND (?5=0 OR " + who + "=-1 OR m.sender=" + who + " OR NOT " +
         on_topic + "))";
}
const std::string columns = "SELECT m.seq, m.time, m.workspace, m.record FROM messages m ";

// A search walks places from the newest down, by indexes alone: of ?1, in the range from ?2 to ?3.
const std::string range = "AND seq>=?2 AND seq<?3 ";
const std::string newest_first = "ORDER BY 1 DESC LIMIT ?4";

int64_t number(Seq seq) { return static_cast<int64_t>(std::min<uint64_t>(seq.n, INT64_MAX)); }
int64_t number(WorkspaceId workspace) { return static_cast<int64_t>(workspace); }

std::unexpected<Error> failed(const lib::DatabaseError& error) {
  return std::unexpected(error.as_error());
}

// The message in the next row of the statement, which selects `columns`; none when there is none.
std::expected<std::optional<StoredMessage>, Error> one(Statement& statement) {
  const auto row = statement.step();
  if (!row) {
    return failed(row.error());
  }
  if (!*row) {
    return std::nullopt;
  }
  StoredMessage found{Seq{static_cast<uint64_t>(statement.integer(0))}, Time{statement.integer(1)},
                      static_cast<WorkspaceId>(statement.integer(2)),
                      std::string(statement.blob(3))};
  statement.reset();
  return found;
}

}  // namespace

std::expected<void, Error> Reader::Statements::prepare(Database& database) {
  const std::pair<Statement*, std::string> wanted[] = {
      {&by_seq, columns + "WHERE m.seq=?3 AND " + may_see + " AND " + involves_openly("?4")},
      {&by_id,
       columns + "WHERE m.id_key=?4 AND m.id=?3 AND " + may_see + " ORDER BY m.seq DESC LIMIT 1"},
      {&by_native_id, columns + "WHERE m.native_id=?3 AND m.native_id<>'' AND " + may_see +
                          " ORDER BY m.seq DESC LIMIT 1"},
      {&in_thread,
       "SELECT seq FROM messages WHERE thread=?1 AND thread<>'' "
       "AND workspace=?5 " +
           range + newest_first},
      {&own_in_thread, "SELECT m.seq FROM (SELECT seq FROM messages WHERE sender=?1 " + range +
                           "UNION SELECT message FROM deliveries WHERE receiver=?1 AND message>=?2 "
                           "AND message<?3 " +
                           newest_first +
                           ") o JOIN messages m ON m.seq=o.seq WHERE m.thread=?6 AND m.thread<>'' "
                           "AND m.workspace=?5 ORDER BY 1 DESC"},
      {&sent, "SELECT seq FROM messages WHERE sender=?1 " + range + newest_first},
      {&sent_or_received,
       "SELECT seq FROM messages WHERE sender=?1 " + range +
           "UNION SELECT message FROM deliveries WHERE receiver=?1 AND message>=?2 "
           "AND message<?3 " +
           newest_first},
      {&all, "SELECT seq FROM messages WHERE ?1=-1 " + range + newest_first},
      {&counts,
       "SELECT count(*), ifnull(sum(d.state<?4), 0), ifnull(sum(d.state>=?5), 0), "
       "ifnull(max(d.time), 0) " +
           of_message},
      {&deliveries,
       "SELECT (SELECT name FROM principals WHERE id=d.receiver), d.state, d.time, d.attempts, "
       "d.last_error, d.offered " +
           of_message + " ORDER BY 1"},
      {&letters,
       "SELECT d.id, p.name, d.reason, d.failed_at, d.retry_count, d.last_error, d.resolution, "
       "d.dropped, d.resolved_by, d.resolved_at FROM dead_letters d "
       "JOIN principals p ON p.id=d.receiver WHERE d.message=? ORDER BY d.id"},
      {&thread,
       "SELECT min(m.seq), min(m.time), max(m.time), count(*), "
       "(SELECT min(seq) FROM messages WHERE thread=?3 AND thread<>'' AND workspace=?1) "
       "FROM (SELECT seq, time, workspace, sender FROM messages WHERE thread=?3 AND thread<>'' "
       "AND workspace=?1 ORDER BY seq DESC LIMIT ?4) m WHERE " +
           may_see},
      {&own_thread,
       "SELECT min(m.seq), min(m.time), max(m.time), count(*), "
       "(SELECT min(seq) FROM messages WHERE thread=?3 AND thread<>'' AND workspace=?1) "
       "FROM (SELECT seq FROM messages WHERE sender=?2 UNION SELECT message FROM deliveries "
       "WHERE receiver=?2 ORDER BY 1 DESC LIMIT ?4) o JOIN messages m ON m.seq=o.seq "
       "WHERE m.thread=?3 AND m.thread<>'' AND " +
           may_see},
      {&sender, "SELECT p.name FROM messages m JOIN principals p ON p.id=m.sender WHERE m.seq=?1"},
      {&correlated,
       "SELECT m.thread FROM (SELECT seq, time, workspace, sender, thread FROM messages WHERE "
       "correlation=?3 AND correlation<>'' AND workspace=?1 AND thread<>'' ORDER BY seq DESC "
       "LIMIT ?4) m WHERE " +
           may_see + " GROUP BY m.thread ORDER BY max(m.seq) DESC LIMIT ?5"},
      {&in_trace,
       "SELECT seq FROM messages WHERE trace_key=?1 AND workspace=?2 AND seq>?3 "
       "ORDER BY seq LIMIT ?4"},
      {&principal, "SELECT id FROM principals WHERE workspace=? AND name=?"},
      {&position, "SELECT seq FROM position"},
  };
  for (const auto& [statement, sql] : wanted) {
    auto prepared = database.prepare(sql);
    if (!prepared) {
      return failed(prepared.error());
    }
    *statement = std::move(*prepared);
  }
  return {};
}

std::expected<Reader, Error> Reader::open(const std::string& path) {
  auto database = Database::open(path, Database::Mode::read_only);
  if (!database) {
    return failed(database.error());
  }
  Reader reader;
  reader.database_ = std::move(*database);
  auto timeline = Timeline::open(reader.database_);
  if (!timeline) {
    return failed(timeline.error());
  }
  reader.timeline_ = std::move(*timeline);
  if (const auto prepared = reader.sql_.prepare(reader.database_); !prepared) {
    return std::unexpected(prepared.error());
  }
  return reader;
}

// None when the history never heard of the name.
std::expected<std::optional<int64_t>, Error> Reader::principal(WorkspaceId workspace,
                                                               std::string_view name) {
  sql_.principal.bind(1, number(workspace)).bind(2, name);
  const auto row = sql_.principal.step();
  if (!row) {
    return failed(row.error());
  }
  if (!*row) {
    return std::nullopt;
  }
  const int64_t id = sql_.principal.integer(0);
  sql_.principal.reset();
  return id;
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(const Viewer& viewer, Seq seq) {
  sql_.by_seq.bind(3, number(seq)).bind(4, everyone).bind(5, int64_t{0});
  return find(sql_.by_seq, viewer);
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(const Viewer& viewer,
                                                                const base::MessageId& id) {
  const auto ends = timeline_.ends();
  if (!ends) {
    return std::unexpected(ends.error());
  }
  sql_.by_id.bind_blob(3, {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  // The newest message with the id is wanted, so the newest bucket is asked first.
  for (int64_t bucket = id_bucket(ends->last); bucket >= id_bucket(ends->first); --bucket) {
    sql_.by_id.bind(4, id_key(bucket, id));
    auto found = find(sql_.by_id, viewer);
    if (!found || *found) {
      return found;
    }
  }
  return std::nullopt;
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(const Viewer& viewer,
                                                                std::string_view native_id) {
  sql_.by_native_id.bind(3, native_id);
  return find(sql_.by_native_id, viewer);
}

std::expected<std::optional<StoredMessage>, Error> Reader::find(Statement& statement,
                                                                const Viewer& viewer) {
  const auto known = bind(statement, viewer);
  if (!known) {
    return std::unexpected(known.error());
  }
  return *known ? one(statement) : std::nullopt;
}

// Binds what `may_see` asks for. False when the history never heard of the viewer.
std::expected<bool, Error> Reader::bind(Statement& statement, const Viewer& viewer) {
  const auto who = number_of(viewer);
  if (!who) {
    return std::unexpected(who.error());
  }
  if (*who) {
    statement.bind(1, number(viewer.workspace)).bind(2, **who).bind(6, viewer.since.us);
  }
  return who->has_value();
}

std::expected<std::optional<int64_t>, Error> Reader::number_of(const Viewer& viewer) {
  return viewer.principal ? principal(viewer.workspace, *viewer.principal)
                          : std::optional<int64_t>(everyone);
}

std::expected<Reader::Page, Error> Reader::search(const Viewer& viewer, const Search& search) {
  const auto who = number_of(viewer);
  const auto agent = search.agent.empty() ? std::optional<int64_t>(everyone)
                                          : principal(viewer.workspace, search.agent);
  // What a former agent of the name sent may be this one's mail, and is not its word.
  const auto from =
      timeline_.first_at(search.sent_only ? std::max(search.from, viewer.since) : search.from);
  const auto to = search.to == base::time_max ? Seq{INT64_MAX} : timeline_.first_at(search.to);
  if (!who || !agent) {
    return std::unexpected(!who ? who.error() : agent.error());
  }
  if (!from || !to) {
    return std::unexpected(!from ? from.error() : to.error());
  }
  if (!*who || !*agent) {
    return Page{};  // a name that was never heard of
  }
  // What one agent sent or received is found by its index, whoever asks.
  const int64_t walked = **who == everyone ? **agent : **who;
  Statement& scan = !search.thread.empty() ? sql_.in_thread
                    : walked == everyone   ? sql_.all
                    : search.sent_only     ? sql_.sent
                                           : sql_.sent_or_received;
  if (search.thread.empty()) {
    scan.bind(1, walked);
  } else {
    scan.bind(1, search.thread).bind(5, number(viewer.workspace));
  }
  scan.bind(2, number(*from))
      .bind(3, number(std::min(*to, search.before)))
      .bind(4, static_cast<int64_t>(scan_max));
  const int64_t hides_subscribers = search.hides_subscribers && **agent != **who ? 1 : 0;
  sql_.by_seq.bind(1, number(viewer.workspace))
      .bind(2, **who)
      .bind(4, **agent)
      .bind(5, hides_subscribers)
      .bind(6, viewer.since.us);
  const size_t limit = std::clamp<size_t>(search.limit, 1, limit_max);
  auto page = collect(scan, limit);
  if (!page || search.thread.empty() || **who == everyone || page->next.n == 0 ||
      page->messages.size() >= limit) {
    return page;
  }
  // Whoever knows a thread's name can write so much in it that what the viewer may see is far
  // behind. It finds that among its own.
  sql_.own_in_thread.bind(1, **who)
      .bind(2, number(*from))
      .bind(3, number(page->next))
      .bind(4, static_cast<int64_t>(scan_max))
      .bind(5, number(viewer.workspace))
      .bind(6, search.thread);
  auto own = collect(sql_.own_in_thread, limit - page->messages.size());
  if (!own) {
    return own;
  }
  for (StoredMessage& message : own->messages) {
    page->next = message.seq;
    page->messages.push_back(std::move(message));
  }
  return page;
}

// Of the places that `scan` walks, those that `by_seq` finds.
std::expected<Reader::Page, Error> Reader::collect(Statement& scan, size_t limit) {
  Page page;
  size_t bytes = 0;
  for (size_t seen = 0; seen < scan_max && page.messages.size() < limit && bytes < page_bytes_max;
       ++seen) {
    const auto row = scan.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      page.next = {};
      return page;
    }
    // The last place that was looked at, found or not: the next page goes on before it.
    page.next = Seq{static_cast<uint64_t>(scan.integer(0))};
    sql_.by_seq.bind(3, scan.integer(0));
    auto message = one(sql_.by_seq);
    if (!message) {
      scan.reset();
      return std::unexpected(message.error());
    }
    if (*message) {
      bytes += (*message)->record.size();
      page.messages.push_back(std::move(**message));
    }
  }
  scan.reset();
  return page;
}

std::expected<Reader::Receivers, Error> Reader::receivers(const Viewer& viewer, Seq message,
                                                          size_t listed_max) {
  const auto known = bind(sql_.counts, viewer);
  if (!known || !*known) {
    return known ? std::expected<Receivers, Error>(Receivers{}) : std::unexpected(known.error());
  }
  sql_.counts.bind(3, number(message))
      .bind(4, static_cast<int64_t>(core::State::acked))
      .bind(5, static_cast<int64_t>(core::State::expired));
  const auto row = sql_.counts.step();
  if (!row) {
    return failed(row.error());
  }
  Receivers found{static_cast<uint64_t>(sql_.counts.integer(0)),
                  static_cast<uint64_t>(sql_.counts.integer(1)),
                  static_cast<uint64_t>(sql_.counts.integer(2)),
                  Time{sql_.counts.integer(3)},
                  {}};
  sql_.counts.reset();
  // Counted before they are listed: a message to everyone may have very many.
  if (found.count <= listed_max) {
    auto listed = deliveries(viewer, message);
    if (!listed) {
      return std::unexpected(listed.error());
    }
    found.listed = std::move(*listed);
  }
  return found;
}

std::expected<std::vector<StoredDelivery>, Error> Reader::deliveries(const Viewer& viewer,
                                                                     Seq message) {
  std::vector<StoredDelivery> found;
  const auto known = bind(sql_.deliveries, viewer);
  if (!known || !*known) {
    return known ? std::expected<std::vector<StoredDelivery>, Error>(found)
                 : std::unexpected(known.error());
  }
  sql_.deliveries.bind(3, number(message));
  while (true) {
    const auto row = sql_.deliveries.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      return found;
    }
    found.push_back(
        {std::string(sql_.deliveries.text(0)), static_cast<core::State>(sql_.deliveries.integer(1)),
         Time{sql_.deliveries.integer(2)}, static_cast<uint32_t>(sql_.deliveries.integer(3)),
         std::string(sql_.deliveries.text(4)), Time{sql_.deliveries.integer(5)}});
  }
}

std::expected<std::vector<StoredDeadLetter>, Error> Reader::dead_letters(Seq message) {
  std::vector<StoredDeadLetter> found;
  sql_.letters.bind(1, number(message));
  while (true) {
    const auto row = sql_.letters.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      return found;
    }
    found.push_back({.id = static_cast<uint64_t>(sql_.letters.integer(0)),
                     .message = message,
                     .receiver = std::string(sql_.letters.text(1)),
                     .reason = static_cast<core::Reason>(sql_.letters.integer(2)),
                     .failed_at = Time{sql_.letters.integer(3)},
                     .retry_count = static_cast<uint32_t>(sql_.letters.integer(4)),
                     .last_error = std::string(sql_.letters.text(5)),
                     .resolution = static_cast<core::Resolution>(sql_.letters.integer(6)),
                     .dropped = sql_.letters.integer(7) != 0,
                     .resolved_by = std::string(sql_.letters.text(8)),
                     .resolved_at = Time{sql_.letters.integer(9)}});
  }
}

std::expected<std::optional<StoredThread>, Error> Reader::thread(const Viewer& viewer,
                                                                 std::string_view name) {
  const auto known = bind(sql_.thread, viewer);
  if (!known || !*known) {
    return known ? std::expected<std::optional<StoredThread>, Error>(std::nullopt)
                 : std::unexpected(known.error());
  }
  StoredThread found;
  bool sees_first = false;
  const auto ask = [&](Statement& statement) -> std::expected<void, Error> {
    statement.bind(3, name).bind(4, static_cast<int64_t>(scan_max));
    const auto row = statement.step();
    if (!row) {
      return failed(row.error());
    }
    found = {.name = std::string(name),
             .root = Seq{static_cast<uint64_t>(statement.integer(0))},
             .owner = {},
             .created = Time{statement.integer(1)},
             .changed = Time{statement.integer(2)},
             .messages = static_cast<uint64_t>(statement.integer(3))};
    sees_first = statement.integer(0) == statement.integer(4);
    statement.reset();
    return {};
  };
  auto asked = ask(sql_.thread);
  // As in `search`: others may have written very much in it since.
  if (asked && found.messages == 0 && viewer.principal) {
    (void)bind(sql_.own_thread, viewer);
    asked = ask(sql_.own_thread);
  }
  if (!asked) {
    return std::unexpected(asked.error());
  }
  if (found.messages > 0 && sees_first) {
    sql_.sender.bind(1, number(found.root));
    const auto sender = sql_.sender.step();
    if (!sender) {
      return failed(sender.error());
    }
    found.owner = *sender ? sql_.sender.text(0) : "";
    sql_.sender.reset();
  }
  return found.messages == 0 ? std::nullopt : std::optional(std::move(found));
}

std::expected<std::vector<StoredThread>, Error> Reader::correlated(const Viewer& viewer,
                                                                   std::string_view correlation,
                                                                   size_t limit) {
  const auto known = bind(sql_.correlated, viewer);
  if (!known) {
    return std::unexpected(known.error());
  }
  std::vector<std::string> names;
  if (*known) {
    sql_.correlated.bind(3, correlation)
        .bind(4, static_cast<int64_t>(scan_max))
        .bind(5, static_cast<int64_t>(std::clamp<size_t>(limit, 1, limit_max)));
  }
  while (*known) {
    const auto row = sql_.correlated.step();
    if (!row) {
      return failed(row.error());
    }
    if (!*row) {
      break;
    }
    names.emplace_back(sql_.correlated.text(0));
  }
  std::vector<StoredThread> found;
  for (const std::string& name : names) {
    auto one = thread(viewer, name);
    if (!one) {
      return std::unexpected(one.error());
    }
    if (*one) {
      found.push_back(std::move(**one));
    }
  }
  return found;
}

std::expected<std::vector<StoredMessage>, Error> Reader::of_trace(const Viewer& viewer,
                                                                  const base::Id128& trace,
                                                                  size_t limit, Seq after) {
  const auto ends = timeline_.ends();
  if (!ends) {
    return std::unexpected(ends.error());
  }
  std::vector<StoredMessage> found;
  // A key is a hash, which several traces may share: the record tells.
  const auto keep = [&](StoredMessage message) {
    const auto entry = message.entry();
    const auto* send = entry ? std::get_if<core::Send>(&entry->command) : nullptr;
    if (send != nullptr && trace_of(send->envelope) == trace &&
        send->envelope.kind != core::Kind::private_flag) {
      found.push_back(std::move(message));
    }
  };
  // The message that began the trace has its id, and no key.
  auto root = find(viewer, trace);
  if (!root) {
    return std::unexpected(root.error());
  }
  if (*root && after < (*root)->seq) {
    keep(std::move(**root));
  }
  const Seq first = std::max(ends->first, after);
  size_t looked_at = 0;
  for (int64_t bucket = id_bucket(first); bucket <= id_bucket(ends->last); ++bucket) {
    sql_.in_trace.bind(1, id_key(bucket, trace))
        .bind(2, number(viewer.workspace))
        .bind(3, number(after))
        .bind(4, static_cast<int64_t>(scan_max - looked_at));
    while (found.size() < limit && looked_at < scan_max) {
      const auto row = sql_.in_trace.step();
      if (!row) {
        return failed(row.error());
      }
      if (!*row) {
        break;
      }
      ++looked_at;
      auto next = find(viewer, Seq{static_cast<uint64_t>(sql_.in_trace.integer(0))});
      if (!next) {
        sql_.in_trace.reset();
        return std::unexpected(next.error());
      }
      if (*next) {
        keep(std::move(**next));
      }
    }
    sql_.in_trace.reset();
  }
  // As in `search`: others may have gone on with the trace very often.
  const auto who = number_of(viewer);
  if (looked_at >= scan_max && found.size() < limit && who && *who && **who != everyone) {
    std::set<Seq> known;
    for (const StoredMessage& message : found) {
      known.insert(message.seq);
    }
    sql_.sent_or_received.bind(1, **who)
        .bind(2, number(after.next()))
        .bind(3, INT64_MAX)
        .bind(4, static_cast<int64_t>(scan_max));
    std::vector<Seq> own;
    for (auto row = sql_.sent_or_received.step(); row && *row; row = sql_.sent_or_received.step()) {
      own.push_back(Seq{static_cast<uint64_t>(sql_.sent_or_received.integer(0))});
    }
    for (size_t n = own.size(); n > 0 && found.size() < limit; --n) {
      if (known.contains(own[n - 1])) {
        continue;
      }
      auto next = find(viewer, own[n - 1]);
      if (!next) {
        return std::unexpected(next.error());
      }
      if (*next) {
        keep(std::move(**next));
      }
    }
  }
  std::ranges::sort(found, {}, &StoredMessage::seq);
  return found;
}

std::expected<Seq, Error> Reader::position() {
  const auto row = sql_.position.step();
  if (!row) {
    return failed(row.error());
  }
  const Seq seq{*row ? static_cast<uint64_t>(sql_.position.integer(0)) : 0};
  sql_.position.reset();
  return seq;
}

}  // namespace parley::view
