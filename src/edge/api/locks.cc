// SPDX-License-Identifier: Apache-2.0
// Named locks over HTTP.
#include "edge/api/api.h"
#include "edge/render.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

constexpr uint64_t list_max = 10'000;

void render_lock(const core::Lock& lock, JsonWriter& out) {
  out.object().key("name").text(lock.name).key("owner").text(lock.owner);
  out.key("fence").number(lock.fence.n);
  out.key("since").time(lock.since).key("ends_at").time(lock.ends);
}

std::string lock_text(const core::Lock& lock) {
  std::string text;
  JsonWriter out(text);
  render_lock(lock, out);
  out.end_object();
  return text;
}

}  // namespace

void Api::list_locks(Call& call) {
  const auto limit = call.count("limit", 100, list_max);
  if (!limit) {
    refuse(call.exchange, limit.error());
    return;
  }
  const core::Locks& locks = tables(call).locks;
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{locks.size()}).key("locks").array();
  uint64_t listed = 0;
  for (const auto& [name, lock] : locks.all()) {
    if (listed++ == *limit) {
      break;
    }
    render_lock(lock, out);
    out.key("waiting").array();
    for (const core::Lock::Waiter& waiter : lock.line) {
      out.object().key("agent").text(waiter.agent).key("until").time(waiter.until).end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

// Who holds it and until when, beside what went wrong.
void Api::refuse_lock(const net::Exchange& exchange, const Principal& caller,
                      const std::string& name, const Error& error) {
  const core::Lock* const lock =
      broker_.machine().find(caller.workspace)->tables().locks.find(name);
  metrics_.refused(error.code);
  net::Response response = problem(error);
  if (error.code == Code::lock_held && lock != nullptr) {
    std::string members;
    JsonWriter out(members);
    out.object().key("owner").text(lock->owner).key("ends_at").time(lock->ends).end_object();
    response.body.back() = ',';  // the brace
    response.body.append(members, 1);
  }
  respond(exchange, std::move(response));
}

void Api::give_lock(const net::Exchange& exchange, const Principal& caller, const std::string& name,
                    base::Seq place) {
  const core::Lock* const lock =
      broker_.machine().find(caller.workspace)->tables().locks.find(name);
  if (lock != nullptr && lock->fence == place) {
    respond(exchange, json_response(200, lock_text(*lock)));
  } else {
    refuse(exchange, Error{Code::conflict, "you had the lock, and its lease is over", {}});
  }
}

void Api::take_lock(Call& call) {
  const auto body = body_object(call);
  const auto wait = call.duration("wait", Duration{}, tables(call).rules.lock_wait_max);
  const auto lease = body ? duration_member(*body, "lease") : std::nullopt;
  if (const auto unknown = body ? unknown_member(*body, {"lease", "fence"}) : std::nullopt) {
    refuse(call.exchange, *unknown);
    return;
  }
  const lib::Json fenced = body ? body->find("fence") : lib::Json();
  const auto fence = fenced ? fenced.as_uint64() : std::nullopt;
  if (fenced && !fence) {
    refuse(call.exchange,
           Error{Code::bad_request, "fence is a whole number: that of the hold, or 0", "/fence"});
    return;
  }
  const bool no_time = body && body->find("lease") && lease == Duration{};
  if (!body || !wait || !lease || no_time) {
    refuse(call.exchange, !body   ? body.error()
                          : !wait ? wait.error()
                                  : Error{Code::bad_request,
                                          "lease is a duration of more than zero such as 30s or "
                                          "5m; leave it out for the usual one",
                                          "/lease"});
    return;
  }
  broker_.ask(call.caller.workspace, call.caller.name,
              core::TakeLock{.name = call.arguments[0],
                             .lease = *lease,
                             .wait = *wait,
                             .fence = fence ? std::optional(base::Seq{*fence}) : std::nullopt},
              [this, exchange = call.exchange, caller = call.caller, name = call.arguments[0]](
                  const core::Outcome& outcome, std::span<const core::Effect>) {
                if (!outcome) {
                  refuse_lock(exchange, caller, name, outcome.error());
                } else if (outcome->number == 0) {
                  await_lock(exchange, caller, name, outcome->message);
                } else {
                  give_lock(exchange, caller, name, outcome->message);
                }
              });
}

// Answers when its turn has come, or when the machine says that it waited long enough. Whoever
// hangs up leaves the line, and the lock if it was just given.
void Api::await_lock(const net::Exchange& exchange, const Principal& caller,
                     const std::string& name, base::Seq place) {
  const node::Broker::Waiter waiter = broker_.on_answer(
      caller.workspace, place, [this, exchange, caller, name, place](node::Broker::Answer answer) {
        waiting_.erase(exchange);
        if (!is_still_good(exchange, caller)) {
          leave_lock(caller, name, place);
          return;
        }
        if (answer) {
          give_lock(exchange, caller, name, place);
          return;
        }
        const core::Lock* const lock =
            broker_.machine().find(caller.workspace)->tables().locks.find(name);
        const std::string owner = lock == nullptr ? "nobody" : "\"" + lock->owner + "\"";
        Error error{
            Code::lock_held, "your wait for the lock is over; " + owner + " holds it now", {}};
        if (lock != nullptr) {
          error.retry_after = std::max(lock->ends - clock_.now(), Duration{1});
        }
        refuse_lock(exchange, caller, name, error);
      });
  waiting_[exchange] = {caller, [this, waiter, caller, name, place] {
                          broker_.forget(waiter);
                          leave_lock(caller, name, place);
                        }};
  stay_present(exchange, caller);
}

void Api::leave_lock(const Principal& caller, const std::string& name, base::Seq place) {
  broker_.ask(caller.workspace, caller.name, core::ReleaseLock{.name = name, .fence = place},
              [](const core::Outcome&, std::span<const core::Effect>) {});
}

void Api::release_lock(Call& call) {
  const auto fence = call.count("fence", 0, UINT64_MAX);
  if (!fence || (*fence == 0 && call.parameter("fence"))) {
    refuse(call.exchange, fence ? Error{Code::bad_request,
                                        "the parameter fence is the number that came with the "
                                        "lock; leave it out to release whatever you hold",
                                        {}}
                                : fence.error());
    return;
  }
  broker_.ask(call.caller.workspace, call.caller.name,
              core::ReleaseLock{.name = call.arguments[0], .fence = base::Seq{*fence}},
              [this, exchange = call.exchange, caller = call.caller, name = call.arguments[0]](
                  const core::Outcome& outcome, std::span<const core::Effect>) {
                if (outcome) {
                  respond(exchange, json_response(200, "{}"));
                } else if (outcome.error().code == Code::lock_held) {
                  refuse(exchange, Error{Code::forbidden,
                                         "another holds the lock; only its owner or a maintainer "
                                         "releases it",
                                         {}});
                } else {
                  refuse_lock(exchange, caller, name, outcome.error());
                }
              });
}

}  // namespace parley::edge
