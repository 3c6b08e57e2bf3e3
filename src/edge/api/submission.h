// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/command.h"
#include "dialect/dialect.h"
#include "edge/api/call.h"
#include "lib/json.h"
#include "node/broker.h"

namespace parley::edge {

class Context;
class Names;

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
  base::Duration wait{};  // how long its caller blocks for the answer
  // For this message and the others that came with it. Null: it came alone.
  Allowance* allowance = nullptr;
};

// What a request asks for beside its message, in its query and its headers.
std::expected<Submission, base::Error> submission_of(Call& call);
// The same in the members of an operation on a WebSocket.
std::expected<Submission, base::Error> submission_in(lib::Json operation);

// Refuses a call that was to bring a message. What looks like something for the moderators alone is
// put before them, and its sender gets a receipt: it must not be lost for a mistake in the request.
void refuse_message(Call& call, const base::Error& error);

// Makes commands of messages: checks them, and adds what follows from the messages before.
class Submissions {
 public:
  explicit Submissions(Context& context) : context_(context) {}

  // Checks a message and sends it. What is wrong with it is told, and kept as a dead letter.
  void submit(const Principal& caller, const dialect::Codec& codec, lib::Json message,
              const Submission& submission, node::Broker::Done done);
  // Puts a message that is for the moderators alone before them, whatever is wrong with it; then
  // `done` is used up. False: it is none, and nothing was done.
  bool submit_if_private(const Principal& caller, const dialect::Codec& codec, lib::Json message,
                         node::Broker::Done& done);
  // The same of a text that is no message, or stands in a request that is refused, where it looks
  // like something for them in any dialect.
  bool submit_unreadable(const Principal& caller, std::string_view text, const base::Error& error,
                         node::Broker::Done& done);

 private:
  dialect::DecodeContext decode_context(const Principal& caller, const dialect::Codec& codec,
                                        const Names& lookup, bool lenient);
  void submit_private(const Principal& caller, const dialect::Codec& codec, lib::Json message,
                      std::string summary, node::Broker::Done done);
  void submit_apart(const Principal& caller, const dialect::Codec& codec, lib::Json message,
                    const dialect::Codec::Apart& apart, const Submission& submission,
                    node::Broker::Done done);
  void ask_approval(const Principal& caller, lib::Json message, const core::Envelope& asked,
                    node::Broker::Done done);
  // The command for the message, with all that was asked for beside it.
  std::expected<core::Send, base::Error> prepare(const Principal& caller,
                                                 const dialect::Codec& codec, lib::Json message,
                                                 const Submission& submission);
  std::expected<core::Send, base::Error> decode(const Principal& caller,
                                                const dialect::Codec& codec, lib::Json message,
                                                const Submission& submission);
  std::expected<base::MessageId, base::Error> add_causes(const Principal& caller,
                                                         const Submission& submission,
                                                         core::Envelope& envelope);
  // The message that another follows from. Refused where all that came with it may read no more.
  std::expected<core::Envelope, base::Error> read_cause(const Principal& caller,
                                                        const Submission& submission,
                                                        base::Seq seq);
  void take_from_cause(const core::Envelope& cause, core::Envelope& envelope);
  void follow_question(const Principal& caller, const core::Envelope& question,
                       core::Envelope& response);
  void name_task(const Principal& caller, core::Envelope& envelope);
  std::string_view task_thread(const Principal& caller, const core::Envelope& envelope);
  std::expected<void, base::Error> check_reply_to(const Principal& caller,
                                                  const dialect::Codec& codec,
                                                  const core::Envelope& envelope) const;
  node::Broker::Done in_ids_of(const Principal& caller, core::Dialect reader, std::string own,
                               node::Broker::Done done);
  void refuse(const Principal& caller, lib::Json message, base::Error error, base::Looks& looks,
              node::Broker::Done done);

  Context& context_;
  base::MessageId spare_id_;  // for the next message that brings none
};

}  // namespace parley::edge
