// SPDX-License-Identifier: Apache-2.0
#include "sim/verdict.h"

namespace parley::sim {

std::string_view check_name(Check check) {
  switch (check) {
    case Check::promise:
      return "promise";
    case Check::answer:
      return "answer";
    case Check::equal:
      return "equal";
    case Check::snapshot:
      return "snapshot";
    case Check::time:
      return "time";
    case Check::once:
      return "once";
    case Check::receivers:
      return "receivers";
    case Check::settle:
      return "settle";
    case Check::letter:
      return "letter";
    case Check::notice:
      return "notice";
    case Check::wait:
      return "wait";
    case Check::visible:
      return "visible";
    case Check::order:
      return "order";
    case Check::idle:
      return "idle";
    case Check::holder:
      return "holder";
    case Check::lease:
      return "lease";
    case Check::expiry:
      return "expiry";
    case Check::window:
      return "window";
    case Check::life:
      return "life";
    case Check::duplicate:
      return "duplicate";
    case Check::limit:
      return "limit";
    case Check::presence:
      return "presence";
    case Check::deadlock:
      return "deadlock";
    case Check::breaker:
      return "breaker";
    case Check::guard:
      return "guard";
    case Check::pace:
      return "pace";
    case Check::recount:
      return "recount";
    case Check::care:
      return "care";
    case Check::thread:
      return "thread";
    case Check::session:
      return "session";
    case Check::lock:
      return "lock";
    case Check::task:
      return "task";
    case Check::webhook:
      return "webhook";
    case Check::resume:
      return "resume";
    case Check::body:
      return "body";
    case Check::advice:
      return "advice";
  }
  return "unknown";
}

}  // namespace parley::sim
