// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "sim/edge/notebook.h"
#include "sim/edge/stage.h"
#include "sim/edge/undertakings.h"
#include "sim/edge/wire.h"

namespace parley::edge_sim {

// A client of the public interface that behaves as agents do: it sends, polls or is pushed to,
// settles what it got, forgets, crashes, comes back. It writes down what it does and sees.
class Agent {
 public:
  enum class Way : uint8_t { poll, events, socket };
  struct Profile {
    std::string name;
    std::string dialect = "flow";
    std::string role{};
    Way way = Way::poll;
  };

  Agent(Stage& stage, Profile profile, std::string token);

  const std::string& name() const { return profile_.name; }
  const std::string& dialect() const { return profile_.dialect; }
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

  // Asks on its own behalf, with its token.
  void ask(const Ask& ask, CallWire::Done done);

 private:

  // agent.cc
  CallWire& wire(std::unique_ptr<CallWire>& held);
  void forget_operations();
  void note(std::string_view what);
  std::string percent(std::string_view id) const;

  // mail.cc: what comes
  void poll(bool waits);
  void on_listing(const Reply& reply, uint64_t asked_at);
  void fetch(const std::string& id);
  void open_push();
  void on_frame(std::string_view text, uint64_t connection);
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
  void acknowledge_upto();
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

  Stage& stage_;
  const Profile profile_;
  std::string token_;
  Notebook notes_;
  Undertakings undertakings_{stage_, *this};
  std::unique_ptr<CallWire> calls_;
  std::unique_ptr<CallWire> polls_;
  std::unique_ptr<CallWire> events_;
  std::unique_ptr<SocketWire> socket_;
  uint64_t push_connection_ = 0;  // number of the stream that is open
  uint64_t push_opened_ = 0;      // step
  uint64_t mark_ = 0;             // newest on any stream
  uint64_t upto_ = 0;             // newest on this stream
  bool remembers_mark_ = false;
  size_t pace_ = SIZE_MAX;        // bytes of the stream that it reads at once
  bool stalled_ = false;
  bool polling_ = false;
  std::map<std::string, uint64_t> newest_;  // by channel, on this stream: the last seq
  std::map<uint64_t, std::function<void(lib::Json)>> refs_;  // operations that wait for a reply
  uint64_t last_ref_ = 0;
  std::set<std::string> fetching_;
  std::set<std::string> wanted_;  // listed, and not read yet
  lib::JsonDocument document_;
};

}  // namespace parley::edge_sim
