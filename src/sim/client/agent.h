// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: a client of every transport in one, which share what it knows.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "sim/client/letters.h"
#include "sim/client/mcp_client.h"
#include "sim/client/notebook.h"
#include "sim/client/undertakings.h"
#include "sim/client/wire.h"
#include "sim/edge/stage.h"

namespace parley::edge_sim {

// A client of the public interface that behaves as agents do: it sends, polls or is pushed to,
// settles what it got, forgets, crashes, comes back. It writes down what it does and sees.
class Agent {
 public:
  enum class Way : uint8_t { poll, events, socket, mcp };
  struct Profile {
    std::string name;
    std::string dialect = "flow";
    std::string role{};
    Way way = Way::poll;
    McpClient::Era era = McpClient::Era::sessions;
    std::string webhook_secret{};  // it looks for mail only when it was woken
  };

  Agent(Stage& stage, Profile profile, std::string token);

  const std::string& name() const { return profile_.name; }
  const std::string& dialect() const { return profile_.dialect; }
  const Profile& profile() const { return profile_; }
  Notebook& notes() { return notes_; }
  Undertakings& undertakings() { return undertakings_; }
  const Notebook& notes() const { return notes_; }

  // One thing that an agent does.
  void act();
  // Reads what came on all connections.
  void read();
  // While a run ends: reads and acknowledges all that there is.
  void drain();
  // The process ends, and begins anew: with what it wrote down of its stream, or without.
  void crash(bool forgets);
  // One connection breaks; the broker may learn of it later.
  void lose_connection();
  void hang_up();
  // Nothing of its own is on its way.
  bool is_idle() const;
  // What is, for one who looks for a cause.
  std::string pending() const;
  // A request to its webhook came: whether it is the broker's, and says no more than it may.
  void wake(const Reply& request);
  // It has another token, and those before it are good no more.
  void take_token(std::string token);
  // It is removed; and another has its name from now on, who knows nothing of what it did.
  void leave();
  void begin(Profile profile, std::string token);

  // Asks on its own behalf, with its token.
  void ask(const Ask& ask, CallWire::Done done);
  // As a part of a path or query.
  static std::string percent(std::string_view id);

 private:
  // agent.cc
  bool has_push() const { return profile_.way == Way::events || profile_.way == Way::socket; }
  CallWire& wire(std::unique_ptr<CallWire>& held);
  void forget_operations();
  void go_offline();
  void try_ended_token();
  void note(std::string_view what);

  // mail.cc: what comes
  void poll(bool waits);
  void on_listing(std::string_view body, uint64_t asked_at);
  void fetch(const std::string& id);
  void fetch_next();
  void on_fetched(std::string_view body, bool is_former);
  void open_push();
  void on_frame(std::string_view text, uint64_t connection);
  void keep_mark(std::string_view mark, uint64_t connection);
  void on_socket_reply(lib::Json reply);
  Mail& see(lib::Json message, uint64_t seq, std::string_view how);
  void check_repeat(const Mail& mail, uint64_t since, uint64_t connection, std::string_view how);
  void check_order(const Mail& mail);
  void check_rendering(const Mail& mail, std::string_view words);

  // settle.cc: what is done about it
  void decide(Mail& mail);
  void settle(Mail& mail, Mail::Act act, std::string_view more = {});
  void settle_over_http(Mail& mail, Mail::Act act, std::string_view more);
  void settle_over_socket(Mail& mail, Mail::Act act, std::string_view more);
  void hear_failure(std::string_view notice);
  void acknowledge_upto();
  void acknowledge_upto_early(const Mail& mail);
  void on_settled(const std::string& id, Mail::Act act, const Reply& reply);
  void answer(Mail& mail);

  // sends.cc
  void send_something();
  void submit(Sent sent);
  void send(size_t index);
  void send_batch();
  void on_receipt(size_t index, const Reply& reply);
  void on_receipt(size_t index, lib::Json receipt);
  void refused(size_t index, int status, std::string_view code);
  void send_again();
  void subscribe();

  // tools.cc: the same over MCP
  bool uses_tools() const { return mcp_ != nullptr; }
  void poll_by_tool(bool waits, uint64_t limit);
  void fetch_by_tool(const std::string& id);
  void settle_by_tool(const Mail& mail, Mail::Act act);
  void send_by_tool(size_t index);
  void ask_by_tool();
  void look_around();

  Stage& stage_;
  Profile profile_;
  std::string token_;
  Notebook notes_;
  Undertakings undertakings_{stage_, *this};
  std::unique_ptr<CallWire> calls_;
  std::unique_ptr<CallWire> polls_;
  std::unique_ptr<CallWire> events_;
  std::unique_ptr<SocketWire> socket_;
  std::unique_ptr<McpClient> mcp_;
  uint64_t push_connection_ = 0;  // number of the stream that is open
  uint64_t push_opened_ = 0;      // step
  std::string mark_;              // newest on any stream
  uint64_t marked_on_ = 0;        // number of that stream
  std::string upto_;              // newest on this stream
  uint64_t upto_seq_ = 0;         // of the message that had it
  bool remembers_mark_ = false;
  size_t pace_ = SIZE_MAX;  // bytes of the stream that it reads at once
  bool stalled_ = false;
  bool polling_ = false;
  bool woken_ = true;  // there may be mail
  bool is_here_ = true;
  bool ends_session_ = false;  // of MCP, before it next looks around
  struct Newest {
    uint64_t seq = 0;
    std::string marker;
  };
  std::map<std::string, Newest> newest_;                     // by channel, on this stream
  std::map<uint64_t, std::function<void(lib::Json)>> refs_;  // operations that wait for a reply
  uint64_t last_ref_ = 0;
  std::set<std::string> fetching_;
  std::vector<std::string> secrets_;  // of its webhook: a request may be under way for long
  std::set<std::string> wanted_;      // listed, and not read yet
};

}  // namespace parley::edge_sim
