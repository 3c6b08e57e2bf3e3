// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/model/command.h"
#include "edge/api/call.h"
#include "edge/marks.h"
#include "edge/operation.h"
#include "lib/json.h"

namespace parley::edge {

// What one client does over its WebSocket: sends, settles, subscribes, tells how it is. Each
// operation makes the command that a request over HTTP makes, and is answered on the connection.
// On the server's thread.
class Operations {
 public:
  // `owner` and `place` are those of the client's Push, which has this too.
  Operations(Context& context, net::ConnectionId connection, const Principal& owner,
             core::Dialect dialect, const StreamPlace& place)
      : context_(context),
        connection_(connection),
        owner_(owner),
        dialect_(dialect),
        place_(place) {}

  // Does what a frame says: one operation, or an array of them. What is wrong with one is answered,
  // and the next is done.
  void take(std::string_view frame);

 private:
  void take_one(lib::Json value, Allowance& allowance);
  void send(const Operation& operation, Allowance& allowance);
  std::expected<core::Command, base::Error> settling(const Operation& operation) const;
  // The message that an operation names, by `seq` or `id`.
  std::expected<core::Target, base::Error> target_in(lib::Json members) const;

  // Whether success is answered also where the operation has no `ref`. Refusals always are.
  enum class Answered : uint8_t { always, with_receipt, if_it_has_ref };
  // Asks for the command, or refuses.
  void ask(std::string_view ref, std::expected<core::Command, base::Error> command, Answered when);
  node::Broker::Done answer_to(std::string_view ref, Answered when);
  void reply(std::string_view ref, const core::Outcome& outcome, bool with_receipt);
  void append_redirection(base::Seq seq);
  void refuse_message(std::string_view ref, std::string_view text, const base::Error& error);
  void refuse(std::string_view ref, const base::Error& error);
  const core::Tables& tables() const;

  Context& context_;
  net::ConnectionId connection_;
  const Principal& owner_;
  core::Dialect dialect_;  // its owner's, unless it asked for another
  const StreamPlace& place_;
  std::string text_;  // the answer being made; its memory serves again
};

}  // namespace parley::edge
