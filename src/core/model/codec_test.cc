// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "core/model/command.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::id_of;
using testing::token_of;

// Each field has a value of its own, so that two of them cannot change places unseen.
Envelope full_envelope() {
  Envelope e;
  e.id = id_of("id");
  e.dialect = Dialect::squad;
  e.kind = Kind::health_report;
  e.priority = Priority::critical;
  e.content_type = ContentType::artifact_ref;
  e.status = Status::declined;
  e.durability = Durability::memory;
  e.on_timeout = OnTimeout::escalate;
  e.requires_ack = true;
  e.sender = "sender";
  e.receivers = {"receiver 1", "", "receiver 3"};
  e.reply_to = "reply_to";
  e.created = Time{-1'234'567};
  e.ttl = base::seconds(11);
  e.response_timeout = base::seconds(12);
  e.sequence_number = ~uint64_t{0};
  e.confidence_ppm = -1;
  e.in_reply_to = id_of("in_reply_to");
  e.idempotency_key = id_of("key");
  e.trace_id = id_of("trace");
  e.parent_span_id = 0xfedcba9876543210;
  e.trace_sampled = false;
  e.trace_in_message = true;
  e.tracestate = "tracestate";
  e.native_id = "native_id";
  e.question = "question";
  e.type = "type";
  e.thread = "thread";
  e.correlation = "correlation";
  e.causation = "causation";
  e.session = "session";
  e.action = "action";
  e.subject = "subject";
  e.task = "task";
  e.via = Via::websocket;
  e.sender_kind = PrincipalKind::human;
  e.on_behalf_of = {"human:di", "cy"};
  e.body = std::string_view("bo\0dy", 5);
  e.extra = "extra";
  return e;
}

std::vector<Command> every_command() {
  const Target by_both{Seq{77}, id_of("target")};
  return {Tick{},
          StartNode{"node"},
          AddWorkspace{"lab", token_of("admin")},
          SetRules{{{"queue_max", "5"}, {"", "x"}}},
          Register{"ana",
                   PrincipalKind::human,
                   Dialect::collab,
                   "role",
                   {"a", "b"},
                   {"approver"},
                   token_of("ana"),
                   "profile",
                   true,
                   "https://example.org/hook",
                   token_of("secret"),
                   {"a.b", "topic:c"}},
          Unregister{"ana"},
          Subscribe{"a.b", "bo"},
          Unsubscribe{"a.c", "bo"},
          Send{full_envelope(),
               12,
               Gathering{Strategy::quorum, 2, base::seconds(5), OnPartial::extend_timeout},
               {"cy", "dee"},
               3,
               OnUnavailable::redirect,
               base::seconds(30),
               id_of("cause")},
          Read{by_both, Dialect::inbox},
          Take{0xffffffff},
          Ack{by_both, {5, 6}, {7, ~uint32_t{0}}},
          Nack{by_both, base::seconds(9), "reason", false},
          Reject{by_both, "reason"},
          Extend{by_both, base::seconds(8)},
          OpenStream{{~uint64_t{0}, 4}, 3, {~uint32_t{0}, 8}},
          CloseStream{{1, 2}},
          ResolveDeadLetter{~uint64_t{0}, Resolution::escalated},
          Heartbeat{"busy", "task", 5, true},
          Malformed{"{\"id\": 1}", "id must be a string"},
          ResolveEscalation{7, "assigned to bo"},
          CloseThread{"thread"},
          ResetLimits{"bo"},
          StopWaiting{Seq{17}},
          StartSession{"s", "ana", {"bo", "cy"}, "{}"},
          ChangeSession{"s", SessionAct::fail, 7, "bo", "[1]"},
          TakeLock{"build", base::seconds(5), base::seconds(6), Seq{11}},
          ReleaseLock{"build", Seq{12}},
          ReassignTask{"task-7", "bo", "ana", "thread"}};
}

// Stands for a value of any type.
struct Anything {
  template <class T>
  operator T() const;
};

// How many members an aggregate has.
template <class T, class... Before>
consteval size_t member_count() {
  if constexpr (requires { T{Before{}..., Anything{}}; }) {
    return member_count<T, Before..., Anything>();
  } else {
    return sizeof...(Before);
  }
}

struct FieldCount {
  size_t fields = 0;
  constexpr void operator()(std::string_view, const auto&, auto...) { ++fields; }
};

template <class T>
size_t field_count() {
  const T value{};
  FieldCount count;
  T::fields(value, count);
  return count.fields;
}

// A member that is not listed would be lost in the journal without a word.
TEST(Codec, EveryMemberIsAField) {
  EXPECT_EQ(field_count<Envelope>(), member_count<Envelope>());
  [&]<size_t... n>(std::index_sequence<n...>) {
    const auto compare = [](auto alternative) {
      using T = typename decltype(alternative)::type;
      EXPECT_EQ(field_count<T>(), member_count<T>()) << T::verb;
    };
    (compare(std::type_identity<std::variant_alternative_t<n, Command>>{}), ...);
  }(std::make_index_sequence<std::variant_size_v<Command>>{});
}

Entry entry_with(Command command) {
  return Entry{Seq{9},  Time{1'000},       {0xabcdef, 300}, static_cast<WorkspaceId>(70'000),
               "actor", std::move(command)};
}

std::string encoded(const Entry& entry) {
  std::string bytes;
  encode(entry, bytes);
  return bytes;
}

TEST(Codec, EveryCommandIsInTheSample) {
  const std::vector<Command> commands = every_command();
  ASSERT_EQ(commands.size(), std::variant_size_v<Command>);
  for (size_t tag = 0; tag < commands.size(); ++tag) {
    EXPECT_EQ(commands[tag].index(), tag);
  }
}

TEST(Codec, EveryCommandComesBackAsItWas) {
  for (const Command& command : every_command()) {
    const Entry entry = entry_with(command);
    const std::string bytes = encoded(entry);
    const auto decoded = decode_entry(entry.seq, entry.time, bytes);
    ASSERT_TRUE(decoded.has_value()) << command.index();
    EXPECT_EQ(*decoded, entry) << command.index();
  }
}

TEST(Codec, EnvelopeComesBackFieldByField) {
  const Envelope full = full_envelope();
  for (const Envelope& envelope : {full, Envelope{}}) {
    std::string bytes;
    Writer out(bytes);
    put(envelope, out);
    Reader in(bytes);
    Envelope read;
    get(read, in);
    EXPECT_EQ(read, envelope);
    EXPECT_TRUE(in.done());
  }
}

TEST(Codec, EveryTruncationIsRefused) {
  for (const Command& command : every_command()) {
    const std::string bytes = encoded(entry_with(command));
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto decoded = decode_entry(Seq{9}, Time{}, std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(decoded.has_value()) << "tag " << command.index() << ", " << size << " bytes";
      EXPECT_EQ(decoded.error().code, base::Code::malformed_record);
    }
  }
}

TEST(Codec, TrailingBytesAreRefused) {
  for (const Command& command : every_command()) {
    const std::string bytes = encoded(entry_with(command)) + '\0';
    EXPECT_FALSE(decode_entry(Seq{9}, Time{}, bytes).has_value()) << command.index();
  }
}

TEST(Codec, UnknownTagIsRefusedAndNamed) {
  for (const size_t tag : {std::variant_size_v<Command>, size_t{255}}) {
    std::string bytes = encoded(entry_with(Tick{}));
    bytes[0] = static_cast<char>(tag);
    const auto decoded = decode_entry(Seq{9}, Time{}, bytes);
    ASSERT_FALSE(decoded.has_value());
    EXPECT_NE(decoded.error().detail.find("tag " + std::to_string(tag)), std::string::npos);
    EXPECT_NE(decoded.error().detail.find("record 9"), std::string::npos);
  }
}

// What decodes at all has one form only: so a record says exactly what it says.
TEST(Codec, FlippedBytesAreRefusedOrMeanSomethingElse) {
  for (const Command& command : every_command()) {
    const Entry entry = entry_with(command);
    const std::string bytes = encoded(entry);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        const auto decoded = decode_entry(entry.seq, entry.time, flipped);
        if (decoded) {
          EXPECT_NE(*decoded, entry) << "tag " << command.index() << ", byte " << at;
          EXPECT_EQ(encoded(*decoded), flipped) << "tag " << command.index() << ", byte " << at;
        }
      }
    }
  }
}

TEST(Codec, WorkspaceBeyondItsRangeIsRefused) {
  std::string bytes;
  Writer out(bytes);
  out.u8(0);
  out.fixed64(1);
  out.varint(1);
  out.varint(uint64_t{1} << 32);
  out.text("");
  EXPECT_FALSE(decode_entry(Seq{1}, Time{}, bytes).has_value());
}

TEST(Codec, HugeCountsAskForNoMemory) {
  std::string bytes;
  Writer out(bytes);
  out.u8(3);  // SetRules
  out.fixed64(1);
  out.varint(1);
  out.varint(0);
  out.text("");
  out.varint(uint64_t{1} << 60);
  EXPECT_FALSE(decode_entry(Seq{1}, Time{}, bytes).has_value());
}

}  // namespace
}  // namespace parley::core
