// SPDX-License-Identifier: Apache-2.0
// What could not be delivered.
#include <algorithm>

#include "base/text.h"
#include "edge/api/context.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

constexpr uint64_t list_max = 1'000;

base::Error no_such_letter(std::string_view id) {
  return {Code::not_found,
          "there is no dead letter \"" + std::string(base::cut(id, 64)) +
              "\"; they have numbers, as GET /v1/dead-letters lists them",
          {}};
}

void list_dead_letters(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const core::Tables& t = call.tables();
  const auto state = call.parameter("state");
  const bool pending_only = state == "pending";
  if (state && !pending_only) {
    call.refuse(bad_parameter("state", "pending"));
    return;
  }
  const size_t count = pending_only ? t.dead_letters.pending() : t.dead_letters.size();
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{count});
  out.key("dropped").number(t.dead_letters.dropped()).key("dead_letters").array();
  uint64_t listed = 0;
  for (auto at = t.dead_letters.all().rbegin(); at != t.dead_letters.all().rend(); ++at) {
    if (listed == limit) {
      break;
    }
    if (!pending_only || at->second.resolution == core::Resolution::pending) {
      render_dead_letter(t, at->second, out);
      ++listed;
    }
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

void show_dead_letter(Call& call) {
  const auto& letters = call.tables().dead_letters.all();
  const auto at = letters.find(parse_number(call.arguments[0]).value_or(0));
  if (at == letters.end()) {
    call.refuse(no_such_letter(call.arguments[0]));
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("dead_letter");
  render_dead_letter(call.tables(), at->second, out);
  const auto original =
      !at->second.has_original
          ? std::unexpected(Error{Code::not_found, "it was too large to be kept", {}})
      : at->second.reason == core::Reason::malformed
          ? malformed_text(call.broker(), call.caller.workspace, at->second.message)
          : message_text(call.broker(), call.caller.workspace, at->second.message,
                         call.caller.dialect, {.recipient = at->second.receiver});
  if (original) {
    out.key("original_message").raw(*original);
  }
  out.end_object();
  call.respond(json_response(200, std::move(text)));
}

void resolve_dead_letter(Call& call, core::Resolution resolution) {
  const uint64_t id = parse_number(call.arguments[0]).value_or(0);
  if (id == 0 && call.caller.is_maintainer()) {
    call.refuse(no_such_letter(call.arguments[0]));
    return;
  }
  call.ask(core::ResolveDeadLetter{.id = id, .resolution = resolution}, call.reply());
}

void retry_dead_letter(Call& call) { resolve_dead_letter(call, core::Resolution::retried); }

void discard_dead_letter(Call& call) { resolve_dead_letter(call, core::Resolution::discarded); }

void escalate_dead_letter(Call& call) { resolve_dead_letter(call, core::Resolution::escalated); }

}  // namespace

std::span<const Route> dead_letter_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/dead-letters",
       .handler = list_dead_letters,
       .parameters = {query::number("limit", list_max), query::text("state")},
       .who = Who::maintainer},
      {.method = "GET",
       .pattern = "/v1/dead-letters/{}",
       .handler = show_dead_letter,
       .who = Who::maintainer},
      {.method = "POST",
       .pattern = "/v1/dead-letters/{}/retry",
       .handler = retry_dead_letter,
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/dead-letters/{}/discard",
       .handler = discard_dead_letter,
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/dead-letters/{}/escalate",
       .handler = escalate_dead_letter,
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
