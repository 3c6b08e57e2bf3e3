// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "edge/api/call.h"
#include "edge/waits.h"
#include "node/broker.h"

namespace parley::lib {
class JsonWriter;
}

namespace parley::edge {

// The calls that block for the answer to a question.
class BlockedCalls {
 public:
  explicit BlockedCalls(Context& context) : context_(context) {}

  // Answers when the answer comes, or when the time is over. Whoever hangs up before waits no more.
  void await_answer(const Asker& asker, base::Seq question, Duration wait);

 private:
  struct Blocked {
    Asker asker;
    base::Seq question;
    std::string id;         // of the question, as its caller knows it
    std::string receivers;  // of the question, in words
    Waits::Id timer = 0;
  };
  using AnswerKey = std::tuple<core::WorkspaceId, core::AgentRef, base::Seq>;
  struct AnswerWait {
    node::Waiter waiter;
    std::vector<Blocked> calls;  // never empty
  };
  // Tells one reading of a message from the next. `attempts` alone does not: those of a retried
  // dead letter begin at one again.
  struct Hold {
    uint16_t attempts = 0;
    base::Time since;
    bool is_pushed = false;  // a stream has it as well
    bool operator==(const Hold&) const = default;
  };

  void block(Blocked blocked, Duration wait);
  // None when it does not block any more.
  std::optional<Blocked> stop_blocking(const AnswerKey& key, const net::Exchange& exchange);
  void hang_up(const AnswerKey& key, const net::Exchange& exchange);
  void end_blocking(const AnswerKey& key, const node::Answer& answer);
  void end_stale(std::vector<Blocked>& calls);
  void refuse_unanswered(const Blocked& blocked);
  void refuse_late(const Blocked& blocked, const std::string& within);
  std::string time_given(const Blocked& blocked);
  // To calls of one principal.
  void give_answer(std::vector<Blocked> calls, base::Seq answer);
  void read_answer(std::vector<Blocked> calls, base::Seq answer, base::Seq decision);
  void show_answer(const std::vector<Blocked>& calls, base::Seq answer, base::Seq decision);
  // What people decided about an answer that they changed; nothing of any other.
  void render_decision(core::WorkspaceId workspace, base::Seq answer, lib::JsonWriter& out);
  std::expected<net::Response, Error> answer_response(const Blocked& blocked, base::Seq answer);
  Error not_shown(const Blocked& blocked, base::Seq answer, const Error& refusal) const;
  // For a message that its reader holds: acknowledges it in its name once the response that shows
  // it was written. Where it never is, the message is given back.
  net::Report ack_when_written(const Principal& caller, base::Seq message);
  // None when it is not read, or when the caller's token has ended.
  std::optional<Hold> hold_of(const Principal& caller, base::Seq message) const;
  void give_back(const Principal& caller, base::Seq message, const Hold& hold);

  Context& context_;
  std::map<AnswerKey, AnswerWait> blocked_;
  // Callbacks that the server keeps check this: the calls may be gone.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace parley::edge
