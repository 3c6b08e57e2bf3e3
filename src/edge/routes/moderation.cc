// SPDX-License-Identifier: Apache-2.0
// What only moderators see. For anyone else there is nothing here.
#include "dialect/dialect.h"
#include "edge/answers/flags.h"
#include "edge/answers/receipt.h"
#include "edge/api/context.h"
#include "edge/api/flag_waits.h"
#include "edge/api/members.h"
#include "edge/api/waiting.h"
#include "edge/gate.h"
#include "edge/private_flags.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

constexpr uint64_t flags_listed_max = 1'000;
constexpr Duration wait_max = base::minutes(10);

const Error nothing_here{Code::not_found, "there is nothing at this path", {}};

void answer_flags(const Asker& asker, const WantedFlags& wanted) {
  asker.respond(json_response(200, flags_text(asker.tables().flags, wanted)));
}

void answer_or_wait(const Asker& asker, const WantedFlags& wanted, base::Time until) {
  if (asker.refuse_if_stale()) {
    return;
  }
  const bool is_counted = asker.context->waiting->contains(asker.exchange);
  if (wanted.count(asker.tables().flags) > 0 || asker.now() >= until) {
    answer_flags(asker, wanted);
  } else if (is_counted || asker.context->waiting->begin(asker)) {
    asker.context->flag_waits->add(asker, until - asker.now(), [asker, wanted, until] {
      answer_or_wait(asker, wanted, until);
    });
  }
}

void list_flags(Call& call) {
  if (!call.caller.is_moderator()) {
    call.refuse(nothing_here);
    return;
  }
  const std::string state = call.text("state", "all");
  if (state != "all" && state != "open" && state != "resolved") {
    call.refuse(bad_parameter("state", "open, resolved or all"));
    return;
  }
  const WantedFlags wanted{.open = state != "resolved",
                      .resolved = state != "open",
                      .before = call.number("cursor", 0),
                      .limit = call.number("limit", 100)};
  answer_or_wait(call, wanted, call.now() + call.duration("wait"));
}

// Anyone may put something before the moderators. What is wrong with it is for them to judge.
void raise(Call& call) {
  Members body(call.body);
  const lib::Json flag = body.find("flag");
  const std::string_view summary = body.text("summary");
  const std::string_view name = body.text("message_id");
  if (!flag) {
    body.blame(Error{Code::bad_request, "a flag says something: any JSON value", "/flag"});
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const auto uuid = dialect::uuid_of(name);
  raise_flag(
      *call.context, call.caller,
      {.id = uuid           ? *uuid
             : name.empty() ? lib::random_uuid()
                            : dialect::message_id_of(lib::derived_id, call.caller.name, name),
       .text = std::string(flag.raw()),
       .problem = {},
       .summary = std::string(summary)},
      reply_receipt(call, call.caller.dialect));
}

const core::Flag* find_flag(const Call& call) {
  const auto id = parse_number(call.arguments[0]);
  const core::Flag* const flag = id ? call.tables().flags.find(*id) : nullptr;
  return flag != nullptr && may_see(call.caller, *flag) ? flag : nullptr;
}

void show_flag(Call& call) {
  const core::Flag* const flag = find_flag(call);
  if (flag == nullptr) {
    call.refuse(nothing_here);
    return;
  }
  const auto said = flag_at(call.broker(), call.caller.workspace, flag->record);
  if (!said) {
    call.refuse(said.error());
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object();
  render_flag(*flag, out);
  out.key("intact").boolean(lib::sha256(said->text) == flag->digest &&
                            chained(flag->previous, flag->sender, flag->message, flag->digest) ==
                                flag->hash);
  if (said->problem.empty()) {
    out.key("flag").raw(said->text);
  } else {
    out.key("problem").text(said->problem).key("text").text(said->text);
  }
  out.end_object();
  call.respond(json_response(200, std::move(text)));
}

void resolve_flag(Call& call) {
  const core::Flag* const flag = find_flag(call);
  if (flag == nullptr) {
    call.refuse(nothing_here);
    return;
  }
  Members body(call.body);
  const auto resolution = body.needed_text("resolution", "resolution says what was done, a string");
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const uint64_t id = flag->id;
  call.ask(core::ResolveFlag{.id = id, .resolution = resolution},
           call.when_done([asker = call.asker(), id](const core::Receipt&) {
             std::string text;
             JsonWriter out(text);
             out.object();
             if (const core::Flag* const now = asker.tables().flags.find(id); now != nullptr) {
               render_flag(*now, out);
             }
             out.end_object();
             asker.respond(json_response(200, std::move(text)));
           }));
}

}  // namespace

std::span<const Route> moderation_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/moderation/flags",
       .handler = list_flags,
       .parameters = {query::text("state"), query::number("limit", flags_listed_max),
                      query::number("cursor", INT64_MAX), query::duration("wait", wait_max)},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/moderation/flags",
       .handler = raise,
       .body = body_with_secrets_of({"flag", "summary", "message_id"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/moderation/flags/{}",
       .handler = show_flag,
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/moderation/flags/{}/resolve",
       .handler = resolve_flag,
       .body = body_with_secrets_of({"resolution"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
