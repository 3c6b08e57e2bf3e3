// SPDX-License-Identifier: Apache-2.0
// Reads that need the view: messages that the engine has forgotten, and look-ups over all of them.
// What is still in the engine is told as it stands there.
#include <chrono>
#include <map>
#include <memory>

#include "edge/api/api.h"
#include "edge/render.h"
#include "view/traces.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;
using view::Questions;
using view::Reader;

// How long a read waits for all that happened before it to be in the view, and how long for what
// the caller itself did. The first is met unless there is a burst; only the second is promised.
constexpr std::chrono::milliseconds courtesy{100};
constexpr std::chrono::seconds patience{2};
constexpr uint64_t list_max = 500;
constexpr size_t listed_max = 20;  // a message with more receivers is listed without them

uint64_t key_of(core::WorkspaceId workspace, core::AgentRef ref) {
  return uint64_t{static_cast<uint32_t>(workspace)} << 32 | ref;
}

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

}  // namespace

// What a list asks for, with texts of its own.
struct Api::Wanted {
  std::string thread;
  std::string agent;
  bool sent_only = false;
  base::Time from;
  base::Time to;
  base::Seq before{INT64_MAX};
  uint64_t limit = 0;

  // As the query says, where these name the ends of the time.
  static std::expected<Wanted, Error> of(const Call& call, std::string_view from,
                                         std::string_view to);
};

struct Api::SearchPage {
  struct Item {
    view::StoredMessage message;
    Reader::Receivers receivers;
  };
  std::vector<Item> items;
  base::Seq next;
};

void Api::note_write(const core::Entry& entry) {
  const core::Workspace* workspace = broker_.machine().find(entry.workspace);
  const core::AgentRef actor =
      workspace == nullptr ? core::none : workspace->tables().agents.find(entry.actor);
  if (actor != core::none) {
    written_[key_of(entry.workspace, actor)] = entry.seq;
  }
}

// Asks when what the caller did is in the view. The question runs on another thread: it must not
// touch the broker.
void Api::ask_history(const net::Exchange& exchange, const Principal& caller, Questions::Ask ask) {
  if (options_.view == nullptr) {
    refuse(exchange, Error{Code::unavailable,
                           "the history could not be opened when the broker started; what it "
                           "wrote on standard error says why",
                           {}});
    return;
  }
  const auto written = written_.find(key_of(caller.workspace, caller.ref));
  const base::Seq own = written == written_.end() ? started_ : written->second;
  const auto now = options_.view->feed().now();
  // The answer comes later, and is for who asked only.
  const Questions::Ask guarded = [this, exchange, caller, ask = std::move(ask)](
                                     Reader& reader) -> std::expected<Questions::Answer, Error> {
    auto answer = ask(reader);
    if (!answer) {
      return std::unexpected(answer.error());
    }
    return [this, exchange, caller, tell = std::move(*answer)] {
      if (is_still_good(exchange, caller)) {
        tell();
      }
    };
  };
  const auto ask_now = [this, exchange, guarded] {
    options_.view->questions().ask(
        guarded, [this, exchange](const Error& error) { refuse(exchange, error); });
  };
  const auto ask_late = [this, exchange, ask_now](const view::Feed::Reached& reached) {
    if (reached.there) {
      ask_now();
      return;
    }
    const auto trouble = options_.view->feed().trouble();
    const Error error{Code::view_behind,
                      "the history is " + std::to_string(reached.behind) +
                          " entries behind and lacks what you did last" +
                          (trouble ? ": " + trouble->detail : "; ask again after a pause"),
                      {}};
    metrics_.refused(error.code);
    respond(exchange, problem(error, "behind", reached.behind));
  };
  options_.view->feed().wait_for(broker_.machine().seq(), now + courtesy,
                                 [this, own, now, ask_now, ask_late](const auto& reached) {
                                   if (reached.there) {
                                     ask_now();
                                   } else {
                                     options_.view->feed().wait_for(own, now + patience, ask_late);
                                   }
                                 });
}

void Api::show_old_message(const net::Exchange& exchange, const Principal& caller,
                           const core::Target& target, const std::string& name,
                           core::Dialect dialect) {
  ask_history(
      exchange, caller,
      [this, exchange, caller, target, name,
       dialect](Reader& reader) -> std::expected<Questions::Answer, Error> {
        const auto found = find(reader, {caller.workspace, caller.name}, target, name);
        if (!found) {
          return std::unexpected(found.error());
        }
        net::Response response =
            problem(Error{Code::not_found, "no such message was sent to you or by you", {}});
        if (*found) {
          const auto envelope = envelope_of(**found);
          response = envelope ? response_of(**found, *envelope, dialect, caller.name)
                              : problem(envelope.error());
        }
        return [this, exchange, response = std::move(response)] { respond(exchange, response); };
      });
}

void Api::show_old_delivery(const net::Exchange& exchange, const Principal& caller,
                            const core::Target& target, const std::string& name) {
  ask_history(
      exchange, caller,
      [this, exchange, caller, target, name,
       sees_all = sees_subscribers(broker_.machine().find(caller.workspace)->tables(), caller)](
          Reader& reader) -> std::expected<Questions::Answer, Error> {
        Reader::Viewer viewer{caller.workspace, caller.name};
        if (caller.is_maintainer()) {
          viewer.principal.reset();
        }
        const auto found = find(reader, viewer, target, name);
        if (!found) {
          return std::unexpected(found.error());
        }
        net::Response response = problem(Error{Code::not_found, "you sent no such message", {}});
        const auto envelope = *found ? envelope_of(**found) : core::Envelope{};
        if (*found && envelope && (envelope->sender == caller.name || caller.is_maintainer())) {
          const auto deliveries = reader.deliveries((*found)->seq);
          if (!deliveries) {
            return std::unexpected(deliveries.error());
          }
          response = json_response(200, {});
          JsonWriter out(response.body);
          out.object().key("id").text(dialect::id_in(caller.dialect, *envelope));
          out.key("seq").number((*found)->seq.n);
          std::map<std::string_view, uint64_t> states;
          for (const view::StoredDelivery& delivery : *deliveries) {
            ++states[core::state_name(delivery.state)];
          }
          out.key("recipient_count").number(uint64_t{deliveries->size()});
          render_states(states, out);
          if (envelope->durability == core::Durability::memory) {
            out.key("not_persisted").boolean(true);
          }
          const bool named = sees_all || !view::is_on_topic(*envelope, *deliveries);
          out.key("deliveries");
          render_stored(named ? *deliveries : std::vector<view::StoredDelivery>{}, out);
          out.end_object();
        }
        return [this, exchange, response = std::move(response)] { respond(exchange, response); };
      });
}

std::expected<Api::Wanted, Error> Api::Wanted::of(const Call& call, std::string_view from,
                                                  std::string_view to) {
  const auto limit = call.count("limit", 100, list_max);
  const auto cursor = call.count("cursor", 0, INT64_MAX);
  const auto begin = call.time(from, {});
  const auto end = call.time(to, base::time_max);
  if (!limit || !cursor) {
    return std::unexpected(!limit ? limit.error() : cursor.error());
  }
  if (!begin || !end) {
    return std::unexpected(!begin ? begin.error() : end.error());
  }
  Wanted wanted;
  wanted.from = *begin;
  wanted.to = *end;
  wanted.before = *cursor == 0 ? wanted.before : base::Seq{*cursor};
  wanted.limit = *limit;
  return wanted;
}

void Api::outbox(Call& call) {
  auto wanted = Wanted::of(call, "since", "until");
  if (!wanted) {
    refuse(call.exchange, wanted.error());
    return;
  }
  wanted->sent_only = true;
  list(call.exchange, call.caller, std::move(*wanted));
}

void Api::search(Call& call) {
  auto wanted = Wanted::of(call, "from", "to");
  if (!wanted) {
    refuse(call.exchange, wanted.error());
    return;
  }
  wanted->thread = call.parameter("thread").value_or("");
  wanted->agent = call.parameter("agent").value_or("");
  list(call.exchange, call.caller, std::move(*wanted));
}

void Api::list(const net::Exchange& exchange, const Principal& caller, Wanted wanted) {
  const bool sees_all =
      sees_subscribers(broker_.machine().find(caller.workspace)->tables(), caller);
  ask_history(exchange, caller,
              [this, exchange, caller, sees_all, wanted = std::move(wanted)](
                  Reader& reader) -> std::expected<Questions::Answer, Error> {
                Reader::Viewer viewer{caller.workspace, caller.name};
                if (caller.is_maintainer() && !wanted.sent_only) {
                  viewer.principal.reset();
                }
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
                  auto receivers = reader.receivers(message.seq, listed_max);
                  if (!receivers) {
                    return std::unexpected(receivers.error());
                  }
                  listing->items.push_back({std::move(message), std::move(*receivers)});
                }
                return
                    [this, exchange, caller, listing] { answer_list(exchange, caller, *listing); };
              });
}

void Api::answer_list(const net::Exchange& exchange, const Principal& caller,
                      const SearchPage& listing) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const bool sees_all = sees_subscribers(t, caller);
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{listing.items.size()});
  if (listing.next.n != 0) {
    out.key("next").number(listing.next.n);
  }
  out.key("messages").array();
  for (const auto& [stored, receivers] : listing.items) {
    const auto envelope = envelope_of(stored);
    if (!envelope) {
      continue;  // written by a newer version
    }
    out.object();
    render_summary(*envelope, header_of(stored, *envelope), caller.dialect, out);
    out.key("to").array();
    for (const std::string_view receiver : envelope->receivers) {
      out.text(receiver);
    }
    out.end_array();
    // How it stands with each receiver is for its sender, and for those who look after all.
    if (envelope->sender == caller.name || caller.is_maintainer()) {
      const core::MessageRef ref = t.messages.find(stored.seq);
      const bool live = ref != core::none;
      const uint64_t count = live ? t.messages.message(ref).delivery_count : receivers.count;
      out.key("recipient_count").number(count);
      out.key("open").number(live ? t.messages.message(ref).open : receivers.open);
      out.key("deliveries");
      const bool named = !live && (sees_all || !view::is_on_topic(*envelope, receivers.listed));
      if (live && count <= listed_max) {
        render_deliveries(t, caller, ref, out);
      } else {
        render_stored(named ? receivers.listed : std::vector<view::StoredDelivery>{}, out);
      }
    }
    out.end_object();
  }
  out.end_array().end_object();
  respond(exchange, json_response(200, std::move(text)));
}

}  // namespace parley::edge
