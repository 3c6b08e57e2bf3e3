// SPDX-License-Identifier: Apache-2.0
// Conversations: how they stand is told by the engine while it remembers them, what was said in
// them by the history.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "edge/api/context.h"
#include "edge/api/history.h"
#include "edge/api/listing.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;
using view::Questions;
using view::Reader;

constexpr uint64_t list_max = 500;
constexpr size_t tree_max = 1'000;  // newest messages that are shown of one thread
constexpr size_t receivers_max = 20;

bool takes_part(const core::Thread& thread, core::AgentRef agent) {
  return std::ranges::find(thread.participants, agent) != thread.participants.end();
}

void render_thread(const core::Tables& t, const core::Thread& thread, JsonWriter& out) {
  out.key("id").text(thread.name).key("state").plain(core::thread_state_words[thread.state()]);
  out.key("root").uuid(thread.root_id).key("root_seq").number(thread.root.n);
  out.key("owner").text(t.agents[thread.owner()].name);
  out.key("message_count").number(uint64_t{thread.messages});
  out.key("pending_requests").number(uint64_t{thread.pending});
  out.key("participants").array();
  for (const core::AgentRef agent : thread.participants) {
    out.text(t.agents[agent].name);
  }
  out.end_array().key("correlation_ids").array();
  for (const std::string& correlation : thread.correlations) {
    out.text(correlation);
  }
  out.end_array().key("created").time(thread.created).key("last_activity").time(thread.changed);
  if (thread.is_closed()) {
    out.key("closed_at").time(thread.closed);
    out.key("closed_by").text(core::by_whom(thread.closed_by));
  } else if (thread.ages) {
    out.key("closes_at").time(thread.created + t.rules.thread_duration_max);
  }
}

// One that the engine has forgotten: nothing waits in it. Of its messages those are counted that
// its reader may see.
void render_old_thread(const view::StoredThread& thread, JsonWriter& out) {
  out.key("id").text(thread.name).key("state").plain("closed").key("archived").boolean(true);
  if (!thread.owner.empty()) {
    out.key("root_seq").number(thread.root.n).key("owner").text(thread.owner);
  }
  out.key("message_count").number(thread.messages).key("pending_requests").number(0);
  out.key("created").time(thread.created).key("last_activity").time(thread.changed);
}

// What one sees of it who does not take part: who only heard some of it by a topic, or whose
// conversation of this name is apart from it. The sums are of what it sees.
void render_part(const view::StoredThread& thread, JsonWriter& out) {
  out.key("id").text(thread.name).key("partial").boolean(true);
  out.key("message_count").number(thread.messages);
  out.key("created").time(thread.created).key("last_activity").time(thread.changed);
}

// Where a message stands with the receiver that is furthest behind, of those that the caller may
// know of.
std::string_view state_of(const core::Tables& t, const Principal& caller, base::Seq seq,
                          const Reader::Receivers& stored) {
  std::optional<core::State> least;
  const auto add = [&least](core::State state) { least = std::min(least.value_or(state), state); };
  if (const core::MessageRef ref = t.messages.find(seq); ref != core::none) {
    const bool sees_all = may_see_deliveries(t, caller, ref);
    for (core::DeliveryRef d = t.messages.message(ref).deliveries; d != core::none;
         d = t.messages.delivery(d).sibling) {
      if (sees_all || t.messages.delivery(d).receiver == caller.ref) {
        add(t.messages.delivery(d).state);
      }
    }
  } else {
    std::ranges::for_each(stored.listed, add, &view::StoredDelivery::state);
    if (stored.listed.empty() && stored.count > 0) {
      add(stored.open > 0 ? core::State::queued : core::State::acked);
    }
  }
  return least ? core::state_name(*least) : "accepted";
}

struct ThreadFilter {
  std::string correlation;
  std::string agent;
  std::string state;
  uint64_t limit = 0;
};

struct ThreadTree {
  struct Item {
    view::StoredMessage message;
    Reader::Receivers receivers;
  };
  std::string name;
  bool more = false;        // older ones are left out
  std::vector<Item> items;  // oldest first
  std::optional<view::StoredThread> stored;
};

// A list of threads on its way. Those of its caller are looked at, and those that are wanted
// written, some in each turn: there may be many.
struct ThreadWalk {
  // A thread may go between two turns, and another come to its slot.
  struct Found {
    base::Seq root;
    core::ThreadRef ref = core::none;
  };
  Asker asker;
  ThreadFilter filter;
  std::vector<view::StoredThread> old;
  base::Seq before = core::Threads::newest;  // what began then and later was looked at
  std::vector<Found> found{};                // newest first
  bool has_looked = false;                   // at all that it needs
  size_t written = 0;                        // of those that were found
  uint64_t shown = 0;
  std::string text{};
  JsonWriter out{text};  // the list, so far
};

bool is_wanted(const ThreadWalk& walk, core::AgentRef agent, const core::Thread& thread) {
  const ThreadFilter& filter = walk.filter;
  return may_see(walk.asker.caller, thread) &&
         (filter.agent.empty() || (agent != core::none && takes_part(thread, agent))) &&
         (filter.state.empty() || core::thread_state_words[thread.state()] == filter.state) &&
         (filter.correlation.empty() || thread.is_about(filter.correlation));
}

// Writes some of those that were found. True: the last.
bool write_on(ThreadWalk& walk) {
  constexpr size_t written_max = 64;
  const core::Tables& t = walk.asker.tables();
  const core::AgentRef agent = t.agents.find(walk.filter.agent);
  for (const size_t end = std::min(walk.found.size(), walk.written + written_max);
       walk.written < end; ++walk.written) {
    const ThreadWalk::Found& each = walk.found[walk.written];
    const core::Thread& thread = t.threads[each.ref];
    if (thread.root == each.root && is_wanted(walk, agent, thread)) {
      ++walk.shown;
      walk.out.object();
      render_thread(t, thread, walk.out);
      walk.out.end_object();
    }
  }
  return walk.written == walk.found.size();
}

void answer_threads(ThreadWalk& walk) {
  const Asker& asker = walk.asker;
  const core::Tables& t = asker.tables();
  // The engine's thread of the name may be another's, who began it when this one was forgotten.
  for (const view::StoredThread& thread : walk.old) {
    const core::ThreadRef ref = t.threads.find(thread.name);
    if ((ref == core::none || !may_see(asker.caller, t.threads[ref])) &&
        walk.shown < walk.filter.limit) {
      ++walk.shown;
      walk.out.object();
      render_old_thread(thread, walk.out);
      walk.out.end_object();
    }
  }
  walk.out.end_array();
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(walk.shown).key("threads").raw(walk.text).end_object();
  asker.respond(json_response(200, std::move(text)));
}

// Looks at some of those in which the caller takes part; who may see all looks at those of the
// agent that it names, or at all. True: the list needs no more.
bool look_on(ThreadWalk& walk) {
  constexpr size_t looked_at_max = 1'024;
  const core::Tables& t = walk.asker.tables();
  const core::AgentRef agent = t.agents.find(walk.filter.agent);
  if (agent == core::none && !walk.filter.agent.empty()) {
    return true;
  }
  size_t looked_at = 0;
  const auto look = [&](core::ThreadRef ref) {
    if (looked_at == looked_at_max || walk.found.size() >= walk.filter.limit) {
      return false;
    }
    ++looked_at;
    const core::Thread& thread = t.threads[ref];
    walk.before = thread.root;
    if (is_wanted(walk, agent, thread)) {
      walk.found.push_back({thread.root, ref});
    }
    return true;
  };
  const Principal& caller = walk.asker.caller;
  t.threads.each_of(caller.is_maintainer() ? agent : caller.ref, walk.before, look);
  return looked_at < looked_at_max || walk.found.size() >= walk.filter.limit;
}

// True: the list is answered.
bool go_on(ThreadWalk& walk) {
  walk.has_looked = walk.has_looked || look_on(walk);
  if (!walk.has_looked || !write_on(walk)) {
    return false;
  }
  answer_threads(walk);
  return true;
}

void begin_list(const Asker& asker, const ThreadFilter& filter,
                std::vector<view::StoredThread> old) {
  const auto walk = std::make_shared<ThreadWalk>(asker, filter, std::move(old));
  walk->out.array();
  asker.context->listings->add(asker, [walk] { return go_on(*walk); });
}

void list_threads(Call& call) {
  const ThreadFilter filter{call.text("correlation_id"), call.text("agent"), call.text("state"),
                            call.number("limit", 100)};
  if (!filter.state.empty() && !core::thread_state_words.find(filter.state)) {
    call.refuse(bad_parameter("state", core::thread_state_words.all()));
    return;
  }
  // Those that the engine has forgotten are found by what links them, and are closed.
  const bool wants_old = !filter.correlation.empty() && filter.agent.empty() &&
                         (filter.state.empty() || filter.state == "closed");
  if (!wants_old || call.context->view == nullptr) {
    begin_list(call, filter, {});
    return;
  }
  call.context->history->ask(
      call,
      [asker = call.asker(), filter](Reader& reader) -> std::expected<Questions::Answer, Error> {
        auto old = reader.correlated(viewer_of(asker.caller), filter.correlation, filter.limit);
        if (!old) {
          return std::unexpected(old.error());
        }
        return [asker, filter, old = std::move(*old)] { begin_list(asker, filter, old); };
      });
}

// A thread on its way to who asked: some of its messages are read, and then written, in each turn.
struct ThreadAnswer {
  Asker asker;
  std::shared_ptr<const ThreadTree> tree;
  std::vector<std::expected<core::Envelope, Error>> envelopes{};
  std::map<base::MessageId, size_t> by_id{};
  std::vector<std::vector<size_t>> children = std::vector<std::vector<size_t>>(tree->items.size());
  size_t written = 0;
  std::string text{};
  JsonWriter out{text};
  std::shared_ptr<void> question = asker.context->history->hold(asker.caller);
};

constexpr size_t messages_per_turn = 64;

// A reply is a child of the newest message before it that has the id. True: all have been read.
bool read_on(ThreadAnswer& answer) {
  const std::vector<ThreadTree::Item>& items = answer.tree->items;
  for (size_t left = messages_per_turn; left > 0 && answer.envelopes.size() < items.size();
       --left) {
    const size_t n = answer.envelopes.size();
    const auto& envelope = answer.envelopes.emplace_back(envelope_of(items[n].message));
    if (envelope) {
      const auto parent = answer.by_id.find(envelope->in_reply_to);
      if (parent != answer.by_id.end()) {
        answer.children[parent->second].push_back(n);
      }
      answer.by_id[envelope->id] = n;
    }
  }
  return answer.envelopes.size() == items.size();
}

void write_head(ThreadAnswer& answer) {
  const core::Tables& t = answer.asker.tables();
  const ThreadTree& tree = *answer.tree;
  JsonWriter& out = answer.out;
  out.object();
  const core::ThreadRef ref = t.threads.find(tree.name);
  if (ref != core::none && may_see(answer.asker.caller, t.threads[ref])) {
    render_thread(t, t.threads[ref], out);
  } else if (tree.stored) {
    ref == core::none ? render_old_thread(*tree.stored, out) : render_part(*tree.stored, out);
  }
  out.key("more").boolean(tree.more).key("messages").array();
}

void write_message(ThreadAnswer& answer, size_t n) {
  if (!answer.envelopes[n]) {
    return;  // written by a newer version
  }
  const core::Envelope& e = *answer.envelopes[n];
  const ThreadTree::Item& item = answer.tree->items[n];
  const Principal& caller = answer.asker.caller;
  JsonWriter& out = answer.out;
  out.object().key("id").text(dialect::id_in(caller.dialect, e));
  out.key("seq").number(item.message.seq.n);
  out.key("type").text(codec_of(caller.dialect).type(e)).key("sender").text(e.sender);
  out.key("receivers").array();
  for (const std::string_view receiver : e.receivers) {
    out.text(receiver);
  }
  out.end_array().key("timestamp").time(item.message.time);
  if (!e.in_reply_to.is_none()) {
    out.key("in_reply_to");
    const bool by_uuid = core::policy_of(caller.dialect).ids_are_uuids;
    by_uuid || e.question.empty() ? out.uuid(e.in_reply_to) : out.text(e.question);
  }
  out.key("state").plain(state_of(answer.asker.tables(), caller, item.message.seq, item.receivers));
  out.key("preview").text(preview_of(e)).key("children").array();
  for (const size_t child : answer.children[n]) {
    out.text(dialect::id_in(caller.dialect, *answer.envelopes[child]));
  }
  out.end_array().end_object();
}

// True: the thread is answered.
bool go_on(ThreadAnswer& answer) {
  const size_t count = answer.tree->items.size();
  if (answer.envelopes.size() < count && !read_on(answer)) {
    return false;
  }
  if (answer.text.empty()) {
    write_head(answer);
  }
  for (const size_t end = std::min(count, answer.written + messages_per_turn); answer.written < end;
       ++answer.written) {
    write_message(answer, answer.written);
  }
  if (answer.written < count) {
    return false;
  }
  answer.out.end_array().end_object();
  answer.asker.respond(json_response(200, std::move(answer.text)));
  return true;
}

void answer_thread(const Asker& asker, std::shared_ptr<const ThreadTree> tree) {
  const auto answer = std::make_shared<ThreadAnswer>(asker, std::move(tree));
  asker.context->listings->add(asker, [answer] { return go_on(*answer); });
}

// Shows the messages that the caller may see; its sums to those who take part. Who may see none of
// it gets the answer that one gets who asks for what is not there.
void show_thread(Call& call) {
  const auto dialect = call.wanted_dialect();
  if (!dialect) {
    call.refuse(dialect.error());
    return;
  }
  const uint64_t wanted = std::max<uint64_t>(call.number("limit", tree_max), 1);
  Principal reads = call.caller;
  reads.dialect = *dialect;
  call.context->history->ask(
      call,
      [asker = Asker{call.context, call.exchange, reads}, name = call.arguments[0],
       wanted](Reader& reader) -> std::expected<Questions::Answer, Error> {
        const Reader::Viewer viewer = viewer_of(asker.caller);
        auto page = reader.search(viewer, {.thread = name, .limit = wanted});
        if (!page) {
          return std::unexpected(page.error());
        }
        if (page->messages.empty()) {
          return std::unexpected(
              Error{Code::not_found, "there is no thread of this name in which you take part", {}});
        }
        const auto tree = std::make_shared<ThreadTree>();
        tree->name = name;
        tree->more = page->next.n != 0;
        std::ranges::reverse(page->messages);
        for (view::StoredMessage& message : page->messages) {
          auto receivers = reader.receivers(viewer, message.seq, receivers_max);
          if (!receivers) {
            return std::unexpected(receivers.error());
          }
          tree->items.push_back({std::move(message), std::move(*receivers)});
        }
        auto stored = reader.thread(viewer, name);
        if (!stored) {
          return std::unexpected(stored.error());
        }
        tree->stored = std::move(*stored);
        return [asker, tree] { answer_thread(asker, tree); };
      });
}

void close_thread(Call& call) {
  call.ask(core::CloseThread{call.arguments[0]}, call.reply(R"({"state":"closed"})"));
}

}  // namespace

std::span<const Route> thread_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/threads",
       .handler = list_threads,
       .parameters = {query::text("correlation_id"), query::text("agent"), query::text("state"),
                      query::number("limit", list_max)},
       .who = Who::principal},
      {.method = "GET",
       .pattern = "/v1/threads/{}",
       .handler = show_thread,
       .parameters = {query::number("limit", tree_max), query::text("dialect")},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/threads/{}/close",
       .handler = close_thread,
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
