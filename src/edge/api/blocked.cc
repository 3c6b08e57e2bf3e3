// SPDX-License-Identifier: Apache-2.0
#include "edge/api/blocked.h"

#include <algorithm>
#include <map>
#include <utility>

#include "edge/api/context.h"
#include "edge/api/waiting.h"
#include "edge/render.h"
#include "edge/signs_of_life.h"

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
    if (const std::string* const error = t.messages.notes.last_error(d); error != nullptr) {
      text.append(", ").append(*error);
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

void BlockedCalls::await_answer(const Asker& asker, base::Seq question, Duration wait) {
  const Principal& caller = asker.caller;
  const core::Tables& t = asker.tables();
  const core::MessageRef asked = t.messages.find(question);
  if (asked == core::none) {  // nobody could answer it, and the rules keep nothing that is settled
    asker.refuse(Error{Code::not_answered,
                       "message " + std::to_string(question.n) +
                           " is settled and forgotten already (settled_max, "
                           "settled_retention): it had no receiver that could answer, or its "
                           "answer is in your inbox",
                       {}});
    return;
  }
  const core::Message& message = t.messages.message(asked);
  Blocked blocked{asker, question,
                  id_text(context_.broker, caller.workspace, message, caller.dialect),
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

void BlockedCalls::refuse_unanswered(const Blocked& blocked) {
  const core::Tables& t = context_.tables(blocked.asker.caller.workspace);
  blocked.asker.refuse(Error{Code::not_answered,
                             "there will be no answer to " + blocked.id +
                                 why_unanswered(t, t.messages.find(blocked.question)),
                             {}});
}

void BlockedCalls::refuse_late(const Blocked& blocked, const std::string& within) {
  const core::Tables& t = context_.tables(blocked.asker.caller.workspace);
  const std::string held = held_back(t, t.messages.find(blocked.question));
  blocked.asker.refuse(Error{
      Code::timeout,
      held.empty()
          ? blocked.receivers + " did not answer " + blocked.id + " " + within
          : blocked.receivers + " has not got " + blocked.id + " yet, " + within + ": " + held,
      {}});
}

// The time that each try had; the tries, where there may be several.
std::string BlockedCalls::time_given(const Blocked& blocked) {
  const auto envelope =
      envelope_at(context_.broker, blocked.asker.caller.workspace, blocked.question);
  const core::Tables& t = context_.tables(blocked.asker.caller.workspace);
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

void BlockedCalls::block(Blocked blocked, Duration wait) {
  const Principal& caller = blocked.asker.caller;
  const AnswerKey key{caller.workspace, caller.ref, blocked.question};
  const auto [at, is_first] = blocked_.try_emplace(key);
  if (is_first) {
    at->second.waiter = context_.broker.waiters().on_answer(
        caller.workspace, blocked.question,
        [this, key](node::Answer answer) { end_blocking(key, answer); });
  }
  std::vector<Blocked>& calls = at->second.calls;
  if (calls.size() >= blocked_per_question_max) {
    blocked.asker.refuse(Error{Code::limit_reached,
                               std::to_string(blocked_per_question_max) +
                                   " of your calls wait for the answer to " + blocked.id +
                                   " already; it is told to them, and to none beyond",
                               {}});
    return;
  }
  blocked.timer = context_.waits.add(
      context_.clock.now() + wait, [this, key, exchange = blocked.asker.exchange, wait] {
        if (const auto late = stop_blocking(key, exchange)) {
          refuse_late(*late, "within " + base::format_duration(wait));
        }
      });
  context_.waiting->add(blocked.asker,
                        [this, key, exchange = blocked.asker.exchange] { hang_up(key, exchange); });
  context_.signs_of_life->keep(caller);
  calls.push_back(std::move(blocked));
}

std::optional<BlockedCalls::Blocked> BlockedCalls::stop_blocking(const AnswerKey& key,
                                                                 const net::Exchange& exchange) {
  const auto at = blocked_.find(key);
  if (at == blocked_.end()) {
    return std::nullopt;
  }
  std::vector<Blocked>& calls = at->second.calls;
  const auto call = std::ranges::find(
      calls, exchange,
      [](const Blocked& each) -> const net::Exchange& { return each.asker.exchange; });
  if (call == calls.end()) {
    return std::nullopt;
  }
  Blocked stopped = std::move(*call);
  context_.waits.remove(stopped.timer);
  calls.erase(call);
  if (calls.empty()) {
    context_.broker.waiters().forget(at->second.waiter);
    blocked_.erase(at);
  }
  return stopped;
}

// The caller waits for the answer as long as one of its calls does.
void BlockedCalls::hang_up(const AnswerKey& key, const net::Exchange& exchange) {
  const auto gone = stop_blocking(key, exchange);
  if (gone && !blocked_.contains(key)) {
    gone->asker.ask(core::StopWaiting{gone->question});
  }
}

void BlockedCalls::end_blocking(const AnswerKey& key, const node::Answer& answer) {
  auto ended = blocked_.extract(key);
  if (!ended) {
    return;
  }
  std::vector<Blocked>& calls = ended.mapped().calls;
  for (const Blocked& each : calls) {
    context_.waits.remove(each.timer);
    context_.waiting->remove(each.asker.exchange);
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

// The waiting caller has the answer with this. Where people changed it, what they decided comes
// first: the caller has that with it, too, and not in its inbox once more.
void BlockedCalls::give_answer(std::vector<Blocked> calls, base::Seq answer) {
  end_stale(calls);
  if (calls.empty()) {
    return;
  }
  const Principal reader = calls.front().asker.caller;
  const base::Seq decision =
      context_.tables(reader.workspace).approvals.find_unread(answer, reader.name);
  if (decision.n == 0) {
    read_answer(std::move(calls), answer, {});
    return;
  }
  context_.broker.ask(reader.workspace, reader.name,
                      core::Read{.target = {.seq = decision, .id = {}}},
                      [this, calls = std::move(calls), answer, decision](
                          const core::Outcome& outcome, std::span<const core::Effect>) mutable {
                        read_answer(std::move(calls), answer, outcome ? decision : base::Seq{});
                      });
}

// It is read now, so that no inbox lists it meanwhile, and acknowledged once a response with it is
// written: all calls of one caller are one reading.
void BlockedCalls::read_answer(std::vector<Blocked> calls, base::Seq answer, base::Seq decision) {
  end_stale(calls);
  if (calls.empty()) {
    return;
  }
  const Principal reader = calls.front().asker.caller;
  context_.broker.ask(reader.workspace, reader.name,
                      core::Read{.target = {.seq = answer, .id = {}}},
                      [this, calls = std::move(calls), answer, decision](
                          const core::Outcome& outcome, std::span<const core::Effect>) mutable {
                        end_stale(calls);
                        if (outcome) {
                          show_answer(calls, answer, decision);
                          return;
                        }
                        for (const Blocked& each : calls) {
                          each.asker.refuse(not_shown(each, answer, outcome.error()));
                        }
                      });
}

void BlockedCalls::end_stale(std::vector<Blocked>& calls) {
  std::erase_if(calls, [](const Blocked& each) { return each.asker.refuse_if_stale(); });
}

void BlockedCalls::show_answer(const std::vector<Blocked>& calls, base::Seq answer,
                               base::Seq decision) {
  std::vector<net::Report> reports;
  std::map<core::Dialect, std::expected<net::Response, Error>> made;
  for (const Blocked& each : calls) {
    if (reports.empty()) {
      reports.push_back(ack_when_written(each.asker.caller, answer));
      if (decision.n != 0) {
        reports.push_back(ack_when_written(each.asker.caller, decision));
      }
    }
    auto response = made.find(each.asker.caller.dialect);
    if (response == made.end()) {
      response = made.emplace(each.asker.caller.dialect, answer_response(each, answer)).first;
    }
    if (!response->second) {
      each.asker.refuse(response->second.error());
      continue;
    }
    net::Response copy = *response->second;
    copy.reports.insert(copy.reports.end(), reports.begin(), reports.end());
    each.asker.respond(std::move(copy));
  }
}

std::expected<net::Response, Error> BlockedCalls::answer_response(const Blocked& blocked,
                                                                  base::Seq answer) {
  const Principal& caller = blocked.asker.caller;
  const auto text = message_text(context_.broker, caller.workspace, answer, caller.dialect,
                                 shown_to(caller.name));
  if (!text) {
    return std::unexpected(text.error());
  }
  std::string body;
  JsonWriter out(body);
  out.object().key("id").text(blocked.id).key("response").raw(*text);
  const core::Messages& known = context_.tables(caller.workspace).messages;
  const core::MessageRef ref = known.find(answer);
  const auto envelope = envelope_at(context_.broker, caller.workspace, answer);
  if (ref != core::none && envelope) {
    out.key("provenance");
    render_provenance(*envelope, known.message(ref), {}, out);
  }
  render_decision(caller.workspace, answer, out);
  out.end_object();
  return json_response(200, std::move(body));
}

void BlockedCalls::render_decision(core::WorkspaceId workspace, base::Seq answer, JsonWriter& out) {
  const core::Approval* const approval = context_.tables(workspace).approvals.find_held(answer);
  if (approval == nullptr || approval->state != core::ApprovalState::modified) {
    return;
  }
  const auto modification = modification_text(context_.broker, workspace, approval->decision);
  if (!modification) {
    return;
  }
  out.key("decided_by").text(approval->decided_by);
  if (!approval->comment.empty()) {
    out.key("comment").text(approval->comment);
  }
  out.key("modification").raw(*modification);
}

// Who may not read an answer is not shown it because it asked: whoever answers may choose other
// receivers. Who they are stands in a message that the caller cannot see, so it is not told either.
Error BlockedCalls::not_shown(const Blocked& blocked, base::Seq answer,
                              const Error& refusal) const {
  const Principal& caller = blocked.asker.caller;
  const core::Messages& messages = context_.tables(caller.workspace).messages;
  const core::MessageRef ref = messages.find(answer);
  const bool is_of_others =
      ref != core::none && messages.delivery_to(ref, caller.ref) == core::none;
  return refusal.code == Code::not_found && is_of_others
             ? Error{Code::not_answered, blocked.id + " was answered, but to another than you", {}}
             : refusal;
}

net::Report BlockedCalls::ack_when_written(const Principal& caller, base::Seq message) {
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
    context_.server->post([this, caller, message, hold] {
      if (hold_of(caller, message) == hold) {
        context_.ask(caller, core::Ack{core::Target{.seq = message, .id = {}}, {}});
      }
    });
  });
}

// A report comes late when its reader is slow. By then the name may be another's, and whoever has
// the message now may have it by another reading, which speaks for itself.
std::optional<BlockedCalls::Hold> BlockedCalls::hold_of(const Principal& caller,
                                                        base::Seq message) const {
  const core::Messages& messages = context_.tables(caller.workspace).messages;
  const core::MessageRef ref = messages.find(message);
  const core::DeliveryRef at =
      ref == core::none ? core::none : messages.delivery_to(ref, caller.ref);
  if (at == core::none || messages.delivery(at).state != core::State::read ||
      !is_current(context_.broker.machine(), caller)) {
    return std::nullopt;
  }
  return Hold{messages.delivery(at).attempts, messages.delivery(at).changed,
              messages.delivery(at).stream != core::none};
}

// It waits in the inbox again, as if it had not been told; unless a stream pushed it as well.
void BlockedCalls::give_back(const Principal& caller, base::Seq message, const Hold& hold) {
  if (hold.is_pushed || hold_of(caller, message) != hold) {
    return;
  }
  context_.ask(caller, core::Nack{.target = {.seq = message, .id = {}},
                                  .delay = {},
                                  .reason = "the connection was lost before it was told",
                                  .failed = false});
}

}  // namespace parley::edge
