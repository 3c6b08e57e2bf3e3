// SPDX-License-Identifier: Apache-2.0
#include "edge/operations.h"

#include <optional>
#include <utility>

#include "edge/answers/receipt.h"
#include "edge/api/commands.h"
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/api/submission.h"
#include "edge/push.h"
#include "edge/render.h"
#include "edge/secrets/screen.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using lib::Json;

// One frame is one turn of the loop, and all of its answers must fit into the output.
constexpr uint64_t operations_max = 1'000;

std::expected<core::Command, Error> subscribing(const Operation& operation) {
  Members members(operation.members);
  const std::string_view topic = members.text("topic");
  if (members.error()) {
    return std::unexpected(*members.error());
  }
  if (operation.name == "unsubscribe") {
    return core::Unsubscribe{.topic = topic};
  }
  return core::Subscribe{.topic = topic};
}

}  // namespace

const core::Tables& Operations::tables() const { return context_.tables(owner_.workspace); }

void Operations::take(std::string_view frame) {
  Allowance allowance;  // for the whole frame
  const auto parsed = context_.document.parse(frame);
  if (!parsed) {
    refuse_message("", frame, parsed.error());
    return;
  }
  if (parsed->kind() != lib::JsonKind::array) {
    take_one(*parsed, allowance);
    return;
  }
  uint64_t count = 0;
  for (const Json value : parsed->elements()) {
    if (++count > operations_max) {
      refuse("", Error{Code::bad_request,
                       "a batch has at most " + std::to_string(operations_max) + " operations",
                       {}});
      return;
    }
    take_one(value, allowance);
  }
}

void Operations::take_one(Json value, Allowance& allowance) {
  auto operation = read_operation(value);
  if (!operation) {
    refuse_message(operation.error().ref, value.raw(), operation.error().error);
    return;
  }
  // Of a send the message alone is stored, and it is screened where all messages are.
  const auto policy = operation->kind == Operation::Kind::send
                          ? core::SecretsPolicy::off
                          : core::secrets_policy(tables().rules, dialect_);
  const auto passed = screened(operation->members, policy, allowance.looks);
  if (!passed) {
    refuse(operation->ref, passed.error());
    return;
  }
  operation->members = passed->value;
  switch (operation->kind) {
    case Operation::Kind::send:
      send(*operation, allowance);
      break;
    case Operation::Kind::settle:
      ask(operation->ref, settling(*operation), Answered::if_it_has_ref);
      break;
    case Operation::Kind::subscribe:
      ask(operation->ref, subscribing(*operation), Answered::always);
      break;
    case Operation::Kind::heartbeat:
      ask(operation->ref, heartbeat_command(tables().agents[owner_.ref], operation->members),
          Answered::if_it_has_ref);
      break;
  }
}

void Operations::send(const Operation& operation, Allowance& allowance) {
  const dialect::Codec* const codec = dialect::find_codec(dialect_);
  const Json message = operation.members.find("message");
  auto submission = submission_in(operation.members);
  std::optional<Error> error;
  if (codec == nullptr) {
    error = Error{Code::unsupported_dialect, "this dialect has no codec yet", {}};
  } else if (!message) {
    error = Error{Code::bad_request, "send needs a message", "/message"};
  } else if (!submission) {
    error = submission.error();
  }
  if (error) {
    refuse_message(operation.ref, operation.members.raw(), *error);
  } else {
    submission->allowance = &allowance;
    context_.submissions->submit(owner_, *codec, message, *submission,
                                 answer_to(operation.ref, Answered::with_receipt));
  }
}

std::expected<core::Command, Error> Operations::settling(const Operation& operation) const {
  const Json upto = operation.members.find("upto");
  if (!upto) {
    const auto target = target_in(operation.members);
    return target ? settle_command(settling_of(operation.name), *target, operation.members)
                  : std::unexpected(target.error());
  }
  if (operation.name != "ack") {
    return std::unexpected(Error{Code::bad_request, "only ack takes upto", "/upto"});
  }
  if (operation.members.find("id") || operation.members.find("seq")) {
    return std::unexpected(Error{Code::bad_request, "upto stands in place of id and seq", "/upto"});
  }
  // Everything that this stream pushed up to a place, in order of delivery.
  const auto mark = mark_upto(tables(), owner_.ref, place_, upto);
  if (!mark) {
    return std::unexpected(mark.error());
  }
  return core::Ack{.stream = place_.stream, .upto = *mark};
}

std::expected<core::Target, Error> Operations::target_in(Json members) const {
  Members reader(members);
  const auto place = reader.number("seq", "seq is the place of a message, a whole number");
  const std::string_view id = reader.text("id");
  if (place && !id.empty()) {
    reader.blame("seq", "a message is named by `id` or by `seq`, not by both");
  }
  if (reader.error()) {
    return std::unexpected(*reader.error());
  }
  if (place) {
    return core::Target{.seq = base::Seq{*place}, .id = {}};
  }
  if (id.empty()) {
    return std::unexpected(
        Error{Code::bad_request, "a message is named by `id`, a string, or by `seq`", {}});
  }
  return Names(tables(), owner_).target(id);
}

void Operations::ask(std::string_view ref, std::expected<core::Command, Error> command,
                     Answered when) {
  if (command) {
    context_.broker.ask(owner_.workspace, owner_.name, std::move(*command), answer_to(ref, when));
  } else {
    refuse(ref, command.error());
  }
}

// Replies when the outcome is there, if the connection still is.
node::Broker::Done Operations::answer_to(std::string_view ref, Answered when) {
  return [&context = context_, connection = connection_, ref = std::string(ref), when](
             const core::Outcome& outcome, std::span<const core::Effect>) {
    Push* const push = context.pushes->find(connection);
    if (push != nullptr && (when != Answered::if_it_has_ref || !outcome || !ref.empty())) {
      push->operations().reply(ref, outcome, when == Answered::with_receipt);
    }
  };
}

// A send is answered with the receipt that it gets over HTTP, but for the list of recipients.
void Operations::reply(std::string_view ref, const core::Outcome& outcome, bool with_receipt) {
  if (!outcome) {
    refuse(ref, outcome.error());
    return;
  }
  text_.assign(R"({"ref":)").append(ref.empty() ? "null" : ref);
  text_.append(R"(,"ok":true)");
  if (with_receipt) {
    Principal sender = owner_;
    sender.dialect = dialect_;
    const std::string receipt =
        receipt_text(context_.broker, sender, *outcome, Recipients::counted);
    text_.append(",").append(receipt, 1, receipt.size() - 2);  // without its braces
    append_redirection(outcome->message);
  } else if (outcome->message.n != 0) {
    text_.append(R"(,"seq":)").append(std::to_string(outcome->message.n));
  }
  text_.append(R"(,"count":)").append(std::to_string(outcome->count)).append("}");
  context_.server->send(connection_, text_);
}

// Who got it in another's place, where that is the only receiver.
void Operations::append_redirection(base::Seq seq) {
  const core::Tables& t = tables();
  const core::MessageRef ref = t.messages.find(seq);
  if (ref == core::none || t.messages.message(ref).delivery_count != 1) {
    return;
  }
  const core::AgentRef receiver = t.messages.delivery(t.messages.message(ref).deliveries).receiver;
  if (const auto away = redirected_from(t, ref, receiver); !away.empty()) {
    text_.append(R"(,"receiver":)");
    lib::append_json_string(text_, t.agents[receiver].name);
    text_.append(R"(,"redirected_from":)");
    lib::append_json_string(text_, away);
  }
}

// What was to be a message, and may be for the moderators alone.
void Operations::refuse_message(std::string_view ref, std::string_view text, const Error& error) {
  node::Broker::Done done = answer_to(ref, Answered::with_receipt);
  if (!context_.submissions->submit_unreadable(owner_, text, error, done)) {
    refuse(ref, error);
  }
}

void Operations::refuse(std::string_view ref, const Error& error) {
  std::string text = R"({"ref":)";
  text.append(ref.empty() ? "null" : ref).append(R"(,"ok":false,"error":)");
  text.append(context_.counted_problem(error).body).append("}");
  context_.server->send(connection_, text);
}

}  // namespace parley::edge
