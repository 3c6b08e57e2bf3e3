// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/policy.h"
#include "core/model/resume_mark.h"

namespace parley::core {

// SHA-256 of a token. The token itself is never in a journal.
using TokenHash = std::array<uint8_t, 32>;

// What webhooks are signed with. It has to be in the journal: a hash signs nothing.
using WebhookSecret = std::array<uint8_t, 32>;

// A workspace's number; 0 is the one that every journal begins with.
enum class WorkspaceId : uint32_t {};
constexpr WorkspaceId workspace_first{0};

// A connection through which messages are pushed: the node's origin and a number it gave.
struct StreamId {
  uint64_t origin = 0;
  uint64_t number = 0;

  auto operator<=>(const StreamId&) const = default;
};
constexpr StreamId stream_none{};

// A message as its receiver names it: by place, or else by id.
struct Target {
  Seq seq;
  MessageId id;

  bool operator==(const Target&) const = default;
};

// Over 150 lines: the closed set of commands, in one place.

// What can be asked of the broker. Texts are views, as in Envelope. The principal who asks is in
// the Entry.

// Adds a principal, or changes it: an empty token hash keeps the tokens it has.
struct Register {
  std::string_view name;
  PrincipalKind kind = PrincipalKind::agent;
  Dialect dialect = Dialect::flow;
  std::string_view role;
  std::vector<std::string_view> capabilities;
  std::vector<std::string_view> rights;  // of a human: approver, moderator, maintainer, admin
  TokenHash token{};
  std::string_view profile;                       // what the edges keep of it; opaque
  bool only_token = false;                        // the tokens it had are good no more
  std::string_view webhook{};                     // a URL that is told of mail; empty: none
  WebhookSecret webhook_secret{};                 // zeros: the one it has stays
  std::vector<std::string_view> subscriptions{};  // besides those it has: all of them, or refused

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Register&) const = default;
};

struct Unregister {
  std::string_view name;

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Unregister&) const = default;
};

struct Subscribe {
  std::string_view topic;
  std::string_view agent{};  // empty: the one who asks

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Subscribe&) const = default;
};

struct Unsubscribe {
  std::string_view topic;
  std::string_view agent{};

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Unsubscribe&) const = default;
};

// When a scatter-gather has enough. Written into journals: never renumber.
enum class Strategy : uint8_t { all = 0, any = 1, majority = 2, quorum = 3 };
constexpr Strategy strategy_last = Strategy::quorum;

// What happens at the end of the window when it has not. Written into journals.
enum class OnPartial : uint8_t { proceed_with_available = 0, fail = 1, extend_timeout = 2 };
constexpr OnPartial on_partial_last = OnPartial::extend_timeout;

// What the coordinator of a scatter-gather asks for.
struct Gathering {
  Strategy strategy = Strategy::all;
  uint32_t quorum = 0;  // of Strategy::quorum
  Duration window;      // zero: by the rules
  OnPartial on_partial = OnPartial::proceed_with_available;
  bool operator==(const Gathering&) const = default;
};
void encode(const Gathering& gathering, Writer& out);
Gathering decode_gathering(Reader& in);

// What becomes of a message to one who is away. Written into journals: never renumber.
enum class OnUnavailable : uint8_t { by_rules = 0, queue = 1, redirect = 2, fail = 3 };
constexpr OnUnavailable on_unavailable_last = OnUnavailable::fail;

struct Send {
  Envelope envelope;
  uint64_t outbox_item = 0;  // of the broker's own: what it owed, and does hereby
  // A scatter: the answers of all receivers are gathered.
  std::optional<Gathering> gathering{};
  // A pipeline: what the receiver answers goes to the first of these, and so on.
  std::vector<std::string_view> later_stages{};
  uint64_t tokens = 0;  // that its sender says its model has used since it last said so
  OnUnavailable on_unavailable = OnUnavailable::by_rules;
  Duration wait{};    // how long its sender blocks for the answer; zero: it does not
  MessageId cause{};  // what its sender names as its cause, in whichever form; or none

  bool needs_sync() const { return envelope.durability == Durability::disk; }
  bool operator==(const Send&) const = default;
};

// Marks a message as read and takes a lease on it. Who speaks inbox settles with it what needs no
// answer.
struct Read {
  Target target;
  std::optional<Dialect> as{};  // that its reader speaks with this; none: its own, and only reads

  bool needs_sync() const { return as && policy_of(*as).reading_settles; }
  bool operator==(const Read&) const = default;
};

// Hands out the most urgent waiting messages, each with a lease.
struct Take {
  uint32_t count_max = 1;

  static constexpr bool needs_sync() { return false; }
  bool operator==(const Take&) const = default;
};

struct Ack {
  Target target{};
  // Not none: everything that this stream handed out up to `upto`, in order of delivery. The target
  // means nothing then.
  StreamId stream{};
  ResumeMark upto{};

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Ack&) const = default;
};

// Gives a message back, to be handed out again after `delay`.
struct Nack {
  Target target;
  Duration delay;
  std::string_view reason;
  bool failed = true;  // false: it was not tried, or not to the end; not one of attempts_max

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Nack&) const = default;
};

struct Reject {
  Target target;
  std::string_view reason;

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Reject&) const = default;
};

// Starts the lease anew.
struct Extend {
  Target target;
  Duration lease;  // zero: the usual one

  static constexpr bool needs_sync() { return false; }
  bool operator==(const Extend&) const = default;
};

// From now on up to `window` unsettled messages are pushed to the stream. `after`: its client saw a
// former stream up to there. What that one handed out until then, and nobody gave back since, the
// new stream holds without pushing it again. A former stream that is still open closes.
struct OpenStream {
  StreamId stream;
  uint32_t window = 1;
  ResumeMark after{};

  // Its number is in the marks that clients keep: no other stream may have it after a power loss.
  static constexpr bool needs_sync() { return true; }
  bool operator==(const OpenStream&) const = default;
};

struct CloseStream {
  StreamId stream;

  static constexpr bool needs_sync() { return false; }
  bool operator==(const CloseStream&) const = default;
};

// What a person may do with a dead letter. Written into journals.
enum class Resolution : uint8_t { pending = 0, retried = 1, discarded = 2, escalated = 3 };
constexpr Resolution resolution_last = Resolution::escalated;

struct ResolveDeadLetter {
  uint64_t id = 0;
  Resolution resolution = Resolution::discarded;

  static constexpr bool needs_sync() { return true; }
  bool operator==(const ResolveDeadLetter&) const = default;
};

struct SetRules {
  std::vector<std::pair<std::string_view, std::string_view>> values;  // name and value, all or none

  static constexpr bool needs_sync() { return true; }
  bool operator==(const SetRules&) const = default;
};

struct AddWorkspace {
  std::string_view name;
  TokenHash admin_token{};

  static constexpr bool needs_sync() { return true; }
  bool operator==(const AddWorkspace&) const = default;
};

// A node began to run: the streams of its former life are gone.
struct StartNode {
  std::string_view node;

  static constexpr bool needs_sync() { return false; }
  bool operator==(const StartNode&) const = default;
};

// The agent is there; what it says it is doing.
struct Heartbeat {
  std::string_view status;
  std::string_view task;
  uint64_t tokens = 0;     // used since it last said so
  bool only_seen = false;  // it asked for something; what it said before stands

  static constexpr bool needs_sync() { return false; }
  bool operator==(const Heartbeat&) const = default;
};

// The actor sent what is no message of its dialect. Kept as a dead letter, few and short.
struct Malformed {
  std::string_view text;   // as it was sent: cut, and without secrets
  std::string_view error;  // what is wrong with it

  static constexpr bool needs_sync() { return true; }
  bool operator==(const Malformed&) const = default;
};

// A person says what was decided on what the agents could not settle.
struct ResolveEscalation {
  uint64_t id = 0;
  std::string_view resolution;

  static constexpr bool needs_sync() { return true; }
  bool operator==(const ResolveEscalation&) const = default;
};

// Nothing more is to be said in the thread.
struct CloseThread {
  std::string_view thread;

  static constexpr bool needs_sync() { return true; }
  bool operator==(const CloseThread&) const = default;
};

// An admin lets a principal begin anew: its circuit breaker closes, what it used of its limits is
// forgotten.
struct ResetLimits {
  std::string_view name;

  static constexpr bool needs_sync() { return true; }
  bool operator==(const ResetLimits&) const = default;
};

// Its sender blocks no longer for the answer to a message.
struct StopWaiting {
  Seq message;

  static constexpr bool needs_sync() { return false; }
  bool operator==(const StopWaiting&) const = default;
};

// The actor, or for an admin another, coordinates a session with these participants.
struct StartSession {
  std::string_view id;
  std::string_view coordinator{};  // empty: the one who asks
  std::vector<std::string_view> participants{};
  std::string_view task{};  // JSON; opaque

  static constexpr bool needs_sync() { return true; }
  bool operator==(const StartSession&) const = default;
};

// What can be done to a session. Written into journals: never renumber.
enum class SessionAct : uint8_t {
  add_participant = 0,
  remove_participant = 1,
  add_decision = 2,
  add_artifact = 3,
  add_finding = 4,
  pause = 5,
  resume = 6,
  complete = 7,
  fail = 8,
};
constexpr SessionAct session_act_last = SessionAct::fail;
// Whether the act adds to what the participants share.
constexpr bool is_entry(SessionAct act) {
  return act >= SessionAct::add_decision && act <= SessionAct::add_finding;
}

struct ChangeSession {
  std::string_view id;
  SessionAct act = SessionAct::add_decision;
  uint64_t version = 0;        // that the change is made to; 0: whichever it has
  std::string_view subject{};  // the participant; or how it ended
  std::string_view body{};     // of an entry: JSON; opaque

  static constexpr bool needs_sync() { return true; }
  bool operator==(const ChangeSession&) const = default;
};

// Takes a lock, renews it, or waits in line for it.
struct TakeLock {
  std::string_view name;
  Duration lease{};  // zero: by the rules
  Duration wait{};   // zero: does not
  // Renews only what was got by this request; zero: renews nothing, not even the actor's own. For
  // several who act for one principal.
  std::optional<Seq> fence{};

  static constexpr bool needs_sync() { return true; }
  bool operator==(const TakeLock&) const = default;
};

// Gives a lock back, or leaves its line.
struct ReleaseLock {
  std::string_view name;
  Seq fence{};  // only if it was got, or is waited for, by this request; 0: whichever

  static constexpr bool needs_sync() { return true; }
  bool operator==(const ReleaseLock&) const = default;
};

// The task goes to another agent. By the one who gave it, or a maintainer. Where several have this
// name that are not completed, director and thread say which.
struct ReassignTask {
  std::string_view task;
  std::string_view to;
  std::string_view director{};
  std::string_view thread{};

  static constexpr bool needs_sync() { return true; }
  bool operator==(const ReassignTask&) const = default;
};

// Time passed.
struct Tick {
  static constexpr bool needs_sync() { return false; }
  bool operator==(const Tick&) const = default;
};

// The position in this list is the tag in the journal: append only, never reorder.
using Command = std::variant<Tick, StartNode, AddWorkspace, SetRules, Register, Unregister,
                             Subscribe, Unsubscribe, Send, Read, Take, Ack, Nack, Reject, Extend,
                             OpenStream, CloseStream, ResolveDeadLetter, Heartbeat, Malformed,
                             ResolveEscalation, CloseThread, ResetLimits, StopWaiting, StartSession,
                             ChangeSession, TakeLock, ReleaseLock, ReassignTask>;

}  // namespace parley::core
