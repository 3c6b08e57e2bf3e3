// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/client/connections.h"
#include "sim/client/jobs.h"
#include "sim/client/mail_reader.h"
#include "sim/client/mail_settler.h"
#include "sim/client/mcp_client.h"
#include "sim/client/message_sender.h"
#include "sim/client/push_reader.h"
#include "sim/client/record.h"
#include "sim/client/tool_caller.h"
#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// A client of the public interface that behaves as agents do: it sends, polls or is pushed to,
// settles what it got, forgets, crashes, comes back. It records what it does and sees. Its parts do
// the work and know each other through it.
class Agent {
 public:
  enum class Way : uint8_t { poll, events, socket, mcp };
  struct Profile {
    std::string name;
    std::string dialect = "flow";
    std::string role{};
    Way way = Way::poll;
    McpClient::Era era = McpClient::Era::sessions;
    std::string webhook_secret{};  // It looks for mail only when it was woken.

    bool is_pushed_to() const { return way == Way::events || way == Way::socket; }
  };

  Agent(RunState& run, Profile profile, std::string token);

  const std::string& name() const { return profile_.name; }
  const std::string& dialect() const { return profile_.dialect; }
  const Profile& profile() const { return profile_; }
  bool uses_tools() const { return profile_.way == Way::mcp; }
  ClientRecord& record() { return record_; }
  const ClientRecord& record() const { return record_; }
  Connections& connections() { return connections_; }
  MailReader& reader() { return reader_; }
  PushReader& push() { return push_; }
  MailSettler& settler() { return settler_; }
  MessageSender& sender() { return sender_; }
  Jobs& jobs() { return jobs_; }

  // One thing that an agent does.
  void act();
  // While a run ends: reads and acknowledges all that there is.
  void drain();
  // The process ends, and begins anew: with what it wrote down of its stream, or without.
  void crash(bool forgets);
  // True when nothing of its own is on its way.
  bool is_idle() const;
  // What is on its way, for one who looks for a cause.
  std::string pending() const;
  // A request to its webhook came: checks that it is the broker's, and says no more than it may.
  void wake(const Reply& request);
  // It has another token, and those before it are good no more.
  void take_token(std::string token);
  // It is removed; and another has its name from now on, who knows nothing of what it did.
  void leave();
  void begin(Profile profile, std::string token);

  // Asks on its own behalf, with its token.
  void ask(const Ask& ask, CallWire::Done done) { connections_.ask(ask, std::move(done)); }
  // Adds a line to the history of the run.
  void note(std::string_view what);

 private:
  void act_once();
  void go_offline();
  void try_ended_token();

  RunState& run_;
  Profile profile_;
  ClientRecord record_;
  Connections connections_{run_, *this};
  MailReader reader_{run_, *this};
  PushReader push_{run_, *this};
  MailSettler settler_{run_, *this};
  MessageSender sender_{run_, *this};
  Jobs jobs_{run_, *this};
  ToolCaller tools_{run_, *this};
  bool is_here_ = true;
  std::vector<std::string> secrets_;  // Of its webhook: a request may be under way for long.
};

}  // namespace parley::edge_sim
