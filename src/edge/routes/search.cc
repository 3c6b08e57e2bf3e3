// SPDX-License-Identifier: Apache-2.0
// Reads that need the view: messages that the engine has forgotten, and look-ups over all of them.
// What is still in the engine is told as it stands there.
#include <algorithm>
#include <map>
#include <memory>

#include "edge/api/context.h"
#include "edge/api/history.h"
#include "edge/api/listing.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "edge/routes/search.h"
#include "lib/json_writer.h"
#include "view/traces.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;
using view::Questions;
using view::Reader;

constexpr uint64_t list_max = 500;
constexpr size_t listed_max = 20;  // a message with more receivers is listed without them

// `name` is what the caller wrote: the id, perhaps in the form of its sender.
std::expected<std::optional<view::StoredMessage>, Error> find(Reader& reader,
                                                              const Reader::Viewer& viewer,
                                                              const core::Target& target,
                                                              const std::string& name) {
  auto found = target.seq.n != 0 ? reader.find(viewer, target.seq) : reader.find(viewer, target.id);
  return found && !*found ? reader.find(viewer, name) : found;
}

// What the engine would have kept of it.
core::Message header_of(const view::StoredMessage& stored, const core::Envelope& envelope) {
  core::Message header;
  header.seq = stored.seq;
  header.time = stored.time;
  header.id = envelope.id;
  header.priority = envelope.priority;
  header.dialect = envelope.dialect;
  return header;
}

net::Response response_of(const view::StoredMessage& stored, const core::Envelope& envelope,
                          core::Dialect dialect, std::string_view recipient) {
  net::Response response = json_response(200, {});
  codec_of(dialect).encode(envelope, shown_to(recipient), response.body);
  add_provenance(envelope, header_of(stored, envelope), {}, response);
  return response;
}

void render_stored(const std::vector<view::StoredDelivery>& deliveries, JsonWriter& out) {
  out.array();
  for (const view::StoredDelivery& delivery : deliveries) {
    out.object().key("receiver").text(delivery.receiver);
    out.key("state").text(core::state_name(delivery.state)).key("since").time(delivery.time);
    out.key("attempts").number(uint64_t{delivery.attempts});
    if (!delivery.last_error.empty()) {
      out.key("last_error").text(delivery.last_error);
    }
    out.end_object();
  }
  out.end_array();
}

// `named`: its reader may know who the receivers are.
std::string old_delivery_text(const Principal& reader, base::Seq seq,
                              const core::Envelope& envelope,
                              const std::vector<view::StoredDelivery>& deliveries, bool named) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(dialect::id_in(reader.dialect, envelope));
  out.key("seq").number(seq.n);
  std::map<std::string_view, uint64_t> states;
  for (const view::StoredDelivery& delivery : deliveries) {
    ++states[core::state_name(delivery.state)];
  }
  out.key("recipient_count").number(uint64_t{deliveries.size()});
  render_states(states, out);
  if (envelope.durability == core::Durability::memory) {
    out.key("not_persisted").boolean(true);
  }
  out.key("deliveries");
  render_stored(named ? deliveries : std::vector<view::StoredDelivery>{}, out);
  out.end_object();
  return text;
}

// What a list asks for, with texts of its own.
struct Wanted {
  std::string thread;
  std::string agent;
  bool sent_only = false;
  base::Time from;
  base::Time to;
  base::Seq before{INT64_MAX};
  uint64_t limit = 0;

  // As the query says, where these name the ends of the time.
  static Wanted of(const Call& call, std::string_view from, std::string_view to);
};

struct SearchPage {
  struct Item {
    view::StoredMessage message;
    Reader::Receivers receivers;
  };
  std::vector<Item> items;
  base::Seq next;
};

Wanted Wanted::of(const Call& call, std::string_view from, std::string_view to) {
  Wanted wanted;
  wanted.from = call.time(from, {});
  wanted.to = call.time(to, base::time_max);
  if (const uint64_t cursor = call.number("cursor", 0); cursor != 0) {
    wanted.before = base::Seq{cursor};
  }
  wanted.limit = call.number("limit", 100);
  return wanted;
}

// A page on its way to who asked: some of its messages are written in each turn.
struct PageAnswer {
  Asker asker;
  std::shared_ptr<const SearchPage> page;
  size_t written = 0;
  std::string text{};
  JsonWriter out{text};
  std::shared_ptr<void> question = asker.context->history->hold(asker.caller);
};

void write_item(const Asker& asker, const SearchPage::Item& item, JsonWriter& out) {
  const core::Tables& t = asker.tables();
  const auto& [stored, receivers] = item;
  const auto envelope = envelope_of(stored);
  if (!envelope) {
    return;  // written by a newer version
  }
  out.object();
  render_summary(*envelope, header_of(stored, *envelope), asker.caller.dialect, out);
  out.key("to").array();
  for (const std::string_view receiver : envelope->receivers) {
    out.text(receiver);
  }
  out.end_array();
  // How it stands with each receiver is for its sender, and for those who look after all.
  if (may_see_deliveries(asker.caller, stored, *envelope)) {
    const core::MessageRef ref = t.messages.find(stored.seq);
    const bool live = ref != core::none;
    const uint64_t count = live ? t.messages.message(ref).delivery_count : receivers.count;
    out.key("recipient_count").number(count);
    out.key("open").number(live ? t.messages.message(ref).open : receivers.open);
    out.key("deliveries");
    const bool named = !live && (sees_subscribers(t, asker.caller) ||
                                 !view::is_on_topic(*envelope, receivers.listed));
    if (live && count <= listed_max) {
      render_deliveries(t, asker.caller, ref, out);
    } else {
      render_stored(named ? receivers.listed : std::vector<view::StoredDelivery>{}, out);
    }
  }
  out.end_object();
}

// True: the page is answered.
bool go_on(PageAnswer& answer) {
  constexpr size_t messages_per_turn = 64;
  const std::vector<SearchPage::Item>& items = answer.page->items;
  for (const size_t end = std::min(items.size(), answer.written + messages_per_turn);
       answer.written < end; ++answer.written) {
    write_item(answer.asker, items[answer.written], answer.out);
  }
  if (answer.written < items.size()) {
    return false;
  }
  answer.out.end_array().end_object();
  answer.asker.respond(json_response(200, std::move(answer.text)));
  return true;
}

void answer_page(const Asker& asker, std::shared_ptr<const SearchPage> page) {
  const auto answer = std::make_shared<PageAnswer>(asker, std::move(page));
  answer->out.object().key("count").number(uint64_t{answer->page->items.size()});
  if (answer->page->next.n != 0) {
    answer->out.key("next").number(answer->page->next.n);
  }
  answer->out.key("messages").array();
  asker.context->listings->add(asker, [answer] { return go_on(*answer); });
}

void ask_history(const Asker& asker, Wanted wanted) {
  const bool sees_all = sees_subscribers(asker.tables(), asker.caller);
  asker.context->history->ask(
      asker,
      [asker, sees_all,
       wanted = std::move(wanted)](Reader& reader) -> std::expected<Questions::Answer, Error> {
        const Reader::Viewer viewer =
            wanted.sent_only ? self_of(asker.caller) : viewer_of(asker.caller);
        auto page = reader.search(viewer, {.thread = wanted.thread,
                                           .agent = wanted.agent,
                                           .hides_subscribers = !sees_all,
                                           .sent_only = wanted.sent_only,
                                           .from = wanted.from,
                                           .to = wanted.to,
                                           .before = wanted.before,
                                           .limit = wanted.limit});
        if (!page) {
          return std::unexpected(page.error());
        }
        const auto listing = std::make_shared<SearchPage>();
        listing->next = page->next;
        for (view::StoredMessage& message : page->messages) {
          auto receivers = reader.receivers(viewer, message.seq, listed_max);
          if (!receivers) {
            return std::unexpected(receivers.error());
          }
          listing->items.push_back({std::move(message), std::move(*receivers)});
        }
        return [asker, listing] { answer_page(asker, listing); };
      });
}

void outbox(Call& call) {
  Wanted wanted = Wanted::of(call, "since", "until");
  wanted.sent_only = true;
  ask_history(call, std::move(wanted));
}

void search(Call& call) {
  Wanted wanted = Wanted::of(call, "from", "to");
  wanted.thread = call.text("thread");
  wanted.agent = call.text("agent");
  ask_history(call, std::move(wanted));
}

}  // namespace

void show_old_message(const Asker& asker, const core::Target& target, const std::string& name,
                      core::Dialect dialect) {
  asker.context->history->ask(
      asker,
      [asker, target, name, dialect](Reader& reader) -> std::expected<Questions::Answer, Error> {
        const auto found = find(reader, viewer_of(asker.caller), target, name);
        if (!found) {
          return std::unexpected(found.error());
        }
        if (!*found) {
          return std::unexpected(
              Error{Code::not_found, "no such message was sent to you or by you", {}});
        }
        const auto envelope = envelope_of(**found);
        if (!envelope) {
          return std::unexpected(envelope.error());
        }
        return [asker, response = response_of(**found, *envelope, dialect, asker.caller.name)] {
          asker.respond(response);
        };
      });
}

void show_old_delivery(const Asker& asker, const core::Target& target, const std::string& name) {
  asker.context->history->ask(
      asker,
      [asker, target, name, sees_all = sees_subscribers(asker.tables(), asker.caller)](
          Reader& reader) -> std::expected<Questions::Answer, Error> {
        const Reader::Viewer viewer = viewer_of(asker.caller);
        const auto found = find(reader, viewer, target, name);
        if (!found) {
          return std::unexpected(found.error());
        }
        const auto envelope = *found ? envelope_of(**found) : core::Envelope{};
        if (!*found || !envelope || !may_see_deliveries(asker.caller, **found, *envelope)) {
          return std::unexpected(Error{Code::not_found, "you sent no such message", {}});
        }
        const auto deliveries = reader.deliveries(viewer, (*found)->seq);
        if (!deliveries) {
          return std::unexpected(deliveries.error());
        }
        const bool named = sees_all || !view::is_on_topic(*envelope, *deliveries);
        return
            [asker, text = old_delivery_text(asker.caller, (*found)->seq, *envelope, *deliveries,
                                             named)] { asker.respond(json_response(200, text)); };
      });
}

std::span<const Route> search_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/messages",
       .handler = search,
       .parameters = {query::text("thread"), query::text("agent"), query::time("from"),
                      query::time("to"), query::number("limit", list_max),
                      query::number("cursor", INT64_MAX)},
       .who = Who::principal},
      {.method = "GET",
       .pattern = "/v1/outbox",
       .handler = outbox,
       .parameters = {query::time("since"), query::time("until"), query::number("limit", list_max),
                      query::number("cursor", INT64_MAX)},
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
