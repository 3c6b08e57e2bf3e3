// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: a handler is one line, and there is one for each route.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/model/command.h"
#include "dialect/dialect.h"
#include "edge/api/call.h"
#include "edge/mcp/limits.h"
#include "edge/mcp/tables/saved_sessions.h"
#include "edge/names.h"
#include "edge/render.h"
#include "edge/telemetry/metrics.h"
#include "edge/waits.h"
#include "edge/webhooks/webhooks.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "net/server.h"
#include "node/broker.h"
#include "view/runner.h"

namespace parley::edge {

namespace mcp {
class Host;
struct Features;
class Server;
}  // namespace mcp
class McpHost;
class Push;

// The public interface over HTTP, server-sent events and WebSocket: authenticates, checks, asks the
// broker, answers. Runs on the server's thread; each turn of the loop is one step of the node.
class Api final : public net::Handler {
 public:
  struct Options {
    std::string version;
    std::vector<std::string> hosts;  // besides loopback names; what `Host` and `Origin` may name
    view::Runner* view = nullptr;    // null: old messages cannot be found
    std::vector<Gauge> gauges;       // for /metrics, beside what is known here
    mcp::Limits mcp{};
    std::optional<lib::SecretKey> mcp_key{};             // none: MCP sessions end with the process
    std::unique_ptr<mcp::SavedSessions> mcp_sessions{};  // null: also what they leave behind does
    // What a program of the tests adds; nothing in the one that is released. First: what is offered
    // at /mcp beside Parley's tools. Second: who asks without a token, if anyone may.
    std::function<mcp::Features(mcp::Server&)> mcp_more{};
    std::function<std::optional<Principal>(const core::Machine&, const net::Request&)> guest{};
    Webhooks::Options webhooks{};
  };

  Api(node::Broker& broker, base::Clock& clock, Options options);
  ~Api() override;

  // Must be called before the server runs.
  void attach(net::Server& server);

  net::CallerId on_head(const net::Request& head) override;
  void on_request(const net::Exchange& exchange, const net::Request& request) override;
  void on_message(net::ConnectionId connection, std::string_view text) override;
  void on_closed(net::ConnectionId connection) override;
  void on_drained(net::ConnectionId connection) override;
  base::Time on_turn() override;
  bool is_behind() const override { return broker_.is_behind(); }
  void on_turn_ended(const net::Turn& turn) override;

  // What a request over HTTP asks, asked from within for a principal that was authenticated: the
  // same checks, the same answer. Not for streams.
  struct Inner {
    std::string_view method;
    std::string_view path;   // percent-encoded
    std::string_view query;  // without the `?`
    std::string_view body;
    std::vector<std::pair<std::string_view, std::string_view>> headers{};  // names in lower case
  };
  // `answered` hears the answer once, perhaps before this returns. The texts are not kept.
  uint64_t ask_inside(const Principal& caller, const Inner& inner,
                      std::function<void(net::Response)> answered);
  // True until it is answered.
  bool is_asked_inside(uint64_t number) const { return inside_.contains(number); }
  // Whoever asked waits no longer, as one who hangs up; does nothing once it is answered.
  void stop_inside(uint64_t number);

  using Handler = void (Api::*)(Call&);
  struct Route {
    std::string_view method;
    std::string_view pattern;  // `{}` stands for one segment
    Handler handler;
    bool open = false;  // needs no token
  };
  // All that is served. The description that /openapi.json gives is held to it by a test.
  static const std::vector<Route>& routes();

 private:
  friend class McpHost;
  friend class Push;

  // api.cc
  bool host_allowed(const net::Request& request) const;
  // By its token; none when it has none that is good.
  std::optional<Principal> caller_of(const net::Request& request);
  void respond(const net::Exchange& exchange, net::Response response);
  using Header = std::pair<std::string, std::string>;
  void refuse(const net::Exchange& exchange, const Error& error, const Header& header = {});
  node::Broker::Done reply_done(const net::Exchange& exchange, std::string body = "{}");
  std::expected<lib::Json, Error> body_object(const Call& call);
  const core::Tables& tables(const Call& call) const;
  bool require(const Call& call, bool allowed, std::string_view who);
  // The caller asked for something, which is a sign of life; and goes on to wait for it.
  void note_call(const Principal& caller);
  void stay_present(const net::Exchange& exchange, const Principal& caller);
  // For what is told some time after it was asked for: false when the caller's token is good no
  // more. It is told that then, and nothing else: its name may be another's by now.
  bool is_still_good(const net::Exchange& exchange, const Principal& caller);
  void refuse_token(const net::Exchange& exchange, std::string_view why);
  void note_stale_waits(const core::Entry& entry, const core::Outcome& outcome);
  void end_stale_waits();
  std::string problem_text(const Error& error);

  // principals.cc
  void add_agent(Call& call);
  void update_agent(Call& call, lib::Json body, const std::string& name);
  void heartbeat(Call& call);
  void list_agents(Call& call);
  void show_agent(Call& call);
  void remove_agent(Call& call);
  void reset_agent(Call& call);
  void add_human(Call& call);
  void add_workspace(Call& call);
  void list_workspaces(Call& call);
  void subscribe(Call& call);
  void unsubscribe(Call& call);
  void list_topics(Call& call);

  // messages.cc
  void send(Call& call);
  void send_one(Call& call, lib::Json message);
  void send_batch(Call& call, lib::Json messages);
  void inbox(Call& call);
  // An answer that is made of records, in parts: `each` is called with each of them, which is in
  // memory then, and `answer` at the end. The tables may change in between.
  struct Listing {
    std::vector<base::Seq> records;
    std::function<bool(base::Seq)> each;  // false: the others are not needed
    std::function<net::Response()> answer;
    Principal caller{};
    size_t at = 0;
    bool is_over = false;
  };
  void list(const net::Exchange& exchange, const Principal& caller, Listing listing);
  void go_on(const net::Exchange& exchange, const std::shared_ptr<Listing>& listing);

  void answer_inbox(const net::Exchange& exchange, const Principal& caller, uint64_t limit);
  void show_message(Call& call);
  void show_delivery(Call& call);
  void ack(Call& call);
  void nack(Call& call);
  void reject(Call& call);
  void extend(Call& call);
  void settle(Call& call,
              std::expected<core::Command, Error> (*command)(const core::Target&, lib::Json));
  std::expected<dialect::Codec, Error> codec_for(const Call& call) const;
  // In which dialect the caller wants to read: its own, or that of the parameter or the header.
  static std::expected<core::Dialect, Error> wanted_dialect(const Call& call);
  std::expected<core::Target, Error> target_of(const Call& call, Names::First first = {}) const;
  // How a message came in, and what its sender asked for beside it.
  struct Submission {
    core::Via via = core::Via::http;
    bool lenient = false;  // fills in id, sender, conversation and timestamp
    std::string_view idempotency_key;
    std::string_view session{};  // that it is in, where the message itself does not say
    // Where the message itself has none.
    std::string_view traceparent;
    std::string_view tracestate;
    // Of a pattern: in place of the message's own receiver, and what core::Send has beside it.
    std::vector<std::string_view> receivers{};
    std::optional<core::Gathering> gathering{};
    std::vector<std::string_view> later_stages{};
    core::OnUnavailable on_unavailable = core::OnUnavailable::by_rules;
    Duration wait{};  // how long its caller blocks for the answer
  };
  // Checks a message and sends it. What is wrong with it is told, and kept as a dead letter.
  void submit(const Principal& caller, const dialect::Codec& codec, lib::Json message,
              const Submission& submission, node::Broker::Done done);
  std::expected<core::Send, Error> decode(const Principal& caller, const dialect::Codec& codec,
                                          lib::Json message, const Submission& submission);
  base::MessageId add_causes(const Principal& caller, core::Envelope& envelope);
  void take_from_cause(const core::Envelope& cause, core::Envelope& envelope);
  void keep_malformed(const Principal& caller, std::string_view text, const Error& error,
                      node::Broker::Done done);
  std::string receipt_text(const Principal& caller, const core::Receipt& receipt);

  // answers.cc
  void follow_question(const Principal& caller, const core::Envelope& question,
                       core::Envelope& response);
  std::expected<void, Error> check_reply_to(const Principal& caller, const dialect::Codec& codec,
                                            const core::Envelope& envelope) const;
  node::Broker::Done in_ids_of(const Principal& caller, core::Dialect reader, std::string own,
                               node::Broker::Done done);
  void await_answer(const net::Exchange& exchange, const Principal& caller, base::Seq question,
                    Duration wait);
  // A call that blocks for the answer to a question.
  struct Blocked {
    net::Exchange exchange;
    Principal caller;
    base::Seq question;
    std::string id;         // of the question, as its caller knows it
    std::string receivers;  // of the question, in words
    Waits::Id timer = 0;
  };
  using AnswerKey = std::tuple<core::WorkspaceId, core::AgentRef, base::Seq>;
  void block(Blocked blocked, Duration wait);
  // None when it does not block any more.
  std::optional<Blocked> stop_blocking(const AnswerKey& key, const net::Exchange& exchange);
  void hang_up(const AnswerKey& key, const net::Exchange& exchange);
  void end_blocking(const AnswerKey& key, const node::Broker::Answer& answer);
  void end_stale(std::vector<Blocked>& calls);
  void refuse_unanswered(const Blocked& blocked);
  void refuse_late(const Blocked& blocked, const std::string& within);
  std::string time_given(const Blocked& blocked);
  // To calls of one principal.
  void give_answer(std::vector<Blocked> calls, base::Seq answer);
  void show_answer(const std::vector<Blocked>& calls, base::Seq answer);
  std::expected<net::Response, Error> answer_response(const Blocked& blocked, base::Seq answer);
  Error not_shown(const Principal& caller, base::Seq answer, const std::string& question,
                  const Error& refusal) const;
  // For a message that its reader holds: acknowledges it in its name once the response that shows
  // it was written. Where it never is, the message is given back.
  net::Report ack_when_written(const Principal& caller, base::Seq message);
  // By which reading its reader holds a message. A retry of a dead letter counts the attempts anew,
  // so the time belongs to it.
  struct Hold {
    uint16_t attempts = 0;
    base::Time since;
    bool is_pushed = false;  // a stream has it as well
    bool operator==(const Hold&) const = default;
  };
  // None when it is not read, or the caller's token is good no more.
  std::optional<Hold> hold_of(const Principal& caller, base::Seq message) const;
  void give_back(const Principal& caller, base::Seq message, const Hold& hold);

  // patterns.cc
  void scatter(Call& call);
  void show_scatter(Call& call);
  void start_pipeline(Call& call);
  void show_pipeline(Call& call);
  void list_escalations(Call& call);
  void resolve_escalation(Call& call);
  void submit_pattern(Call& call, const std::vector<std::string>& receivers,
                      std::optional<core::Gathering> gathering,
                      const std::vector<std::string>& later, lib::Json body);
  void render_escalation(const Call& call, const core::Escalation& escalation,
                         lib::JsonWriter& out);

  // history.cc
  void note_write(const core::Entry& entry);
  void ask_history(const net::Exchange& exchange, const Principal& caller,
                   view::Questions::Ask ask);
  void show_old_message(const net::Exchange& exchange, const Principal& caller,
                        const core::Target& target, const std::string& name, core::Dialect dialect);
  void show_old_delivery(const net::Exchange& exchange, const Principal& caller,
                         const core::Target& target, const std::string& name);
  void outbox(Call& call);
  void search(Call& call);
  struct Wanted;
  struct SearchPage;
  void list(const net::Exchange& exchange, const Principal& caller, Wanted wanted);
  void answer_list(const net::Exchange& exchange, const Principal& caller,
                   const SearchPage& listing);

  // threads.cc
  void list_threads(Call& call);
  void show_thread(Call& call);
  void close_thread(Call& call);
  struct ThreadFilter;
  void answer_threads(const net::Exchange& exchange, const Principal& caller,
                      const ThreadFilter& filter, const std::vector<view::StoredThread>& old);
  struct ThreadTree;
  void answer_thread(const net::Exchange& exchange, const Principal& caller,
                     const ThreadTree& tree);

  // sessions.cc
  void list_sessions(Call& call);
  void start_session(Call& call);
  void show_session(Call& call);
  void add_participant(Call& call);
  void remove_participant(Call& call);
  void add_decision(Call& call);
  void add_artifact(Call& call);
  void add_finding(Call& call);
  void set_session_status(Call& call);
  void add_entry(Call& call, core::SessionAct act);
  void change_session(Call& call, core::ChangeSession command, int status);
  // nullptr when there is none that the caller may see: then it was told so.
  const core::Session* find_session(Call& call);
  net::Response session_response(const Principal& caller, const std::string& id, uint64_t after,
                                 const std::map<base::Seq, std::string>& ids);
  void answer_change(const net::Exchange& exchange, const Principal& caller, const std::string& id,
                     int status, const core::Outcome& outcome);

  // locks.cc
  void list_locks(Call& call);
  void take_lock(Call& call);
  void release_lock(Call& call);
  void await_lock(const net::Exchange& exchange, const Principal& caller, const std::string& name,
                  base::Seq place);
  void leave_lock(const Principal& caller, const std::string& name, base::Seq place);
  void give_lock(const net::Exchange& exchange, const Principal& caller, const std::string& name,
                 base::Seq place);
  void refuse_lock(const net::Exchange& exchange, const Principal& caller, const std::string& name,
                   const Error& error);

  // tasks.cc
  void list_tasks(Call& call);
  void show_task(Call& call);
  void reassign_task(Call& call);
  void name_task(const Principal& caller, core::Envelope& envelope);
  std::string_view task_thread(const Principal& caller, const core::Envelope& envelope);

  // traces.cc
  void show_trace(Call& call);

  // admin.cc
  void list_dead_letters(Call& call);
  void show_dead_letter(Call& call);
  void retry_dead_letter(Call& call);
  void discard_dead_letter(Call& call);
  void escalate_dead_letter(Call& call);
  void resolve_dead_letter(Call& call, core::Resolution resolution);
  void show_rules(Call& call);
  void change_rules(Call& call);
  void health(Call& call);
  void describe(Call& call);
  void alive(Call& call);
  void ready(Call& call);
  void show_metrics(Call& call);
  void add_gauges();

  // push.cc
  void open_events(Call& call);
  void open_socket(Call& call);
  // The request is answered when the stream is open, or was refused.
  void start_push(const Call& call, std::unique_ptr<Push> push,
                  const node::Broker::Opening& opening);
  void on_opened(const net::Exchange& exchange, const core::Outcome& outcome);

  // mcp/endpoint.cc
  void start_mcp();
  void mcp(Call& call);

  node::Broker& broker_;
  base::Clock& clock_;
  Duration stored_for_{};  // by the journal, up to the last turn
  Options options_;
  net::Server* server_ = nullptr;
  Metrics metrics_;
  // The newest that was looked up: the head of a request asks, then the request.
  struct Identified {
    std::string authorization;
    base::Seq at;
    std::optional<Principal> caller;
  };
  Identified identified_;
  lib::JsonDocument document_;
  dialect::Texts texts_;
  base::MessageId spare_id_;  // for the next message that brings none
  Rendered rendered_;
  Waits waits_;
  base::Seq started_;                                // what was there when this began
  std::unordered_map<uint64_t, base::Seq> written_;  // by workspace and principal: its newest entry
  std::map<std::pair<core::WorkspaceId, core::AgentRef>, base::Time> called_;  // the newest sign
  // Principals whose removal was asked for and is not told yet.
  std::multiset<std::pair<core::WorkspaceId, std::string>> removing_;
  std::unordered_map<net::ConnectionId, std::unique_ptr<Push>> pushes_;
  struct Waiting {
    Principal caller;
    std::function<void()> undo;  // when it is gone
  };
  std::map<net::Exchange, Waiting> waiting_;
  // Where the look for those that wait with a token that is good no more goes on. None: no look.
  std::optional<net::Exchange> stale_from_;
  bool looks_again_ = false;  // another token went meanwhile
  struct AnswerWait {
    node::Broker::Waiter waiter;
    std::vector<Blocked> calls;  // never empty
  };
  std::map<AnswerKey, AnswerWait> blocked_;
  std::map<uint64_t, std::function<void(net::Response)>> inside_;  // by number of the exchange
  uint64_t last_inside_ = 0;
  std::unique_ptr<mcp::Host> mcp_host_;
  std::unique_ptr<mcp::Server> mcp_;
  Webhooks webhooks_;
  // Callbacks that the server keeps check this: the Api may be gone.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace parley::edge
