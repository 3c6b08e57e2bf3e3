// SPDX-License-Identifier: Apache-2.0
// What a sender may not exceed: rate limits, circuit breakers of receivers, runaway guards.
#include "core/limits/admission.h"

#include <algorithm>
#include <concepts>
#include <variant>

#include "base/size.h"
#include "core/limits/breaker_acts.h"
#include "core/machine/context.h"
#include "core/model/fields.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

// The places in Exchanged.
constexpr size_t by_thread = 0;
constexpr size_t by_pair = 2;

std::unexpected<Error> refuse_for(Code code, std::string detail, Duration retry_after) {
  return std::unexpected(Error{code, std::move(detail), {}, retry_after});
}

// The circuit breaker binds those whom the rates bind.
bool has_rates(const Agent& agent) {
  return agent.kind == PrincipalKind::agent && policy_of(agent.dialect).has_rates;
}

std::string describe(const Rules& rules, const Exchange& exchange, size_t by, const Envelope& e,
                     std::string_view receiver) {
  const std::string times = std::to_string(rules.guard_ping_pong);
  std::string text =
      exchange.count == 2
          ? "you and " + quoted(receiver) + " have answered each other " + times + " times"
          : times + " messages have gone round among " + std::to_string(exchange.count) +
                " agents, from you to " + quoted(receiver) + " and so back to you,";
  text += " since " + base::format_time(exchange.since);
  if (by == by_pair) {
    text +=
        ", each time in a new conversation (guard.ping_pong_max); a message of a person to one "
        "of you lets you go on";
  } else {
    text +=
        (by == by_thread ? " in the conversation " + quoted_start(e.thread, 64)
                         : " in the conversations linked by " + quoted_start(e.correlation, 64)) +
        ", and nobody else has spoken (guard.ping_pong_max); a message of a person or of "
        "another agent in it lets you go on";
  }
  return text + ", or an admin resets one of you";
}

// What waits for its sender's limits is bounded, too. A critical message waits for none.
std::expected<void, Error> check_rate(const ConstContext& context, const Envelope& e) {
  const Tables& t = context.t;
  const uint64_t waiting = t.messages.gates.throttled_of(context.actor);
  if (waiting < t.rules.flow_rate_throttled || e.priority == Priority::critical ||
      !has_rates(t.agents[context.actor])) {
    return {};
  }
  return refuse_for(
      Code::overloaded,
      std::to_string(waiting) +
          " of your messages wait for your rate limits, and no more may "
          "(flow.rate.throttled_max); send again when some have gone, or ask an admin to "
          "raise flow.rate",
      t.messages.gates.passing_of(context.actor, context.now()).first - context.now());
}

std::expected<void, Error> check_breaker(const ConstContext& context, const Envelope& e,
                                         const Route& route) {
  const Tables& t = context.t;
  if (!route.is_one() || e.priority == Priority::critical || context.answers ||
      !has_rates(t.agents[context.actor])) {
    return {};
  }
  const Agent& receiver = t.agents[route.agents.front()];
  const Breaker& breaker = receiver.breaker;
  const Duration wait = breaker.refuses(context.now(), t.rules.breaker_pause,
                                        breaker_key(t.agents[context.actor]));
  if (wait.us == 0) {
    return {};
  }
  const bool failing = breaker.reason() == Breaker::Reason::failures;
  return refuse_for(
      Code::circuit_open,
      "the circuit breaker of " + quoted(receiver.name) + " is " +
          (breaker.raw_state() == Breaker::State::open ? "open since " : "testing it since ") +
          base::format_time(breaker.since()) + ": " +
          (failing ? std::to_string(breaker.failures()) +
                         " deliveries in a row have failed (breaker.failures_max)"
                   : "its inbox was nearly full (breaker.queue_percent)") +
          "; a critical message passes, and an admin can reset it",
      wait);
}

// What an agent sends in a day, and what it says that its model used.
std::expected<void, Error> check_budget(const ConstContext& context) {
  const Tables& t = context.t;
  const Budget today = t.agents[context.actor].budget.on(context.now());
  const Duration rest = Budget::day_ends(context.now()) - context.now();
  const std::string who = "; an admin can raise it or reset the agent";
  if (t.rules.guard_messages > 0 && today.messages >= t.rules.guard_messages) {
    return refuse_for(Code::budget_exceeded,
                      "you have sent " + std::to_string(today.messages) + " messages today; " +
                          std::to_string(t.rules.guard_messages) +
                          " are allowed in a day (guard.messages_per_day)" + who,
                      rest);
  }
  if (t.rules.guard_tokens > 0 && today.tokens >= t.rules.guard_tokens) {
    return refuse_for(Code::budget_exceeded,
                      "you have reported " + std::to_string(today.tokens) + " tokens today; " +
                          std::to_string(t.rules.guard_tokens) +
                          " are allowed in a day (guard.tokens_per_day)" + who,
                      rest);
  }
  return {};
}

std::expected<void, Error> check_fan_out(const ConstContext& context, uint64_t count) {
  const Tables& t = context.t;
  const uint64_t per_min = t.rules.guard_fan_out;
  if (per_min == 0) {
    return {};
  }
  const Duration used = t.agents[context.actor].fan_out.used(context.now());
  const Duration cost = cost_of(count, per_min);
  if (used.us + cost.us <= Bucket::minute.us) {
    return {};
  }
  if (count > per_min) {  // no time to wait helps
    return refuse(Code::fan_out_limit,
                  "this message goes to " + std::to_string(count) + " receivers, and " +
                      std::to_string(per_min) +
                      " deliveries are allowed in a minute (guard.fan_out_per_min), so it can "
                      "never pass; send it to fewer at a time, or ask an admin to raise the limit");
  }
  const auto caused =
      static_cast<uint64_t>(used.us) * per_min / static_cast<uint64_t>(Bucket::minute.us);
  return refuse_for(
      Code::fan_out_limit,
      "this message goes to " + std::to_string(count) +
          " receivers, and yours have "
          "caused " +
          std::to_string(caused) + " deliveries of the " + std::to_string(per_min) +
          " that are allowed in a minute (guard.fan_out_per_min); an admin can raise it",
      Duration{used.us + cost.us - Bucket::minute.us});
}

// Critical messages pass all rates. So whoever calls everything critical is stopped here.
std::expected<void, Error> check_critical(const ConstContext& context, Priority priority) {
  const Tables& t = context.t;
  const uint64_t per_min = t.rules.guard_critical;
  if (per_min == 0 || priority != Priority::critical) {
    return {};
  }
  const Duration used = t.agents[context.actor].critical.used(context.now());
  const Duration wait{used.us + cost_of(1, per_min).us - Bucket::minute.us};
  if (wait.us <= 0) {
    return {};
  }
  return refuse_for(Code::rate_limited,
                    "you may send " + std::to_string(per_min) +
                        " critical messages in a minute (guard.critical_per_min); send it later or "
                        "with a lower priority, or ask an admin to raise the limit",
                    wait);
}

void book(const Tables& t, Agent& sender, Priority priority, uint64_t receivers) {
  if (t.rules.guard_fan_out > 0) {
    (void)sender.fan_out.take(t.now, cost_of(receivers, t.rules.guard_fan_out));
  }
  if (t.rules.guard_critical > 0 && priority == Priority::critical) {
    (void)sender.critical.take(t.now, cost_of(1, t.rules.guard_critical));
  }
}

bool is_agent(const ConstContext& context) {
  return context.actor != none && context.t.agents[context.actor].kind == PrincipalKind::agent;
}

// By the conversation, by what links conversations, and by the two of them where each message
// begins a conversation of its own. What answers a request belongs to that.
std::expected<void, Error> check_ping_pong(const ConstContext& context, const Envelope& e,
                                           const Route& route, Exchanged& exchanges) {
  const Tables& t = context.t;
  const Agent& sender = t.agents[context.actor];
  const Agent& receiver = t.agents[route.agents.front()];
  const uint64_t from = Exchanges::name_of(sender.name);
  const uint64_t to = Exchanges::name_of(receiver.name);
  const bool is_alone = e.correlation.empty() && e.kind != Kind::response &&
                        (e.thread.empty() || t.threads.find(e.thread) == none);
  const std::array<uint64_t, 3> keys = {
      e.thread.empty() ? 0 : Exchanges::key_of(e.thread),
      e.correlation.empty() ? 0 : Exchanges::key_of(e.correlation),
      is_alone ? Exchanges::key_of_pair(from, to) : 0};
  for (size_t n = 0; n < keys.size(); ++n) {
    if (keys[n] == 0) {
      continue;
    }
    const Time interrupted =
        n == by_pair ? std::max(sender.instructed, receiver.instructed) : Time{};
    Exchange& exchange = exchanges[n];
    exchange = t.exchanges.with(keys[n], from, to, context.now(), t.rules.guard_ping_pong_window,
                                interrupted);
    if (exchange.turns > t.rules.guard_ping_pong && !context.answers) {
      return refuse_for(Code::ping_pong, describe(t.rules, exchange, n, e, receiver.name),
                        exchange.since + t.rules.guard_ping_pong_window - context.now());
    }
  }
  return {};
}

uint64_t count_receivers(const ConstContext& context, const Route& route) {
  const Tables& t = context.t;
  const std::vector<AgentRef> agents =
      route.topic.empty() ? route.agents : t.topics.listeners(route.topic);
  const bool fan_out = route.everyone || !route.topic.empty();
  const bool to_self = fan_out && std::ranges::find(agents, context.actor) != agents.end();
  return agents.size() + route.unknown.size() - (to_self ? 1 : 0);
}

// Whether the command asks that something be kept. All else is settling: it ends or frees
// something, or says that someone is there.
template <class Each>
constexpr bool adds = false;
template <>
constexpr bool adds<Send> = true;
template <>
constexpr bool adds<Malformed> = true;
template <>
constexpr bool adds<RaiseFlag> = true;
template <>
constexpr bool adds<AskApproval> = true;
template <>
constexpr bool adds<Register> = true;
template <>
constexpr bool adds<Subscribe> = true;
template <>
constexpr bool adds<StartSession> = true;
template <>
constexpr bool adds<ChangeSession> = true;
template <>
constexpr bool adds<ReassignTask> = true;

// A lock that is renewed by its fence is held already.
bool takes_lock(const TakeLock& command) { return !command.fence || command.fence->n == 0; }

// What the edge asks when a connection or a call ends. Each ends what was begun by a command that
// counted; refused, it would stay for ever.
bool ends_call(const Command& command) {
  return std::holds_alternative<CloseStream>(command) ||
         std::holds_alternative<StopWaiting>(command);
}

// Settling may go beyond a budget of bytes by this part of it and one message: who used it up can
// still free what it has, but not go on for ever. The last message that was taken may have gone
// beyond it already.
constexpr uint64_t settling_part = 4;
uint64_t allowed_today(const Rules& rules, bool settles) {
  const uint64_t more = rules.guard_bytes / settling_part + rules.message_bytes_max;
  return base::saturating_sum(rules.guard_bytes, settles ? more : 0);
}
Duration allowed_now(const Rules& rules, bool settles) {
  const Duration more{Bucket::minute.us / static_cast<int64_t>(settling_part) +
                      cost_of(rules.message_bytes_max, rules.guard_bytes_rate).us};
  return Duration{Bucket::minute.us + (settles ? more.us : 0)};
}

// Adds up the texts among the fields of a command.
struct TextCounter {
  uint64_t bytes = 0;

  template <class T, class... Rest>
  void operator()(std::string_view, const T& value, const Rest&...) {
    add(value);
  }
  template <class T>
  void add(const T& value) {
    if constexpr (std::convertible_to<const T&, std::string_view>) {
      bytes += std::string_view(value).size();
    } else if constexpr (FieldList<const T>) {
      T::fields(value, *this);
    } else if constexpr (requires { value.has_value(); }) {
      if (value) {
        add(*value);
      }
    } else if constexpr (requires { value.first; }) {
      add(value.first);
      add(value.second);
    } else if constexpr (requires { value.begin(); }) {
      for (const auto& item : value) {
        add(item);
      }
    }
  }
};

}  // namespace

uint64_t stored_bytes(const Command& command) {
  constexpr uint64_t head_bytes = 64;
  TextCounter counter;
  std::visit([&counter]<class Each>(const Each& each) { Each::fields(each, counter); }, command);
  return head_bytes + counter.bytes;
}

// What a node sends for the broker is free.
std::expected<void, Error> check_limits(const ConstContext& context, const Envelope& e,
                                        SendPlan& plan) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return {};
  }
  const Route& route = plan.route;
  if (auto good = check_rate(context, e); !good) {
    return good;
  }
  if (auto good = check_breaker(context, e, route); !good) {
    return good;
  }
  if (t.agents[context.actor].kind != PrincipalKind::agent) {
    return {};
  }
  if (auto good = check_budget(context); !good) {
    return good;
  }
  if (auto good = check_critical(context, e.priority); !good) {
    return good;
  }
  plan.receivers = count_receivers(context, route);
  if (auto good = check_fan_out(context, plan.receivers); !good) {
    return good;
  }
  const bool is_exchange = t.rules.guard_ping_pong > 0 && route.is_one() &&
                           route.agents.front() != context.actor &&
                           t.agents[route.agents.front()].kind == PrincipalKind::agent;
  return is_exchange ? check_ping_pong(context, e, route, plan.exchanges)
                     : std::expected<void, Error>{};
}

void count_sent(Context& context, const Send& command, const SendPlan& plan) {
  Tables& t = context.t;
  if (context.actor == none) {
    return;
  }
  const Envelope& e = command.envelope;
  Agent& sender = t.agents[context.actor];
  if (sender.kind != PrincipalKind::agent) {
    for (const AgentRef receiver : plan.route.agents) {  // a person has the word
      t.agents[receiver].instructed = t.now;
    }
    if (t.exchanges.size() > 0) {
      t.exchanges.end(Exchanges::key_of(e.thread));
      t.exchanges.end(Exchanges::key_of(e.correlation));
    }
    return;
  }
  if (plan.route.is_one() && e.priority != Priority::critical && has_rates(sender)) {
    t.agents[plan.route.agents.front()].breaker.admitted(t.now, breaker_key(sender));
  }
  sender.budget.turn(t.now);
  ++sender.budget.messages;
  sender.budget.tokens = base::saturating_sum(sender.budget.tokens, command.tokens);
  book(t, sender, e.priority, plan.receivers);
  for (const Exchange& exchange : plan.exchanges) {
    if (exchange.key != 0) {
      t.exchanges.put(exchange, t.now, t.rules.guard_ping_pong_window, t.rules.guard_conversations);
    }
  }
}

Checked check_notices(const ConstContext& context, uint64_t told) {
  const Tables& t = context.t;
  const uint64_t per_min = t.rules.session_notices;
  if (!is_agent(context) || per_min == 0 || told == 0) {
    return {};
  }
  const Duration used =
      t.buckets.used(Buckets::notices(t.agents[context.actor].name), context.now());
  const Duration cost = cost_of(told, per_min);
  if (used.us + cost.us <= Bucket::minute.us) {
    return {};
  }
  const std::string what = "this would be told to " + std::to_string(told) +
                           " others, and what you do to sessions and ask people to approve may "
                           "cause " +
                           std::to_string(per_min) +
                           " notices in a minute (session.notices_per_min); ";
  if (told > per_min) {  // no time to wait helps
    return refuse(Code::fan_out_limit, what + "ask an admin to raise it");
  }
  return refuse_for(Code::fan_out_limit, what + "wait, or ask an admin to raise it",
                    Duration{used.us + cost.us - Bucket::minute.us});
}

void count_notices(Context& context, uint64_t told) {
  Tables& t = context.t;
  if (is_agent(context) && t.rules.session_notices > 0 && told > 0) {
    Bucket& bucket = t.buckets.at(Buckets::notices(t.agents[context.actor].name), t.now);
    (void)bucket.take(t.now, cost_of(told, t.rules.session_notices));
  }
}

Checked check_caused(const ConstContext& context, Priority priority, uint64_t told) {
  if (!is_agent(context)) {
    return {};
  }
  if (auto good = check_critical(context, priority); !good) {
    return good;
  }
  if (auto good = check_fan_out(context, told); !good) {
    return good;
  }
  return check_notices(context, told);
}

void count_caused(Context& context, Priority priority, uint64_t told) {
  if (is_agent(context)) {
    book(context.t, context.t.agents[context.actor], priority, told);
    count_notices(context, told);
  }
}

bool asks_to_keep(const Command& command) {
  if (const auto* const take = std::get_if<TakeLock>(&command)) {
    return takes_lock(*take);
  }
  return std::visit([]<class Each>(const Each&) { return adds<Each>; }, command);
}

Checked check_written(const ConstContext& context, uint64_t ahead) {
  const Tables& t = context.t;
  const Rules& rules = t.rules;
  if (context.actor == none || t.agents[context.actor].kind != PrincipalKind::agent ||
      ends_call(context.entry.command)) {
    return {};
  }
  const bool settles = !asks_to_keep(context.entry.command);
  const Agent& agent = t.agents[context.actor];
  const uint64_t today = base::saturating_sum(agent.budget.on(context.now()).bytes, ahead);
  if (rules.guard_bytes > 0 && today >= allowed_today(rules, settles)) {
    return refuse_for(
        Code::budget_exceeded,
        "you have had " + base::format_size(today) + " stored today; " +
            base::format_size(rules.guard_bytes) +
            " are allowed in a day (guard.bytes_per_day); an admin can raise it or reset you",
        Budget::day_ends(context.now()) - context.now());
  }
  if (rules.guard_bytes_rate == 0) {
    return {};
  }
  const Duration used{agent.written.used(context.now()).us +
                      cost_of(ahead, rules.guard_bytes_rate).us};
  const Duration most = allowed_now(rules, settles);
  if (used >= most) {
    return refuse_for(
        Code::budget_exceeded,
        "you have had more stored than the " + base::format_size(rules.guard_bytes_rate) +
            " that are allowed in a minute (guard.bytes_per_min); an admin can raise it or "
            "reset you",
        Duration{used.us - most.us + 1});
  }
  return {};
}

void count_written(Context& context) {
  Tables& t = context.t;
  if (context.actor == none || t.agents[context.actor].kind != PrincipalKind::agent) {
    return;
  }
  Agent& agent = t.agents[context.actor];
  const uint64_t bytes = stored_bytes(context.entry.command);
  agent.budget.turn(t.now);
  agent.budget.bytes = base::saturating_sum(agent.budget.bytes, bytes);
  if (t.rules.guard_bytes_rate > 0) {
    (void)agent.written.take(t.now, cost_of(bytes, t.rules.guard_bytes_rate));
  }
}

Checked check(const ConstContext& context, const ResetLimits&) {
  return may_administer(context, Right::admin);
}

Outcome on(Context& context, const ResetLimits& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  const AgentRef ref = t.agents.find(command.name);
  if (ref == none || !t.agents[ref].is_registered()) {
    return refuse(Code::not_found, "no principal is named " + quoted_start(command.name));
  }
  Agent& agent = t.agents[ref];
  agent.breaker = {};
  agent.budget = {};
  agent.fan_out = {};
  agent.critical = {};
  agent.written = {};
  agent.buckets = {};
  t.buckets.at(Buckets::notices(agent.name), t.now) = {};
  t.buckets.at(Buckets::redeliveries(agent.name), t.now) = {};
  t.exchanges.end_all_of(Exchanges::name_of(agent.name));
  return Receipt{};
}

}  // namespace parley::core
