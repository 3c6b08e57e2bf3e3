// SPDX-License-Identifier: Apache-2.0
// Named locks over HTTP.
#include <algorithm>

#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/api/waiting.h"
#include "edge/routes/routes.h"
#include "edge/signs_of_life.h"
#include "lib/json_writer.h"

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

void list_locks(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const core::Locks& locks = call.tables().locks;
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{locks.size()}).key("locks").array();
  uint64_t listed = 0;
  for (const auto& [name, lock] : locks.all()) {
    if (listed++ == limit) {
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
  call.respond(json_response(200, std::move(text)));
}

// Who holds it and until when, beside what went wrong.
void refuse_lock(const Asker& asker, const std::string& name, const Error& error) {
  const core::Lock* const lock = asker.tables().locks.find(name);
  ProblemExtras extras;
  if (error.code == Code::lock_held && lock != nullptr) {
    extras.members = [lock](JsonWriter& out) {
      out.key("owner").text(lock->owner).key("ends_at").time(lock->ends);
    };
  }
  asker.refuse(error, extras);
}

void give_lock(const Asker& asker, const std::string& name, base::Seq place) {
  const core::Lock* const lock = asker.tables().locks.find(name);
  if (lock != nullptr && lock->fence == place) {
    asker.respond(json_response(200, lock_text(*lock)));
  } else {
    asker.refuse(Error{Code::conflict, "you had the lock, and its lease is over", {}});
  }
}

void leave_lock(const Asker& asker, const std::string& name, base::Seq place) {
  asker.ask(core::ReleaseLock{.name = name, .fence = place});
}

// Answers when its turn has come, or when the machine says that it waited long enough. Whoever
// hangs up leaves the line, and the lock if it was just given.
void await_lock(const Asker& asker, const std::string& name, base::Seq place) {
  const node::Waiter waiter = asker.broker().waiters().on_answer(
      asker.caller.workspace, place, [asker, name, place](node::Answer answer) {
        asker.context->waiting->remove(asker.exchange);
        if (asker.refuse_if_stale()) {
          leave_lock(asker, name, place);
          return;
        }
        if (answer) {
          give_lock(asker, name, place);
          return;
        }
        const core::Lock* const lock = asker.tables().locks.find(name);
        const std::string owner = lock == nullptr ? "nobody" : "\"" + lock->owner + "\"";
        Error error{
            Code::lock_held, "your wait for the lock is over; " + owner + " holds it now", {}};
        if (lock != nullptr) {
          error.retry_after = std::max(lock->ends - asker.now(), Duration{1});
        }
        refuse_lock(asker, name, error);
      });
  asker.context->waiting->add(asker, [asker, waiter, name, place] {
    asker.broker().waiters().forget(waiter);
    leave_lock(asker, name, place);
  });
  asker.context->signs_of_life->keep(asker.caller);
}

void take_lock(Call& call) {
  Members body(call.body);
  const Duration lease = body.duration("lease");
  const auto fence = body.number("fence", "fence is a whole number: that of the hold, or 0");
  if (lease.us == 0 && body.find("lease").as_string()) {
    body.blame(
        "lease",
        "lease is a duration of more than zero such as 30s or 5m; leave it out for the usual "
        "one");
  }
  const Duration wait = call.duration("wait");
  if (const Duration max = call.tables().rules.lock_wait_max; wait > max) {
    body.blame(
        bad_parameter("wait", "a duration such as 30s, up to " + base::format_duration(max)));
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  if (wait.us > 0 && !call.context->waiting->begin(call)) {
    return;
  }
  call.ask(core::TakeLock{.name = call.arguments[0],
                          .lease = lease,
                          .wait = wait,
                          .fence = fence ? std::optional(base::Seq{*fence}) : std::nullopt},
           [asker = call.asker(), name = call.arguments[0]](const core::Outcome& outcome,
                                                            std::span<const core::Effect>) {
             if (!outcome) {
               refuse_lock(asker, name, outcome.error());
             } else if (!outcome->lock_granted) {
               await_lock(asker, name, outcome->message);
             } else {
               give_lock(asker, name, outcome->message);
             }
           });
}

void release_lock(Call& call) {
  const uint64_t fence = call.number("fence", 0);
  if (fence == 0 && call.parameter("fence")) {
    call.refuse(
        bad_parameter("fence",
                      "the number that came with the lock; leave it out to release whatever "
                      "you hold"));
    return;
  }
  call.ask(core::ReleaseLock{.name = call.arguments[0], .fence = base::Seq{fence}},
           [asker = call.asker(), name = call.arguments[0]](const core::Outcome& outcome,
                                                            std::span<const core::Effect>) {
             if (outcome) {
               asker.respond(json_response(200, "{}"));
             } else if (outcome.error().code == Code::lock_held) {
               asker.refuse(Error{Code::forbidden,
                                  "another holds the lock; only its owner or a maintainer "
                                  "releases it",
                                  {}});
             } else {
               refuse_lock(asker, name, outcome.error());
             }
           });
}

}  // namespace

std::span<const Route> lock_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/locks",
       .handler = list_locks,
       .parameters = {query::number("limit", list_max)},
       .who = Who::principal},
      {.method = "PUT",
       .pattern = "/v1/locks/{}",
       .handler = take_lock,
       .parameters = {query::duration("wait")},
       .body = body_of({"lease", "fence"}),
       .who = Who::machine},
      {.method = "DELETE",
       .pattern = "/v1/locks/{}",
       .handler = release_lock,
       .parameters = {query::number("fence")},
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
