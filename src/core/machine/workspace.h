// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/delivery/dispatch.h"
#include "core/machine/tables.h"
#include "core/model/effect.h"
#include "core/requests/requests.h"

namespace parley::core {

// Over 150 lines: a line for each command, and for each step of a send.

// One workspace: its tables, and what each command does to them. Isolated by construction: it
// sees no other. What changes it is total and deterministic.
class Workspace {
 public:
  Workspace(WorkspaceId id, std::string_view name, uint64_t hash_seed);

  // Lets time pass up to the entry's, then does what it asks. Appends to `effects`.
  Outcome apply(const Entry& entry, std::vector<Effect>& effects);

  // Lets time pass: ends leases and delays, expires messages, forgets what is old. Does a bounded
  // part of it when much is due at once; next_deadline() then still says so.
  void advance(Time now, std::vector<Effect>& effects);

  // Closes the streams of a node that is gone; what they held waits again. Who waited for a lock by
  // way of it waits no more, and the broadcasts that it kept in memory end.
  void close_streams(uint64_t origin, Time now, std::vector<Effect>& effects);

  // Why `apply` would refuse the entry, if that is certain and would leave nothing behind; none
  // when it must be applied to find out.
  std::optional<Error> admit(const Entry& entry) const;

  // Makes the first admin, who can then register others.
  void add_admin(const TokenHash& token, Time now);

  // When there is work next; time_max when there is none.
  Time next_deadline() const;

  WorkspaceId id() const { return id_; }
  const std::string& name() const { return name_; }
  const Tables& tables() const { return t_; }

  // The whole state in its one canonical form; `decode` is for a workspace that is new, and false
  // when the bytes are no such state.
  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  // Who asks for what, and when: all that is needed to say whether it is refused.
  struct Asking {
    const Entry& entry;
    AgentRef actor = none;  // none: the broker itself
    bool answers = false;   // it is the answer to a request that waits for it

    Time now() const { return entry.time; }
  };
  // What a command works with: the tables by way of dispatch, and who asked.
  struct Turn : Asking {
    Dispatch& dispatch;
    Requests requests;
    bool has_no_task = false;  // it tells of a task that its sender does not have
  };
  // Who gets a message: a topic's subscribers, everyone, or the agents named.
  struct Route {
    std::string_view topic;  // empty: none
    bool everyone = false;
    std::vector<AgentRef> agents;           // registered
    std::vector<std::string_view> unknown;  // names that no one has
    std::vector<AgentRef> absent;           // of the agents: they are away, and it must not wait
    std::vector<std::pair<AgentRef, AgentRef>> redirected;  // who gets it, for whom

    // One receiver by name: what it cannot take is refused instead of becoming a dead letter.
    bool is_one() const {
      return agents.size() == 1 && unknown.empty() && topic.empty() && !everyone;
    }
  };

  using Played = std::array<Exchange, 3>;  // what a message is part of: see check_rally
  // What becomes of a message that is not refused.
  struct Plan {
    uint64_t content = 0;
    MessageRef repeated = none;    // it was sent before; the rest is not set
    std::optional<Receipt> given;  // its task was given before; likewise
    MessageRef question = none;
    bool answers = false;
    Route route;
    bool in_session = false;
    MessageRef cause = none;
    std::optional<WaitGraph::Edge> wait;
    std::vector<WaitGraph::Edge> in_circle;
    ThreadRef thread = none;
    Played exchanges{};
    uint64_t receivers = 0;
  };

  void let_time_pass(Dispatch& dispatch, Requests& requests);
  std::expected<AgentRef, Error> actor_of(const Entry& entry) const;

  // admit.cc
  std::optional<Error> refusal(const Asking& asking, const Send& command) const;
  std::optional<Error> refusal(const Asking& asking, const Malformed& command) const;

  // commands.cc
  Outcome on(Turn& turn, const SetRules& command);
  Outcome on(Turn& turn, const Register& command);
  Outcome on(Turn& turn, const Unregister& command);
  Outcome on(Turn& turn, const Read& command);
  void note_read(Turn& turn, DeliveryRef ref, const Read& command);
  Outcome on(Turn& turn, const Take& command);
  Outcome acknowledge_upto(Turn& turn, const Ack& command);
  Outcome on(Turn& turn, const Ack& command);
  Outcome on(Turn& turn, const Nack& command);
  Outcome on(Turn& turn, const Reject& command);
  Outcome on(Turn& turn, const Extend& command);
  Outcome on(Turn& turn, const OpenStream& command);
  Outcome on(Turn& turn, const CloseStream& command);
  Outcome on(Turn& turn, const ResolveDeadLetter& command);
  Outcome on(Turn& turn, const ResolveEscalation& command);
  Outcome on(Turn& turn, const Heartbeat& command);
  Outcome on(Turn& turn, const Malformed& command);
  Outcome on(Turn& turn, const Tick& command);
  Outcome on(Turn& turn, const StartNode& command);
  Outcome on(Turn& turn, const AddWorkspace& command);
  std::expected<void, Error> check(const Register& command) const;
  std::expected<void, Error> check(const Asking& turn, const Malformed& command) const;
  std::expected<void, Error> check_webhook(const Register& command, AgentRef found) const;
  void change_dialect(Turn& turn, AgentRef agent, Dialect dialect);
  std::expected<DeliveryRef, Error> find_delivery(const Asking& turn, const Target& target) const;
  std::expected<DeliveryRef, Error> find_held(const Asking& turn, const Target& target) const;
  std::expected<void, Error> may_administer(const Asking& turn, Right right) const;
  // To its receiver, or to the one who stands in for that.
  Outcome retry(Turn& turn, DeadLetter& letter, AgentRef stand_in = none);

  // subscriptions.cc
  Outcome on(Turn& turn, const Subscribe& command);
  Outcome on(Turn& turn, const Unsubscribe& command);
  std::expected<AgentRef, Error> subscriber(const Asking& turn, std::string_view agent) const;
  // Who would listen. It may not be registered yet.
  struct Listener {
    AgentRef agent = none;  // none: a new one
    PrincipalKind kind = PrincipalKind::agent;
    Dialect dialect = Dialect::flow;
  };
  // Whether it can subscribe to all of these.
  std::expected<void, Error> check_topics(const Listener& listener,
                                          std::span<const std::string_view> topics,
                                          std::string_view field) const;
  // Does nothing where it subscribes already. How many messages it gets that were retained.
  uint32_t subscribe(Turn& turn, AgentRef agent, std::span<const std::string_view> topics);
  void unsubscribe(AgentRef agent, std::string_view topic);
  std::deque<MessageRef> retained_by(std::span<const std::string_view> patterns) const;
  uint32_t deliver_retained(Turn& turn, std::deque<MessageRef> retained, AgentRef to);

  // conversations.cc
  Outcome on(Turn& turn, const CloseThread& command);
  std::expected<ThreadRef, Error> find_thread(const Asking& turn, const Envelope& envelope,
                                              const Route& route) const;
  bool may_join(const Asking& turn, const Thread& thread, const Route& route) const;
  void enter_thread(ThreadRef thread, const Envelope& envelope, const Route& route,
                    MessageRef message);

  // session_acts.cc
  Outcome on(Turn& turn, const StartSession& command);
  Outcome on(Turn& turn, const ChangeSession& command);
  std::expected<void, Error> check(const Asking& turn, const StartSession& command,
                                   std::string_view coordinator) const;
  std::expected<void, Error> check(const Asking& turn, const Session& session,
                                   const ChangeSession& command) const;
  std::expected<void, Error> charge_notices(const Asking& turn, uint64_t count);
  std::expected<const Session*, Error> session_of(const Asking& turn, const Envelope& envelope,
                                                  Route& route) const;
  void enter_session(Session& session, const Envelope& envelope, const Route& route,
                     MessageRef message);

  // lock_acts.cc
  Outcome on(Turn& turn, const TakeLock& command);
  Outcome on(Turn& turn, const ReleaseLock& command);
  std::expected<void, Error> check(const Asking& turn, const TakeLock& command) const;
  std::expected<void, Error> check_fence(std::string_view agent, const TakeLock& command) const;
  std::expected<void, Error> check_order(std::string_view agent, std::string_view name) const;

  // task_acts.cc
  Outcome on(Turn& turn, const ReassignTask& command);
  std::expected<void, Error> check_roles(const Asking& turn, const Envelope& e,
                                         const Route& route) const;
  bool answers_question(const Asking& turn, const Envelope& e) const;
  std::expected<void, Error> check_share(std::string_view giver, const Task* task) const;
  std::expected<std::optional<Receipt>, Error> find_given(const Asking& turn, const Envelope& e,
                                                          const Route& route,
                                                          uint64_t content) const;
  void enter_task(Turn& turn, const Envelope& e, const Route& route, MessageRef message,
                  MessageRef question);
  void give_task(Turn& turn, const Envelope& e, const Route& route, MessageRef message);
  void end_task(Turn& turn, Task& task, const Envelope& e);
  Task* task_told_of(const Asking& turn, const Envelope& e);
  bool gave_task(std::string_view task, std::string_view name) const;
  std::expected<Task*, Error> task_to_move(const Asking& turn, const ReassignTask& command);
  std::expected<AgentRef, Error> check_move(const Task& task, std::string_view to) const;

  // send.cc
  static bool is_malformed(const Error& error);  // a send refused for it leaves a dead letter
  Outcome on(Turn& turn, const Send& command);
  std::expected<void, Error> check(const Asking& turn, const Envelope& envelope,
                                   std::string_view sender) const;
  std::string_view sender_of(const Asking& turn, const OutboxItem* item) const;
  std::expected<MessageRef, Error> find_repeated(const Envelope& envelope, uint64_t content) const;
  std::expected<MessageRef, Error> find_question(const Asking& turn,
                                                 const Envelope& envelope) const;
  std::expected<Plan, Error> plan(Asking asking, const Send& command) const;
  std::expected<void, Error> plan_wait(const Asking& turn, const Send& command, Plan& plan) const;
  std::expected<Route, Error> route(const Asking& turn, const Envelope& envelope) const;
  std::expected<void, Error> check_receivers(const Asking& turn, const Envelope& e,
                                             const Route& route) const;
  MessageRef add_message(const Asking& turn, const Envelope& envelope, const Route& route,
                         uint64_t content);
  void answer(Turn& turn, MessageRef question, MessageRef answer, const Envelope& envelope);
  void end_answered(Turn& turn, MessageRef question, AgentRef by, MessageRef answer, Status status);
  std::vector<MessageRef> passed_on(MessageRef question, const Envelope& answer) const;
  MessageRef cause_of(const Asking& turn, const Send& command, const Route& route) const;
  bool is_awaited(MessageRef question, AgentRef by) const;
  uint64_t next_number(AgentRef sender, const Envelope& envelope, const Route& route);
  Outcome send(Turn& turn, const Send& command);
  Outcome accept(Turn& turn, const Send& command, const Plan& plan);
  bool begins_later(const Turn& turn, const Send& command, const Route& route);
  void give_up_outbox_item(Turn& turn, uint64_t id, const Outcome& outcome);
  void deliver(Turn& turn, const Route& route, MessageRef message);

  // absence.cc
  Outcome on(Turn& turn, const StopWaiting& command);
  void check_availability(const Asking& turn, const Send& command, Route& route) const;
  Outcome repeat_refused(Turn& turn, const Send& command, MessageRef message);
  std::optional<WaitGraph::Edge> wait_of(const Asking& turn, const Send& command,
                                         const Route& route, MessageRef cause) const;
  std::vector<WaitGraph::Edge> circle(const WaitGraph::Edge& edge) const;
  Error deadlock(const std::vector<WaitGraph::Edge>& edges, const Send& command) const;
  void begin_wait(const WaitGraph::Edge& edge, MessageRef message);
  Outcome repeat(Turn& turn, const Send& command, MessageRef message);
  std::expected<void, Error> wait_again(Turn& turn, const Send& command, MessageRef message);

  // limits.cc
  Outcome on(Turn& turn, const ResetLimits& command);
  std::expected<void, Error> check_limits(const Asking& turn, const Envelope& envelope,
                                          Plan& plan) const;
  std::expected<void, Error> check_rate(const Asking& turn, const Envelope& envelope) const;
  std::expected<void, Error> check_breaker(const Asking& turn, const Envelope& envelope,
                                           const Route& route) const;
  std::expected<void, Error> check_budget(const Asking& turn) const;
  std::expected<void, Error> check_fan_out(const Asking& turn, uint64_t count) const;
  void count_sent(const Turn& turn, const Send& command, const Plan& plan);
  std::expected<void, Error> check_ping_pong(const Asking& turn, const Envelope& envelope,
                                             const Route& route, Played& played) const;
  uint64_t count_receivers(const Asking& turn, const Route& route) const;

  WorkspaceId id_;
  std::string name_;
  Tables t_;
};

}  // namespace parley::core
