// SPDX-License-Identifier: Apache-2.0
// Where answers go, and those who wait for them.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/text.h"
#include "edge/api/api.h"
#include "edge/render.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

// Calls of one principal that block for the answer to one question. Each costs a copy of the answer
// in the turn in which it comes. A client that asks again after a lost connection has few.
constexpr size_t blocked_per_question_max = 16;

// `worker`, or `worker, checker and 3 more`.
std::string receivers_of(const core::Tables& t, core::MessageRef ref) {
  constexpr size_t listed_max = 3;
  if (const core::TopicRef topic = t.messages.message(ref).topic; topic != core::none) {
    return "the subscribers of " + t.topics[topic].name;
  }
  std::vector<std::string_view> names;
  for (core::DeliveryRef d = t.messages.message(ref).deliveries; d != core::none;
       d = t.messages.delivery(d).sibling) {
    names.push_back(t.agents[t.messages.delivery(d).receiver].name);
  }
  std::ranges::reverse(names);
  std::string text;
  for (size_t n = 0; n < std::min(names.size(), listed_max); ++n) {
    text.append(n == 0 ? "" : ", ").append(names[n]);
  }
  return names.size() <= listed_max
             ? text
             : text + " and " + std::to_string(names.size() - listed_max) + " more";
}

// What became of a question: of each receiver, up to a few, why it does not answer.
std::string why_unanswered(const core::Tables& t, core::MessageRef ref) {
  constexpr size_t named_max = 3;
  if (ref != core::none && t.messages.message(ref).topic != core::none) {
    return ": " + std::to_string(t.messages.message(ref).delivery_count) +
           " subscribe to this topic, and none of them answers";
  }
  std::string text;
  size_t named = 0;
  for (core::DeliveryRef d = ref == core::none ? core::none : t.messages.message(ref).deliveries;
       d != core::none && named < named_max; d = t.messages.delivery(d).sibling, ++named) {
    const core::Agent& receiver = t.agents[t.messages.delivery(d).receiver];
    text.append(named == 0 ? ": " : "; ");
    if (!receiver.is_registered()) {
      text.append(no_such_name(t, receiver.name));
      continue;
    }
    text.append(receiver.name).append(" has not taken it: ");
    text.append(core::state_name(t.messages.delivery(d).state));
    if (const auto error = t.messages.last_errors().find(d);
        error != t.messages.last_errors().end()) {
      text.append(", ").append(error->second);
    }
  }
  return text;
}

// Why its receiver cannot have answered: a limit holds the message up. Empty: none does.
std::string held_back(const core::Tables& t, core::MessageRef ref) {
  if (ref == core::none || t.messages.message(ref).delivery_count != 1) {
    return {};
  }
  const core::Delivery& delivery = t.messages.delivery(t.messages.message(ref).deliveries);
  return core::is_limit(delivery.gate)
             ? "a rate limit holds it back until " + base::format_time(delivery.due) + " or longer"
             : std::string();
}

}  // namespace

// A response goes where the question says, else to whoever asked; an agent that says itself whom it
// is for is followed but for that. It is said in the session in which it was asked, as long as
// those whom it concerns take part. In collab it is a part of the chain that the question is of.
void Api::follow_question(const Principal& caller, const core::Envelope& question,
                          core::Envelope& response) {
  auto& receivers = response.receivers;
  if (receivers.empty()) {
    receivers.push_back(texts_.emplace_back(question.sender));
  }
  if (!question.reply_to.empty() &&
      std::ranges::find(receivers, question.reply_to) == receivers.end()) {
    const std::string_view reply_to = texts_.emplace_back(question.reply_to);
    const auto asker = std::ranges::find(receivers, question.sender);
    if (asker != receivers.end()) {
      *asker = reply_to;
    } else {
      receivers.push_back(reply_to);
    }
  }
  if (response.task.empty() && !question.task.empty()) {
    response.task = texts_.emplace_back(question.task);
  }
  if (response.dialect == core::Dialect::collab && response.correlation.empty()) {
    response.correlation = texts_.emplace_back(question.correlation);
  }
  const core::Session* const session =
      response.session.empty() && !question.session.empty()
          ? broker_.machine().find(caller.workspace)->tables().sessions.find(question.session)
          : nullptr;
  const auto takes_part = [session](std::string_view name) { return session->has(name); };
  if (session != nullptr && takes_part(caller.name) && std::ranges::all_of(receivers, takes_part)) {
    response.session = texts_.emplace_back(question.session);
  }
}

// An answer to nobody would be lost, and the request would count as answered.
std::expected<void, Error> Api::check_reply_to(const Principal& caller, const dialect::Codec& codec,
                                               const core::Envelope& envelope) const {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const core::AgentRef ref =
      envelope.reply_to.empty() ? caller.ref : t.agents.find(envelope.reply_to);
  if (ref != core::none && t.agents[ref].is_registered()) {
    return {};
  }
  return std::unexpected(Error{Code::receiver_not_found,
                               "answers are to go to \"" +
                                   std::string(base::cut(envelope.reply_to, 256)) +
                                   "\", and no principal has this name",
                               std::string(codec.field("/reply_to"))});
}

// Names the requests of a circle by the ids that the sender's dialect has for them; the one that
// was refused by `own`.
node::Broker::Done Api::in_ids_of(const Principal& caller, core::Dialect reader, std::string own,
                                  node::Broker::Done done) {
  return [this, workspace = caller.workspace, reader, own = std::move(own), done = std::move(done)](
             const core::Outcome& outcome, std::span<const core::Effect> effects) mutable {
    if (outcome || outcome.error().code != Code::deadlock) {
      done(outcome, effects);
      return;
    }
    const core::Tables& t = broker_.machine().find(workspace)->tables();
    Error error = outcome.error();
    size_t at = 0;
    for (const std::string& from : error.cycle) {
      constexpr size_t uuid_bytes = 36;
      at = error.detail.find("\" (", at);
      const auto id = at == error.detail.npos
                          ? std::nullopt
                          : base::parse_uuid(error.detail.substr(at += 3, uuid_bytes));
      if (!id) {
        break;
      }
      const core::AgentRef sender = t.agents.find(from);
      const core::MessageRef ref =
          sender == core::none ? core::none : t.messages.find_sent(sender, *id);
      error.detail.replace(
          at, uuid_bytes,
          ref == core::none ? own : id_text(broker_, workspace, t.messages.message(ref), reader));
    }
    done(std::unexpected(std::move(error)), effects);
  };
}

// Answers when the answer comes, or when the time is over. Whoever hangs up before waits no more.
void Api::await_answer(const net::Exchange& exchange, const Principal& caller, base::Seq question,
                       Duration wait) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const core::MessageRef asked = t.messages.find(question);
  if (asked == core::none) {  // nobody could answer it, and the rules keep nothing that is settled
    refuse(exchange, Error{Code::not_answered,
                           "message " + std::to_string(question.n) +
                               " is settled and forgotten already (settled_max, "
                               "settled_retention): it had no receiver that could answer, or its "
                               "answer is in your inbox",
                           {}});
    return;
  }
  const core::Message& message = t.messages.message(asked);
  Blocked blocked{exchange, caller, question,
                  id_text(broker_, caller.workspace, message, caller.dialect),
                  receivers_of(t, asked)};
  if (message.answer.n != 0) {  // asked again
    give_answer({std::move(blocked)}, message.answer);
  } else if (message.timed_out) {
    refuse_late(blocked, time_given(blocked));
  } else if (t.messages.has_failed(asked)) {
    refuse_unanswered(blocked);
  } else {
    block(std::move(blocked), wait);
  }
}

void Api::refuse_unanswered(const Blocked& blocked) {
  const core::Tables& t = broker_.machine().find(blocked.caller.workspace)->tables();
  refuse(blocked.exchange, Error{Code::not_answered,
                                 "there will be no answer to " + blocked.id +
                                     why_unanswered(t, t.messages.find(blocked.question)),
                                 {}});
}

void Api::refuse_late(const Blocked& blocked, const std::string& within) {
  const core::Tables& t = broker_.machine().find(blocked.caller.workspace)->tables();
  const std::string held = held_back(t, t.messages.find(blocked.question));
  refuse(blocked.exchange,
         Error{Code::timeout,
               held.empty() ? blocked.receivers + " did not answer " + blocked.id + " " + within
                            : blocked.receivers + " has not got " + blocked.id + " yet, " + within +
                                  ": " + held,
               {}});
}

// The time that each try had; the tries, where there may be several.
std::string Api::time_given(const Blocked& blocked) {
  const auto envelope = envelope_at(broker_, blocked.caller.workspace, blocked.question);
  const core::Tables& t = broker_.machine().find(blocked.caller.workspace)->tables();
  const core::MessageRef ref = t.messages.find(blocked.question);
  const bool to_many = ref != core::none && t.messages.message(ref).to_many();
  if (!envelope) {
    return "in time";
  }
  const Duration timeout =
      envelope->response_timeout.us > 0
          ? envelope->response_timeout
          : core::default_timeout(t.rules, envelope->dialect, envelope->kind, to_many);
  uint64_t tries = 1;
  while (envelope->on_timeout == core::OnTimeout::retry &&
         core::retry_pause(t.rules, envelope->dialect, to_many, tries - 1)) {
    ++tries;
  }
  return "within " + base::format_duration(timeout) +
         (tries == 1 ? std::string() : ", asked " + std::to_string(tries) + " times");
}

void Api::block(Blocked blocked, Duration wait) {
  const Principal& caller = blocked.caller;
  const AnswerKey key{caller.workspace, caller.ref, blocked.question};
  const auto [at, is_first] = blocked_.try_emplace(key);
  if (is_first) {
    at->second.waiter =
        broker_.on_answer(caller.workspace, blocked.question,
                          [this, key](node::Broker::Answer answer) { end_blocking(key, answer); });
  }
  std::vector<Blocked>& calls = at->second.calls;
  if (calls.size() >= blocked_per_question_max) {
    refuse(blocked.exchange, Error{Code::limit_reached,
                                   std::to_string(blocked_per_question_max) +
                                       " of your calls wait for the answer to " + blocked.id +
                                       " already; it is told to them, and to none beyond",
                                   {}});
    return;
  }
  blocked.timer = waits_.add(clock_.now() + wait, [this, key, exchange = blocked.exchange, wait] {
    if (const auto late = stop_blocking(key, exchange)) {
      refuse_late(*late, "within " + base::format_duration(wait));
    }
  });
  waiting_[blocked.exchange] = {
      caller, [this, key, exchange = blocked.exchange] { hang_up(key, exchange); }};
  stay_present(blocked.exchange, caller);
  calls.push_back(std::move(blocked));
}

std::optional<Api::Blocked> Api::stop_blocking(const AnswerKey& key,
                                               const net::Exchange& exchange) {
  const auto at = blocked_.find(key);
  if (at == blocked_.end()) {
    return std::nullopt;
  }
  std::vector<Blocked>& calls = at->second.calls;
  const auto call = std::ranges::find(calls, exchange, &Blocked::exchange);
  if (call == calls.end()) {
    return std::nullopt;
  }
  Blocked stopped = std::move(*call);
  waits_.remove(stopped.timer);
  calls.erase(call);
  if (calls.empty()) {
    broker_.forget(at->second.waiter);
    blocked_.erase(at);
  }
  return stopped;
}

// The caller waits for the answer as long as one of its calls does.
void Api::hang_up(const AnswerKey& key, const net::Exchange& exchange) {
  const auto gone = stop_blocking(key, exchange);
  if (gone && !blocked_.contains(key)) {
    broker_.ask(gone->caller.workspace, gone->caller.name, core::StopWaiting{gone->question},
                [](const core::Outcome&, std::span<const core::Effect>) {});
  }
}

void Api::end_blocking(const AnswerKey& key, const node::Broker::Answer& answer) {
  auto ended = blocked_.extract(key);
  if (!ended) {
    return;
  }
  std::vector<Blocked>& calls = ended.mapped().calls;
  for (const Blocked& each : calls) {
    waits_.remove(each.timer);
    waiting_.erase(each.exchange);
  }
  if (answer) {
    give_answer(std::move(calls), *answer);
    return;
  }
  end_stale(calls);
  for (const Blocked& each : calls) {
    if (answer.error() == Code::timeout) {
      refuse_late(each, time_given(each));
    } else {
      refuse_unanswered(each);
    }
  }
}

// The waiting caller has the answer with this. It is read now, so that no inbox lists it meanwhile,
// and acknowledged once a response with it is written: all calls of one caller are one reading.
void Api::give_answer(std::vector<Blocked> calls, base::Seq answer) {
  end_stale(calls);
  if (calls.empty()) {
    return;
  }
  const Principal reader = calls.front().caller;
  broker_.ask(reader.workspace, reader.name, core::Read{.target = {.seq = answer, .id = {}}},
              [this, calls = std::move(calls), answer](const core::Outcome& outcome,
                                                       std::span<const core::Effect>) mutable {
                end_stale(calls);
                if (outcome) {
                  show_answer(calls, answer);
                  return;
                }
                for (const Blocked& each : calls) {
                  refuse(each.exchange, not_shown(each.caller, answer, each.id, outcome.error()));
                }
              });
}

void Api::end_stale(std::vector<Blocked>& calls) {
  std::erase_if(calls,
                [this](const Blocked& each) { return !is_still_good(each.exchange, each.caller); });
}

void Api::show_answer(const std::vector<Blocked>& calls, base::Seq answer) {
  net::Report report;
  std::map<core::Dialect, std::expected<net::Response, Error>> made;
  for (const Blocked& each : calls) {
    if (!report) {
      report = ack_when_written(each.caller, answer);
    }
    auto response = made.find(each.caller.dialect);
    if (response == made.end()) {
      response = made.emplace(each.caller.dialect, answer_response(each, answer)).first;
    }
    if (!response->second) {
      refuse(each.exchange, response->second.error());
      continue;
    }
    net::Response copy = *response->second;
    copy.reports.push_back(report);
    respond(each.exchange, std::move(copy));
  }
}

std::expected<net::Response, Error> Api::answer_response(const Blocked& blocked, base::Seq answer) {
  const Principal& caller = blocked.caller;
  const auto text =
      message_text(broker_, caller.workspace, answer, caller.dialect, shown_to(caller.name));
  if (!text) {
    return std::unexpected(text.error());
  }
  std::string body;
  JsonWriter out(body);
  out.object().key("id").text(blocked.id).key("response").raw(*text);
  const core::Messages& known = broker_.machine().find(caller.workspace)->tables().messages;
  const core::MessageRef ref = known.find(answer);
  const auto envelope = envelope_at(broker_, caller.workspace, answer);
  if (ref != core::none && envelope) {
    out.key("provenance");
    render_provenance(*envelope, known.message(ref), {}, out);
  }
  out.end_object();
  return json_response(200, std::move(body));
}

// Who may not read an answer is not shown it because it asked: whoever answers may choose other
// receivers. Who they are stands in a message that the caller cannot see, so it is not told either.
Error Api::not_shown(const Principal& caller, base::Seq answer, const std::string& question,
                     const Error& refusal) const {
  const core::Messages& messages = broker_.machine().find(caller.workspace)->tables().messages;
  const core::MessageRef ref = messages.find(answer);
  const bool is_of_others =
      ref != core::none && messages.delivery_to(ref, caller.ref) == core::none;
  return refusal.code == Code::not_found && is_of_others
             ? Error{Code::not_answered, question + " was answered, but to another than you", {}}
             : refusal;
}

net::Report Api::ack_when_written(const Principal& caller, base::Seq message) {
  return std::make_shared<net::WriteReport>([this, alive = std::weak_ptr(alive_), caller, message,
                                             hold = hold_of(caller, message)](bool is_written) {
    if (alive.expired() || !hold) {
      return;  // the lease ends by itself; or it was settled before
    }
    if (!is_written) {
      give_back(caller, message, *hold);
      return;
    }
    // Posted, because bytes are written after the step of a turn: asked for now, it would wait
    // for the next event. The server runs what is posted only while its handler is there.
    server_->post([this, caller, message, hold] {
      if (hold_of(caller, message) == hold) {
        broker_.ask(caller.workspace, caller.name,
                    core::Ack{core::Target{.seq = message, .id = {}}, {}},
                    [](const core::Outcome&, std::span<const core::Effect>) {});
      }
    });
  });
}

// A report comes late when its reader is slow. By then the name may be another's, and whoever has
// the message now may have it by another reading, which speaks for itself.
std::optional<Api::Hold> Api::hold_of(const Principal& caller, base::Seq message) const {
  const core::Messages& messages = broker_.machine().find(caller.workspace)->tables().messages;
  const core::MessageRef ref = messages.find(message);
  const core::DeliveryRef at =
      ref == core::none ? core::none : messages.delivery_to(ref, caller.ref);
  if (at == core::none || messages.delivery(at).state != core::State::read ||
      !is_current(broker_.machine(), caller)) {
    return std::nullopt;
  }
  return Hold{messages.delivery(at).attempts, messages.delivery(at).changed,
              messages.delivery(at).stream != core::none};
}

// It waits in the inbox again, as if it had not been told; unless a stream pushed it as well.
void Api::give_back(const Principal& caller, base::Seq message, const Hold& hold) {
  if (hold.is_pushed || hold_of(caller, message) != hold) {
    return;
  }
  broker_.ask(caller.workspace, caller.name,
              core::Nack{.target = {.seq = message, .id = {}},
                         .delay = {},
                         .reason = "the connection was lost before it was told",
                         .failed = false},
              [](const core::Outcome&, std::span<const core::Effect>) {});
}

}  // namespace parley::edge
