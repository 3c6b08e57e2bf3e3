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

// What a list asks for.
struct Wanted {
  uint64_t limit = 0;
  base::Seq after;  // the message behind which it begins; 0: at the first
};

// What is to be listed, in the order in which it is handed out.
struct Listed {
  std::vector<base::Seq> messages;
  bool more = false;  // others are behind these
};

// A message that does not wait any more has no place: then the list begins at the first.
Listed listed_of(const core::Tables& t, const core::Inbox& inbox, Wanted wanted) {
  Listed found;
  bool is_behind = wanted.after.n == 0;
  inbox.walk(t.messages, [&](core::DeliveryRef d) {
    const base::Seq seq = t.messages.message_of(d).seq;
    if (!is_behind) {
      is_behind = seq == wanted.after;
      return true;
    }
    found.more = found.messages.size() >= wanted.limit;
    if (!found.more) {
      found.messages.push_back(seq);
    }
    return !found.more;
  });
  return is_behind ? found : listed_of(t, inbox, {.limit = wanted.limit});
}

void answer_inbox(const Asker& asker, Wanted wanted) {
  if (asker.refuse_if_stale()) {
    return;
  }
  const core::Tables& t = asker.tables();
  const core::Inbox& waiting = t.agents[asker.caller.ref].inbox;
  const uint64_t count = waiting.ready(t.messages);
  Listed listed = listed_of(t, waiting, wanted);
  struct Made {
    size_t left;  // not looked at yet
    bool more;
    base::Seq last{};
    uint64_t shown = 0;
    std::string text{};
    JsonWriter out{text};
  };
  const auto made = std::make_shared<Made>(listed.messages.size(), listed.more);
  made->out.array();
  asker.context->listings->add(
      asker,
      {.records = std::move(listed.messages),
       .each =
           [made, asker](base::Seq seq) {
             --made->left;
             made->last = seq;
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
             const bool more = made->more || made->left > 0;
             out.key("more").boolean(more);
             if (more && made->last.n != 0) {
               out.key("next").number(made->last.n);
             }
             out.key("notifications").raw(made->text).end_object();
             return json_response(200, std::move(text));
           }});
}

void inbox(Call& call) {
  const Wanted wanted{call.number("limit", 100), base::Seq{call.number("cursor", 0)}};
  const Duration wait = call.duration("wait");
  const auto dialect = call.wanted_dialect();
  if (!dialect) {
    call.refuse(dialect.error());
    return;
  }
  Asker reader = call;
  reader.caller.dialect = *dialect;
  if (wait.us == 0 || call.tables().agents[call.caller.ref].inbox.first() != core::none) {
    answer_inbox(reader, wanted);
    return;
  }
  Context& context = *call.context;
  if (!context.waiting->begin(reader)) {
    return;
  }
  context.mail_waits->add(reader, wait, [reader, wanted] {
    reader.context->waiting->remove(reader.exchange);
    answer_inbox(reader, wanted);
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
                      query::text("dialect"), query::number("cursor", INT64_MAX)},
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
