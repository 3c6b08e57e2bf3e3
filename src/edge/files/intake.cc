// SPDX-License-Identifier: Apache-2.0
#include "edge/files/intake.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/secrets/secrets.h"
#include "base/text.h"
#include "edge/answers/problem.h"
#include "edge/api/submission.h"
#include "edge/files/names.h"
#include "edge/names.h"
#include "edge/records.h"
#include "edge/signs_of_life.h"

namespace parley::edge::files {

namespace {

using base::Code;
using base::Error;
using lib::Json;

constexpr base::Duration again_after = base::seconds(1);
// How long an answer waits for its question, and how often that is looked for.
constexpr base::Duration early_for = base::minutes(1);
constexpr base::Duration early_again_after = base::milliseconds(100);
constexpr size_t early_max = 1'000;
constexpr size_t shown_bytes_max = 200;

std::string shown(std::string_view text) {
  return "\"" + std::string(base::cut(text, shown_bytes_max)) + "\"";
}

// Whether the same may be taken later: nothing is wrong with the message itself.
bool passes_later(const Error& error) {
  const int status = base::info(error.code).http_status;
  return status == 429 || status == 503 || status == 507 || error.code == Code::view_behind ||
         error.code == Code::unsupported_dialect;
}

Principal principal_of(const core::Agents& agents, core::AgentRef ref) {
  const core::Agent& agent = agents[ref];
  return {core::workspace_first, ref,          agent.name, agent.kind,
          core::Dialect::squad,  agent.rights, {},         agent.registered};
}

// A file without an id is the same message as long as it is the same file, with the same content.
std::string key_of(const Found& found) {
  return "file " + std::to_string(found.file.stamp.device) + " " +
         std::to_string(found.file.stamp.inode) + " " +
         std::to_string(found.file.stamp.changed_ns) + " " + found.box + "/" + found.name;
}

}  // namespace

Intake::Intake(Context& context, const Options& options, Host host)
    : context_(context), options_(options), host_(std::move(host)), own_uid_(::geteuid()) {}

// The name is the message's own word, or in an outbox that of its owner.
std::expected<Principal, Error> Intake::sender_of(const Found& found, const BoxOwner& owner,
                                                  Json message) const {
  const Json from = message.find("from");
  const bool is_outbox = found.place == Place::outbox;
  if (from ? !from.as_string() : !is_outbox) {
    return std::unexpected(
        Error{Code::validation_failed, "a message names its sender in \"from\"", "/from"});
  }
  const std::string name(from ? *from.as_string() : owner.name);
  if (is_outbox && name != owner.name) {
    return std::unexpected(Error{
        Code::sender_mismatch,
        "what lies in this outbox is sent by " + shown(owner.name) + ", not by " + shown(name),
        "/from"});
  }
  if (!may_send(options_.senders, own_uid_, found.file.owner, name)) {
    return std::unexpected(Error{Code::sender_mismatch,
                                 "files of the user " + std::to_string(found.file.owner) +
                                     " may not be messages of " + shown(name) +
                                     "; an admin allows it with the key squad.file_senders",
                                 "/from"});
  }
  const core::Agents& agents = context_.tables(core::workspace_first).agents;
  const core::AgentRef ref = agents.find(name);
  const bool is_there = ref != core::none && agents[ref].is_registered();
  if (!is_there || (agents[ref].dialect != core::Dialect::squad &&
                    agents[ref].kind != core::PrincipalKind::human)) {
    return std::unexpected(
        Error{Code::sender_mismatch,
              shown(name) + (is_there ? " does not speak squad" : " is not registered") +
                  "; `parley agent add NAME --dialect squad --role ROLE` does that",
              "/from"});
  }
  return principal_of(agents, ref);
}

// What the broker itself handed out, in a file that it does not know: the receiver copied it, or
// the ledger is lost.
std::optional<base::Seq> Intake::known(const Found& found, const BoxOwner& owner,
                                       Json message) const {
  const core::Tables& t = context_.tables(core::workspace_first);
  const core::AgentRef ref = owner.kind == BoxKind::agent ? t.agents.find(owner.name) : core::none;
  const auto id = message.find("id").as_string();
  const auto from = message.find("from").as_string();
  if (ref == core::none || found.place == Place::outbox || !id || !from) {
    return std::nullopt;
  }
  const Principal reader = principal_of(t.agents, ref);
  const std::array<std::string_view, 1> senders = {*from};
  const auto uuid = Names(t, reader).find_received(*id, senders);
  const core::AgentRef sender = t.agents.find(*from);
  const core::MessageRef message_ref =
      uuid ? t.messages.find_received(ref, *uuid, sender) : core::none;
  if (message_ref == core::none || t.messages.message(message_ref).sender != sender) {
    return std::nullopt;
  }
  return t.messages.message(message_ref).seq;
}

// A message lies with one whom it is for.
std::expected<void, Error> check_place(const Found& found, const BoxOwner& owner, Json message) {
  const auto to = message.find("to").as_string();
  if (found.place == Place::outbox || !to) {
    return {};  // what is wrong with it the codec says
  }
  const bool fits = owner.kind == BoxKind::agent ? covers(*to, owner.name)
                    : owner.kind == BoxKind::human
                        ? to->starts_with("human")
                        : to->ends_with('*') || *to == broadcast_directory;
  return fits ? std::expected<void, Error>{}
              : std::unexpected(Error{Code::validation_failed,
                                      "the message is to " + shown(*to) +
                                          " and lies in the directory " + found.box +
                                          "; put it into the receiver's, or into your outbox",
                                      "/to"});
}

void Intake::take(Found found, const BoxOwner& owner) {
  const auto message = document_.parse(found.file.text);
  if (!message) {
    refuse(found, message.error());
    return;
  }
  if (const auto seq = known(found, owner, *message)) {
    host_.taken(found, *seq, true);
    return;
  }
  const auto sender = sender_of(found, owner, *message);
  const auto placed = check_place(found, owner, *message);
  if (!sender || !placed) {
    refuse(found, sender ? placed.error() : sender.error());
    return;
  }
  const dialect::Codec* const codec = dialect::find_codec(core::Dialect::squad);
  if (codec == nullptr) {
    refuse(found, Error{Code::unsupported_dialect, "this broker has no codec for squad", {}});
    return;
  }
  context_.signs_of_life->note(*sender);
  if (comes_early(found, *sender, *message)) {
    postpone(found, early_again_after);
    return;
  }
  const std::string key = message->find("id") ? std::string() : key_of(found);
  const auto sent = std::make_shared<Found>(std::move(found));
  context_.submissions->submit(
      *sender, *codec, *message,
      Submission{.via = core::Via::file, .lenient = true, .idempotency_key = key},
      [this, sent](const core::Outcome& outcome, std::span<const core::Effect>) {
        finish(*sent, outcome);
      });
}

// Whether it answers what the broker does not know yet, and may know soon.
bool Intake::comes_early(const Found& found, const Principal& sender, Json message) {
  const auto question = message.find("reply_to").as_string();
  const auto type = message.find("type").as_string();
  const std::string file = found.box + "/" + found.name;
  const bool answers = question && !question->empty() && (type == "response" || type == "ack");
  if (!answers ||
      Names(context_.tables(core::workspace_first), sender).find_received(*question, {})) {
    early_.erase(file);
    return false;
  }
  const base::Time now = context_.clock.now();
  if (early_.size() >= early_max && !early_.contains(file)) {
    return false;
  }
  const auto at = early_.try_emplace(file, now).first;
  if (now - at->second < early_for) {
    return true;
  }
  early_.erase(at);
  return false;
}

void Intake::postpone(const Found& found, base::Duration pause) {
  context_.waits.add(
      context_.clock.now() + pause,
      [this, job = Postpone{found.box, found.place, found.name}] { host_.work(job); });
}

void Intake::finish(const Found& found, const core::Outcome& outcome) {
  if (outcome) {
    host_.taken(found, outcome->message, may_stay(found, outcome->message));
    return;
  }
  if (!passes_later(outcome.error())) {
    refuse(found, outcome.error());
    return;
  }
  postpone(found, std::clamp(outcome.error().retry_after, again_after, base::minutes(1)));
}

// A receiver answers by the id that the file has, so it must be the message's own; and a secret
// that was taken out of the message must not be left in the file.
bool Intake::may_stay(const Found& found, base::Seq seq) {
  const auto envelope = envelope_at(context_.broker, core::workspace_first, seq);
  const auto message = document_.parse(found.file.text);
  return envelope && message && message->find("from") &&
         message->find("id").as_string() == dialect::id_in(core::Dialect::squad, *envelope) &&
         found.name == message_name(dialect::id_in(core::Dialect::squad, *envelope)) &&
         base::find_secrets(found.file.text).empty();
}

void Intake::refuse(const Found& found, const Error& error) {
  host_.work(Refuse{found.box, found.place, found.name, problem(error).body + "\n"});
}

}  // namespace parley::edge::files
