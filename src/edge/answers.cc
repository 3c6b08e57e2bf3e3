// SPDX-License-Identifier: Apache-2.0
// Where answers go, and those who wait for them.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/text.h"
#include "edge/api.h"
#include "edge/render.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

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
  if (session != nullptr && takes_part(caller.name) &&
      std::ranges::all_of(receivers, takes_part)) {
    response.session = texts_.emplace_back(question.session);
  }
}

// An answer to nobody would be lost, and the request would count as answered.
std::expected<void, Error> Api::check_reply_to(const Principal& caller,
                                               const dialect::Codec& codec,
                                               const core::Envelope& envelope) const {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const core::AgentRef ref =
      envelope.reply_to.empty() ? caller.ref : t.agents.find(envelope.reply_to);
  if (ref != core::none && t.agents[ref].is_registered()) {
    return {};
  }
  return std::unexpected(
      Error{Code::receiver_not_found,
            "answers are to go to \"" + std::string(base::cut(envelope.reply_to, 256)) +
                "\", and no principal has this name",
            std::string(codec.field("/reply_to"))});
}

// Names the requests of a circle by the ids that the sender's dialect has for them; the one that
// was refused by `own`.
node::Broker::Done Api::in_ids_of(const Principal& caller, core::Dialect reader, std::string own,
                                  node::Broker::Done done) {
  return [this, workspace = caller.workspace, reader, own = std::move(own),
          done = std::move(done)](const core::Outcome& outcome,
                                  std::span<const core::Effect> effects) mutable {
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
          ref == core::none ? own
                            : id_text(broker_, workspace, t.messages.message(ref), reader));
    }
    done(std::unexpected(std::move(error)), effects);
  };
}

// Answers when the answer comes, or when the time is over. Whoever hangs up before waits no more.
void Api::await_answer(const net::Exchange& exchange, const Principal& caller, base::Seq question,
                       Duration wait) {
  const core::Tables& tables = broker_.machine().find(caller.workspace)->tables();
  const core::Messages& messages = tables.messages;
  const core::MessageRef asked = messages.find(question);
  if (asked == core::none) {  // nobody could answer it, and the rules keep nothing that is settled
    refuse(exchange, Error{Code::not_answered,
                           "message " + std::to_string(question.n) +
                               " is settled and forgotten already (settled_max, "
                               "settled_retention): it had no receiver that could answer, or its "
                               "answer is in your inbox",
                           {}});
    return;
  }
  const std::string id =
      id_text(broker_, caller.workspace, messages.message(asked), caller.dialect);
  const auto no_answer = [this, exchange, id, workspace = caller.workspace, question] {
    const core::Tables& now = broker_.machine().find(workspace)->tables();
    refuse(exchange, Error{Code::not_answered,
                           "there will be no answer to " + id +
                               why_unanswered(now, now.messages.find(question)),
                           {}});
  };
  if (messages.message(asked).answer.n != 0) {  // asked again
    give_answer(exchange, caller, messages.message(asked).answer, id);
    return;
  }
  const auto too_late = [this, exchange, id, receivers = receivers_of(tables, asked)](
                            const std::string& within) {
    refuse(exchange, Error{Code::timeout, receivers + " did not answer " + id + " " + within, {}});
  };
  // The time that each try had; the tries, where there may be several.
  const auto in_vain = [this, caller, question] {
    const auto envelope = envelope_at(broker_, caller.workspace, question);
    const core::Tables& now = broker_.machine().find(caller.workspace)->tables();
    const core::MessageRef ref = now.messages.find(question);
    const bool to_many = ref != core::none && now.messages.message(ref).to_many();
    if (!envelope) {
      return std::string("in time");
    }
    const Duration timeout =
        envelope->response_timeout.us > 0
            ? envelope->response_timeout
            : core::default_timeout(now.rules, envelope->dialect, envelope->kind, to_many);
    uint64_t tries = 1;
    while (envelope->on_timeout == core::OnTimeout::retry &&
           core::retry_pause(now.rules, envelope->dialect, to_many, tries - 1)) {
      ++tries;
    }
    return "within " + base::format_duration(timeout) +
           (tries == 1 ? std::string() : ", asked " + std::to_string(tries) + " times");
  };
  if (messages.message(asked).timed_out) {
    too_late(in_vain());
    return;
  }
  if (messages.has_failed(asked)) {
    no_answer();
    return;
  }
  const auto timer = std::make_shared<Waits::Id>(0);
  const node::Broker::Waiter waiter = broker_.on_answer(
      caller.workspace, question,
      [this, exchange, caller, id, timer, no_answer, too_late,
       in_vain](node::Broker::Answer answer) {
        waits_.remove(*timer);
        waiting_.erase(exchange);
        if (answer) {
          give_answer(exchange, caller, *answer, id);
        } else if (answer.error() == Code::timeout) {
          too_late(in_vain());
        } else {
          no_answer();
        }
      });
  *timer = waits_.add(clock_.now() + wait, [this, waiter, too_late, wait] {
    broker_.forget(waiter);
    too_late("within " + base::format_duration(wait));
  });
  waiting_[exchange] = {caller, [this, waiter, timer, caller, question] {
                          waits_.remove(*timer);
                          broker_.forget(waiter);
                          broker_.ask(caller.workspace, caller.name, core::StopWaiting{question},
                                      [](const core::Outcome&, std::span<const core::Effect>) {});
                        }};
  stay_present(exchange, caller);
}

// The waiting caller has the answer with this: it is read and acknowledged in its name.
void Api::give_answer(const net::Exchange& exchange, const Principal& caller, base::Seq answer,
                      const std::string& question) {
  if (!is_still_good(exchange, caller)) {
    return;
  }
  const core::Target target{.seq = answer, .id = {}};
  broker_.ask(caller.workspace, caller.name, core::Read{.target = target},
              [](const core::Outcome&, std::span<const core::Effect>) {});
  broker_.ask(
      caller.workspace, caller.name, core::Ack{target, {}},
      [this, exchange, caller, answer, question](const core::Outcome& outcome,
                                                 std::span<const core::Effect>) {
        if (!outcome && outcome.error().code == Code::session_paused) {
          refuse(exchange, outcome.error());  // it was answered, and waits in the inbox
          return;
        }
        const auto text =
            message_text(broker_, caller.workspace, answer, caller.dialect, shown_to(caller.name));
        if (!text) {
          refuse(exchange, text.error());
          return;
        }
        std::string body;
        JsonWriter out(body);
        out.object().key("id").text(question).key("response").raw(*text);
        const core::Messages& known = broker_.machine().find(caller.workspace)->tables().messages;
        const core::MessageRef ref = known.find(answer);
        const auto envelope = envelope_at(broker_, caller.workspace, answer);
        if (ref != core::none && envelope) {
          out.key("provenance");
          render_provenance(*envelope, known.message(ref), {}, out);
        }
        out.end_object();
        respond(exchange, json_response(200, std::move(body)));
      });
}

}  // namespace parley::edge
