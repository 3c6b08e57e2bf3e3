// SPDX-License-Identifier: Apache-2.0
// What waits for a receiver.
#include <memory>

#include "edge/api/context.h"
#include "edge/api/listing.h"
#include "edge/api/mail_waits.h"
#include "edge/api/waiting.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "edge/signs_of_life.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;

constexpr uint64_t inbox_max = 1'000;
constexpr Duration wait_max = base::minutes(10);

void answer_inbox(const Asker& asker, uint64_t limit) {
  if (asker.refuse_if_stale()) {
    return;
  }
  const core::Tables& t = asker.tables();
  std::vector<base::Seq> listed;
  const uint64_t count = t.agents[asker.caller.ref].inbox.ready(t.messages);
  t.agents[asker.caller.ref].inbox.walk(t.messages, [&](core::DeliveryRef d) {
    listed.push_back(t.messages.message_of(d).seq);
    return listed.size() < limit;
  });
  struct Made {
    uint64_t shown = 0;
    std::string text{};
    JsonWriter out{text};
  };
  const auto made = std::make_shared<Made>();
  made->out.array();
  asker.context->listings->add(
      asker,
      {.records = std::move(listed),
       .each =
           [made, asker](base::Seq seq) {
             const core::Tables& now = asker.tables();
             const core::MessageRef message = now.messages.find(seq);
             const auto envelope = envelope_at(asker.broker(), asker.caller.workspace, seq);
             if (message != core::none && envelope) {
               ++made->shown;
               render_notification(*envelope, now.messages.message(message), asker.caller.dialect,
                                   redirected_from(now, message, asker.caller.ref), made->out);
             }
             return made->text.size() < answer_bytes_max;
           },
       .answer =
           [made, count] {
             made->out.end_array();
             std::string text;
             JsonWriter out(text);
             out.object().key("count").number(count).key("shown").number(made->shown);
             out.key("more").boolean(count > made->shown).key("notifications").raw(made->text);
             out.end_object();
             return json_response(200, std::move(text));
           }});
}

void inbox(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const Duration wait = call.duration("wait");
  const auto dialect = call.wanted_dialect();
  if (!dialect) {
    call.refuse(dialect.error());
    return;
  }
  Asker reader = call;
  reader.caller.dialect = *dialect;
  if (wait.us == 0 || call.tables().agents[call.caller.ref].inbox.first() != core::none) {
    answer_inbox(reader, limit);
    return;
  }
  Context& context = *call.context;
  if (!context.waiting->begin(reader)) {
    return;
  }
  context.mail_waits->add(reader, wait, [reader, limit] {
    reader.context->waiting->remove(reader.exchange);
    answer_inbox(reader, limit);
  });
  context.signs_of_life->keep(call.caller);
}

}  // namespace

std::span<const Route> inbox_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/inbox",
       .handler = inbox,
       .parameters = {query::number("limit", inbox_max), query::duration("wait", wait_max),
                      query::text("dialect")},
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
