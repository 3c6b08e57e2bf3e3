// SPDX-License-Identifier: Apache-2.0
// Any commands in any order: apply is total, and a restored machine is equal to the one it was
// taken from, also in what it does next. The bytes choose among few names, ids and numbers, so
// that commands meet each other.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "core/machine/machine.h"

namespace parley {
namespace {

using namespace core;

constexpr std::array<std::string_view, 8> names = {"ana",   "bo", "cy", "dee",
                                                   "admin", "",   "*",  "task.done"};
constexpr std::array<std::string_view, 12> rules = {
    "queue_max",  "attempts_max", "dead_letters_max", "settled_max",
    "window_max", "flow.lease",   "inbox.lease",      "topic.retained_max",
    "topics_max", "streams_max",  "flow.ttl.normal",  "settled_retention"};
constexpr std::array<std::string_view, 6> values = {"1", "2", "5", "1s", "3s", "60s"};

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t next() {
    if (left_ == 0) {
      return 0;
    }
    --left_;
    return *data_++;
  }
  template <class T, size_t n>
  T pick(const std::array<T, n>& from) {
    return from[next() % n];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

Target target(Bytes& in) {
  Target t;
  const uint8_t n = in.next();
  if (n % 2 == 0) {
    t.seq = Seq{uint64_t{n} / 2};
  } else {
    t.id.bytes[0] = n % 16;
  }
  return t;
}

Send send(Bytes& in, std::string_view actor) {
  Send command;
  Envelope& e = command.envelope;
  const uint8_t bits = in.next();
  e.sender = bits % 32 == 31 ? "bo" : actor;
  e.id.bytes[0] = in.next() % 16;
  e.dialect = static_cast<Dialect>(in.next() % 5);
  e.kind = static_cast<Kind>(in.next() % 11);
  e.priority = static_cast<Priority>(bits % 4);
  e.ttl = base::seconds(in.next() % 4);
  e.receivers = {in.pick(names)};
  if (bits % 8 == 7) {
    e.receivers.push_back(in.pick(names));
  }
  e.in_reply_to.bytes[0] = in.next() % 16;
  e.idempotency_key.bytes[0] = bits % 16 == 3 ? in.next() % 4 : 0;
  e.body = names[bits % names.size()];
  return command;
}

Command command(Bytes& in, std::string_view actor) {
  const StreamId stream{7, uint64_t{in.next()} % 4};
  switch (in.next() % std::variant_size_v<Command>) {
    case 0:
      return Tick{};
    case 1:
      return StartNode{.node = "node"};
    case 2:
      return AddWorkspace{.name = in.pick(names), .admin_token = {in.next()}};
    case 3:
      return SetRules{.values = {{in.pick(rules), in.pick(values)}}};
    case 4:
      return Register{.name = in.pick(names),
                      .kind = static_cast<PrincipalKind>(in.next() % 4),
                      .dialect = static_cast<Dialect>(in.next() % 5),
                      .token = {in.next()}};
    case 5:
      return Unregister{.name = in.pick(names)};
    case 6:
      return Subscribe{.topic = in.pick(names)};
    case 7:
      return Unsubscribe{.topic = in.pick(names)};
    case 8:
      return send(in, actor);
    case 9:
      return Read{.target = target(in)};
    case 10:
      return Take{.count_max = in.next()};
    case 11:
      if (in.next() % 2 == 0) {
        return Ack{.stream = stream, .upto = {in.next(), in.next()}};
      }
      return Ack{.target = target(in)};
    case 12:
      return Nack{.target = target(in), .delay = base::seconds(in.next() % 3), .reason = "busy"};
    case 13:
      return Reject{.target = target(in), .reason = "no"};
    case 14:
      return Extend{.target = target(in), .lease = base::seconds(in.next())};
    case 15:
      return OpenStream{.stream = stream, .window = in.next(), .after = {in.next(), in.next()}};
    case 16:
      return CloseStream{.stream = stream};
    default:
      return ResolveDeadLetter{.id = in.next(),
                               .resolution = static_cast<Resolution>(in.next() % 4)};
  }
}

void run(Bytes in) {
  Machine machine(1);
  Machine restored(2);
  std::vector<Effect> effects;
  std::vector<Effect> effects_of_restored;
  Time time{1'000'000};
  uint64_t number = 0;
  for (const std::string_view name : {"ana", "bo", "cy", "dee", "admin"}) {
    Entry entry{machine.seq().next(), time, {7, ++number}, {}, broker_name, Register{.name = name}};
    (void)machine.apply(entry, effects);
    (void)restored.apply(entry, effects);
  }
  while (!in.empty()) {
    const uint8_t head = in.next();
    time = time + base::milliseconds(head % 8 == 7 ? 1'000 : head % 8);
    Entry entry{machine.seq().next(), time, {7, ++number}, {}, in.pick(names), {}};
    entry.workspace = static_cast<WorkspaceId>(head / 8 % 16 == 15 ? 1 : 0);
    if (head / 8 % 16 == 14) {
      --number;  // appended twice
    }
    entry.command = command(in, entry.actor);
    effects.clear();
    effects_of_restored.clear();
    const Outcome outcome = machine.apply(entry, effects);
    CHECK(outcome == restored.apply(entry, effects_of_restored));
    CHECK(effects.size() == effects_of_restored.size());
    if (head / 128 == 1) {
      const std::string snapshot = machine.snapshot();
      CHECK(snapshot == restored.snapshot());
      auto again = Machine::restore(snapshot, head);
      CHECK(again.has_value());
      CHECK(again->next_deadline() == machine.next_deadline());
      restored = std::move(*again);
    }
  }
  CHECK(machine.snapshot() == restored.snapshot());
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  parley::run(parley::Bytes(data, size));
  return 0;
}
