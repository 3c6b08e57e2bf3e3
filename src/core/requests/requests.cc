// SPDX-License-Identifier: Apache-2.0
#include "core/requests/requests.h"

#include <algorithm>

#include "base/check.h"
#include "core/agents/presence.h"
#include "core/conversation/thread_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/limits/breaker_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/answers.h"
#include "core/requests/deadlock.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr size_t names_max = 1'000;  // in one report

Duration timeout_of(const Rules& rules, const Envelope& e, bool to_many = false) {
  return e.response_timeout.us > 0 ? e.response_timeout
                                   : default_timeout(rules, e.dialect, e.kind, to_many);
}

std::string_view strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::all:
      return "all";
    case Strategy::any:
      return "any";
    case Strategy::majority:
      return "majority";
    case Strategy::quorum:
      return "quorum";
  }
  return "all";
}

Fact count_of(std::string name, size_t count) {
  return {std::move(name), static_cast<int64_t>(count)};
}

// In its last heartbeat, by the word that all dialects share or by its own.
bool says_busy(const Agent& agent) {
  const std::string_view own = policy_of(agent.dialect).busy_status;
  return agent.status == "busy" || (!own.empty() && agent.status == own);
}

// Those who look after the topics, as edge/principal.h has it.
bool sees_subscribers(const Tables& t, AgentRef agent) {
  const Agent& a = t.agents[agent];
  const std::vector<AgentRef> stewards = t.agents.stewards();
  return a.kind == PrincipalKind::admin || a.has(Right::admin) || a.has(Right::maintainer) ||
         std::ranges::find(stewards, agent) != stewards.end();
}

// The number says how many; the list is cut to what its reader can take.
void add_names(const Tables& t, OutboxItem& item, const std::string& name,
               std::vector<std::string> names) {
  constexpr size_t lists_max = 8;  // in one report, with what else it says
  const AgentRef reader = t.agents.find(item.to);
  const Policy::Number own =
      reader == none ? nullptr : policy_of(t.agents[reader].dialect).size_max;
  size_t left = t.rules.*(own == nullptr ? &Rules::collab_message_bytes_max : own) / lists_max;
  item.facts.push_back(count_of(name + "_count", names.size()));
  size_t count = 0;
  for (; count < std::min(names.size(), names_max) && names[count].size() + 3 <= left; ++count) {
    left -= names[count].size() + 3;
  }
  names.resize(count);
  item.facts.push_back({name, std::move(names)});
}

}  // namespace

Seq pipeline_of(const OutboxItem& item) {
  const auto* const first =
      item.facts.empty() ? nullptr : std::get_if<int64_t>(&item.facts.front().value);
  return first == nullptr ? Seq{} : Seq{static_cast<uint64_t>(*first)};
}

bool Requests::wants(const Tables& t, const Send& command, bool to_many) {
  const Envelope& e = command.envelope;
  if (command.gathering || !command.later_stages.empty()) {
    return true;
  }
  if (const OutboxItem* item =
          command.outbox_item == 0 ? nullptr : t.outbox.find(command.outbox_item)) {
    return item->kind == OutboxKind::stage;
  }
  // The answer to what asks is its acknowledgement.
  return asks(e.kind) ? timeout_of(t.rules, e, to_many).us > 0 : e.requires_ack;
}

std::expected<void, Error> Requests::check(const Tables& t, const Send& command) {
  const Envelope& e = command.envelope;
  // A pipeline that has begun goes on, whatever the rules say since.
  if (e.response_timeout > t.rules.timeout_max && command.outbox_item == 0) {
    return refuse(Code::bad_request,
                  "a response_timeout is at most " + base::format_duration(t.rules.timeout_max) +
                      " (timeout_max)",
                  "/response_timeout");
  }
  if (t.patterns.waits().size() >= t.rules.requests_max && command.outbox_item == 0 &&
      wants(t, command, false)) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.rules.requests_max) +
                      " unanswered requests already (requests_max)",
                  "");
  }
  if (command.gathering) {
    if (command.gathering->window > t.rules.timeout_max) {
      return refuse(Code::bad_request,
                    "a gather window is at most " + base::format_duration(t.rules.timeout_max) +
                        " (timeout_max)",
                    "/timeout");
    }
    std::vector<std::string_view> members = e.receivers;
    std::ranges::sort(members);
    if (const auto twice = std::ranges::adjacent_find(members); twice != members.end()) {
      return refuse(
          Code::bad_request,
          "\"" + std::string(twice->substr(0, 256)) + "\" is there twice; each member answers once",
          "/receivers");
    }
    if (command.gathering->strategy == Strategy::quorum &&
        (command.gathering->quorum == 0 || command.gathering->quorum > e.receivers.size())) {
      return refuse(Code::bad_request, "a quorum is 1 to the number of receivers", "/quorum");
    }
    if (t.patterns.gathers().size() >= t.rules.gathers_max) {
      return refuse(Code::limit_reached,
                    "the workspace has " + std::to_string(t.rules.gathers_max) +
                        " scatters already (gathers_max)",
                    "");
    }
  }
  if (command.later_stages.size() >= t.rules.stages_max) {
    return refuse(
        Code::bad_request,
        "a pipeline has at most " + std::to_string(t.rules.stages_max) + " stages (stages_max)",
        "/stages");
  }
  if (!command.later_stages.empty() && t.patterns.pipelines().size() >= t.rules.pipelines_max) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.rules.pipelines_max) +
                      " pipelines already (pipelines_max)",
                  "");
  }
  // Each one must be there when it starts; a topic or everyone cannot be a member or a stage.
  std::vector<std::string_view> names = command.later_stages;
  if (command.gathering || !names.empty()) {
    names.insert(names.end(), e.receivers.begin(), e.receivers.end());
  }
  for (const std::string_view name : names) {
    const AgentRef ref = t.agents.find(name);
    if (ref == none || !t.agents[ref].is_registered()) {
      return refuse(Code::receiver_not_found,
                    "no agent is named \"" + std::string(name.substr(0, 256)) + "\"",
                    command.gathering ? "/receivers" : "/stages");
    }
  }
  return {};
}

void Requests::begin(const Send& command, MessageRef message, const OutboxItem* item) {
  const Envelope& e = command.envelope;
  if (command.gathering) {
    begin_gather(command, message);
  } else if (!command.later_stages.empty()) {
    begin_pipeline(command, message);
  } else if (item != nullptr) {
    begin_stage(*item, message);
  } else if (!asks(e.kind) &&
             (e.kind == Kind::broadcast || t_.messages.message(message).to_many())) {
    const Wait wait{.message = t_.messages.message(message).seq,
                    .timeout = t_.rules.flow_roll_call_window,
                    .is_roll_call = true};
    t_.patterns.add(wait, t_.now + wait.timeout);
    dispatch_.note_ended(message);  // there may be no one to call
  } else if (!asks(e.kind)) {
    begin_receipt(e, message);
  } else {
    const bool to_many = t_.messages.message(message).to_many();
    wait_for(message, timeout_of(t_.rules, e, to_many), e.on_timeout, {});
  }
}

void Requests::wait_for(MessageRef message, Duration timeout, OnTimeout on_timeout, Seq pipeline) {
  const Wait wait{.message = t_.messages.message(message).seq,
                  .timeout = timeout,
                  .on_timeout = on_timeout,
                  .pipeline = pipeline};
  t_.patterns.add(wait, t_.now + timeout);
  broker_topics::task(dispatch_, message, "assigned");
}

void Requests::stop_watching(Seq seq) {
  const MessageRef message = t_.messages.find(seq);
  CHECK(message != none);
  t_.messages.message(message).watched = false;
  end_request(dispatch_, message);
  unblock(t_, message);
  dispatch_.finish(message);
}

void Requests::end_wait(Seq seq) {
  t_.patterns.remove_wait(seq);
  stop_watching(seq);
}

void Requests::answered(MessageRef question, AgentRef by, MessageRef answer, Status status) {
  const Seq seq = t_.messages.message(question).seq;
  const Seq response = t_.messages.message(answer).seq;
  if (t_.messages.message(question).watched) {
    broker_topics::task(dispatch_, question, broker_topics::task_status(status), by);
  }
  if (Gather* gather = t_.patterns.find_gather(seq);
      gather != nullptr && gather->state == GatherState::open) {
    const auto member =
        std::ranges::find(gather->members, t_.agents[by].name, &Gather::Member::name);
    if (member != gather->members.end() && member->response.n == 0) {
      member->response = response;
      member->status = status;
      evaluate(*gather);
    }
    return;
  }
  const Wait* const wait = t_.patterns.find_wait(seq);
  if (wait == nullptr || wait->is_roll_call || wait->is_receipt) {
    return;
  }
  Pipeline* const pipeline = t_.patterns.find_pipeline(wait->pipeline);
  end_wait(seq);
  if (pipeline != nullptr && !pipeline->is_over()) {
    stage_answered(*pipeline, response, status);
  }
}

void Requests::settle() {
  // What follows from one may end others.
  for (auto ended = dispatch_.take_ended(); !ended.empty(); ended = dispatch_.take_ended()) {
    for (const MessageRef message : ended) {
      if (t_.messages.message(message).watched) {
        delivery_ended(message);
      }
    }
  }
}

// One delivery of a watched message has ended, or several have.
void Requests::delivery_ended(MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  if (Gather* gather = t_.patterns.find_gather(message.seq)) {
    for (Gather::Member& member : gather->members) {
      const DeliveryRef d = t_.messages.delivery_to(ref, t_.agents.find(member.name));
      member.failed = member.failed || (d != none && member.response.n == 0 &&
                                        t_.messages.delivery(d).state >= State::expired);
    }
    evaluate(*gather);
    return;
  }
  const Wait* const wait = t_.patterns.find_wait(message.seq);
  if (wait == nullptr) {
    return;
  }
  if (wait->is_roll_call) {
    if (message.open == 0) {
      report_roll_call(ref);
    }
  } else if (wait->is_receipt) {
    if (message.open == 0) {
      report_receipt(*wait, ref, true);
    }
  } else if (t_.messages.has_failed(ref)) {
    Pipeline* const pipeline = t_.patterns.find_pipeline(wait->pipeline);
    end_wait(message.seq);  // its sender hears of the dead letter
    broker_topics::task(dispatch_, ref, "failed");
    if (pipeline != nullptr && !pipeline->is_over()) {
      fail(*pipeline, "the message could not be delivered");
    }
  }
}

void Requests::advance() {
  for (size_t n = 0; n < due_max && t_.patterns.next().at <= t_.now; ++n) {
    const Patterns::Due due = t_.patterns.next();
    if (due.kind == Patterns::Kind::wait) {
      on_due(*t_.patterns.find_wait(due.seq));
    } else if (due.kind == Patterns::Kind::gather) {
      Gather& gather = *t_.patterns.find_gather(due.seq);
      if (gather.state != GatherState::open) {
        t_.patterns.remove_gather(due.seq);
      } else if (gather.terms.on_partial == OnPartial::extend_timeout && !gather.extended) {
        gather.extended = true;
        t_.patterns.set_due(gather, t_.now + gather.terms.window);
      } else {
        give_up(gather);
      }
    } else {
      Pipeline& pipeline = *t_.patterns.find_pipeline(due.seq);
      if (pipeline.is_over()) {
        t_.patterns.remove_pipeline(due.seq);
      } else {
        hand_over(pipeline);
      }
    }
  }
}

void Requests::on_due(Wait& wait) {
  const MessageRef message = t_.messages.find(wait.message);
  CHECK(message != none);
  if (wait.is_roll_call) {
    report_roll_call(message);
    return;
  }
  if (wait.is_receipt) {
    report_receipt(wait, message, false);
    return;
  }
  const Message& asked = t_.messages.message(message);
  const auto pause = wait.on_timeout == OnTimeout::retry
                         ? retry_pause(t_.rules, asked.dialect, asked.to_many(), wait.retries)
                         : std::nullopt;
  if (pause && pause->us > 0 && !wait.pauses) {
    wait.pauses = true;
    t_.patterns.set_due(wait, t_.now + *pause);
    return;
  }
  presence::unanswered(dispatch_, message);
  if (pause) {
    wait.pauses = false;
    ++wait.retries;
    t_.patterns.set_due(wait, t_.now + wait.timeout);
    dispatch_.emit(RequestTimedOut{.message = wait.message, .is_final = false});
    broker_topics::task(dispatch_, message, "retried");
    send_again(message);
    return;
  }
  time_out(wait, message);
}

// The same message with the same id and key, to whoever has it and does not answer. One that waits
// in an inbox needs no second time.
void Requests::send_again(MessageRef ref) {
  std::vector<DeliveryRef> deliveries;
  for (DeliveryRef d = t_.messages.message(ref).deliveries; d != none;
       d = t_.messages.delivery(d).sibling) {
    deliveries.push_back(d);
  }
  // Where the sender names a moment, a new try does not move it.
  const Message& message = t_.messages.message(ref);
  const Time end =
      policy_of(message.dialect).retries_keep_expiry ? message.expires : base::time_max;
  const AgentRef asked = asked_alone(t_, ref);
  for (auto at = deliveries.rbegin(); at != deliveries.rend(); ++at) {
    const State state = t_.messages.delivery(*at).state;
    const AgentRef receiver = t_.messages.delivery(*at).receiver;
    const Agent& agent = t_.agents[receiver];
    if (asked != none && receiver != asked) {
      continue;  // the task went from it to another
    }
    if (state == State::acked && agent.is_registered() && end > t_.now &&
        t_.load_of(receiver) < t_.rules.queue_max) {
      dispatch_.revive(*at);
      if (end != base::time_max) {
        t_.messages.set_expiry(ref, end);
      }
    } else if (is_held(state)) {
      dispatch_.give_back(*at, Duration{}, false, "");
    } else {
      continue;
    }
    dispatch_.pump(receiver);
  }
}

void Requests::time_out(const Wait& held, MessageRef ref) {
  const Wait wait = held;
  Message& message = t_.messages.message(ref);
  message.timed_out = true;
  const std::string sender = t_.agents[message.sender].name;
  const std::string receivers = receivers_of(ref);
  note_unanswered(t_, ref, wait.timeout);
  Pipeline* const pipeline = t_.patterns.find_pipeline(wait.pipeline);
  end_wait(wait.message);
  dispatch_.emit(RequestTimedOut{.message = wait.message, .is_final = true});
  broker_topics::task(dispatch_, ref, "timed_out");
  const std::string why =
      receivers + " did not answer within " + base::format_duration(wait.timeout) +
      (wait.retries == 0 ? std::string()
                         : ", asked " + std::to_string(wait.retries + 1) + " times");
  if (wait.pipeline.n != 0) {
    if (pipeline != nullptr && !pipeline->is_over()) {
      fail(*pipeline, why);
    }
    return;
  }
  OutboxItem item{.kind = OutboxKind::request_timed_out, .to = sender, .about = wait.message};
  item.facts = {{"code", std::string("TIMEOUT")},
                {"receiver", receivers},
                {"timeout", wait.timeout},
                {std::string(retries_fact), int64_t{wait.retries}},
                {"detail", why}};
  if (wait.on_timeout == OnTimeout::escalate) {
    const uint64_t id = escalate(dispatch_, {.cause = EscalationCause::request_timed_out,
                                             .about = wait.message,
                                             .agent = sender,
                                             .receiver = receivers,
                                             .why = why});
    item.facts.push_back(count_of("escalation", id));
  }
  owe(dispatch_, std::move(item));
}

std::string Requests::receivers_of(MessageRef ref) const {
  const Message& message = t_.messages.message(ref);
  if (message.topic != none) {
    return t_.topics[message.topic].name;
  }
  const AgentRef asked = asked_alone(t_, ref);
  return asked != none ? t_.agents[asked].name
                       : std::to_string(message.delivery_count) + " receivers";
}

// Silent is who could have heard; offline who was neither connected nor asked for anything since.
// Who subscribes to a topic is not for its publisher: that one is told how many.
void Requests::report_roll_call(MessageRef ref) {
  const Message message = t_.messages.message(ref);
  std::vector<std::string> acknowledged;
  std::vector<std::string> silent;
  std::vector<std::string> offline;
  for (DeliveryRef d = message.deliveries; d != none; d = t_.messages.delivery(d).sibling) {
    const Delivery& delivery = t_.messages.delivery(d);
    const Agent& agent = t_.agents[delivery.receiver];
    const bool answered = delivery.state == State::acked || delivery.state == State::answered;
    const bool there =
        agent.is_registered() && (!agent.streams.empty() || agent.seen > message.time);
    (answered ? acknowledged : there ? silent : offline).push_back(agent.name);
  }
  OutboxItem item{
      .kind = OutboxKind::roll_called, .to = t_.agents[message.sender].name, .about = message.seq};
  item.facts = {count_of("called", message.delivery_count)};
  const bool is_named = message.topic == none || sees_subscribers(t_, message.sender);
  for (auto& [name, names] : {std::pair{"acknowledged", &acknowledged},
                              std::pair{"silent", &silent}, std::pair{"offline", &offline}}) {
    if (!is_named) {
      item.facts.push_back(count_of(std::string(name) + "_count", names->size()));
      continue;
    }
    std::ranges::sort(*names);
    add_names(t_, item, name, std::move(*names));
  }
  end_wait(message.seq);
  owe(dispatch_, std::move(item));
}

// In time is within response_timeout, where its sender gave one, else within its time to live;
// where it has none, whenever it is.
void Requests::begin_receipt(const Envelope& e, MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  const Duration timeout = e.response_timeout.us > 0 ? e.response_timeout : message.ttl;
  const Wait wait{.message = message.seq, .timeout = timeout, .is_receipt = true};
  t_.patterns.add(wait, timeout.us > 0 ? t_.now + timeout : base::time_max);
  dispatch_.note_ended(ref);  // it may have failed at once
}

// Once: when all have it or have failed, or when the time is over. Of each failure the sender is
// told anyway.
void Requests::report_receipt(const Wait& held, MessageRef ref, bool in_time) {
  const Wait wait = held;
  const Message message = t_.messages.message(ref);
  std::vector<std::string> acknowledged;
  std::vector<std::string> missing;
  for (DeliveryRef d = message.deliveries; d != none; d = t_.messages.delivery(d).sibling) {
    const Delivery& delivery = t_.messages.delivery(d);
    if (delivery.state == State::acked || delivery.state == State::answered) {
      acknowledged.push_back(t_.agents[delivery.receiver].name);
    } else if (!is_final(delivery.state)) {
      missing.push_back(t_.agents[delivery.receiver].name);
    }
  }
  end_wait(wait.message);
  if (in_time && acknowledged.empty()) {
    return;
  }
  std::ranges::sort(acknowledged);
  std::ranges::sort(missing);
  OutboxItem item{.kind = in_time ? OutboxKind::acknowledged : OutboxKind::not_acknowledged,
                  .to = t_.agents[message.sender].name,
                  .about = message.seq};
  add_names(t_, item, "acknowledged", std::move(acknowledged));
  if (!in_time) {
    add_names(t_, item, "missing", std::move(missing));
    item.facts.push_back({"timeout", wait.timeout});
  }
  owe(dispatch_, std::move(item));
}

void Requests::begin_gather(const Send& command, MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  Gather gather;
  gather.message = message.seq;
  gather.id = message.id;
  gather.owner = t_.agents[message.sender].name;
  gather.task = command.envelope.task;
  gather.thread = gather.task.empty() ? std::string_view{} : command.envelope.thread;
  gather.terms = *command.gathering;
  if (gather.terms.window.us == 0) {
    gather.terms.window = t_.rules.flow_gather_window;
  }
  gather.since = t_.now;
  for (DeliveryRef d = message.deliveries; d != none; d = t_.messages.delivery(d).sibling) {
    gather.members.push_back({.name = t_.agents[t_.messages.delivery(d).receiver].name});
  }
  std::ranges::reverse(gather.members);  // the newest delivery is the first in the list
  gather.terms.quorum = std::min(gather.terms.quorum, static_cast<uint32_t>(gather.members.size()));
  const Time due = t_.now + gather.terms.window;
  t_.patterns.add(std::move(gather), due);
  broker_topics::task(dispatch_, ref, "assigned");
  dispatch_.note_ended(ref);  // some may have failed at once
}

void Requests::evaluate(Gather& gather) {
  if (gather.state != GatherState::open) {
    return;
  }
  if (gather.good() >= gather.needed()) {
    end(gather, GatherState::complete);
  } else if (gather.possible() < gather.needed()) {
    give_up(gather);  // waiting longer would change nothing
  }
}

void Requests::give_up(Gather& gather) {
  const bool proceeds = gather.terms.on_partial != OnPartial::fail && gather.good() > 0;
  end(gather, proceeds ? GatherState::partial : GatherState::failed);
}

void Requests::end(Gather& gather, GatherState state) {
  gather.state = state;
  gather.ended = t_.now;
  t_.patterns.set_due(gather, t_.now + t_.rules.settled_retention);
  // What comes from now on is late.
  t_.messages.message(t_.messages.find(gather.message)).timed_out = true;
  stop_watching(gather.message);
  std::vector<std::string> answered;
  std::vector<std::string> refused;
  std::vector<std::string> missing;
  for (const Gather::Member& member : gather.members) {
    (member.counts()          ? answered
     : member.response.n != 0 ? refused
                              : missing)
        .push_back(member.name);
  }
  OutboxItem item{.kind = OutboxKind::gathered, .to = gather.owner, .about = gather.message};
  item.facts = {{"scatter", base::format_uuid(gather.id)},
                {"state", std::string(gather_state_name(state))},
                {"strategy", std::string(strategy_name(gather.terms.strategy))},
                count_of("needed", gather.needed())};
  add_names(t_, item, "answered", std::move(answered));
  add_names(t_, item, "refused", std::move(refused));
  add_names(t_, item, "missing", std::move(missing));
  owe(dispatch_, std::move(item));
}

void Requests::begin_pipeline(const Send& command, MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  Pipeline pipeline;
  pipeline.first = message.seq;
  pipeline.id = message.id;
  pipeline.owner = t_.agents[message.sender].name;
  pipeline.task = command.envelope.task;
  pipeline.thread = pipeline.task.empty() ? std::string_view{} : command.envelope.thread;
  pipeline.stage_timeout = timeout_of(t_.rules, command.envelope);
  if (pipeline.stage_timeout.us == 0) {  // a pipeline never waits for ever
    pipeline.stage_timeout = t_.rules.flow_request_timeout;
  }
  pipeline.on_timeout = command.envelope.on_timeout;
  pipeline.since = t_.now;
  pipeline.stages.push_back({.agent = std::string(command.envelope.receivers.front())});
  for (const std::string_view stage : command.later_stages) {
    pipeline.stages.push_back({.agent = std::string(stage)});
  }
  Pipeline& added = t_.patterns.add(std::move(pipeline));
  if (message.delivery_count == 0) {  // its first stage is busy
    hand_over(added);
    return;
  }
  added.stages.front().message = message.seq;
  added.stages.front().began = t_.now;
  wait_for(ref, added.stage_timeout, added.on_timeout, message.seq);
  dispatch_.note_ended(ref);  // it may have failed at once
}

void Requests::begin_stage(const OutboxItem& item, MessageRef ref) {
  Pipeline* const pipeline = t_.patterns.find_pipeline(pipeline_of(item));
  CHECK(pipeline != nullptr && !pipeline->is_over());
  if (pipeline->waits_to_begin()) {
    stop_watching(pipeline->first);
  }
  Pipeline::Stage& stage = pipeline->stages[pipeline->stage];
  stage.message = t_.messages.message(ref).seq;
  stage.began = t_.now;
  pipeline->outbox_item = 0;
  wait_for(ref, pipeline->stage_timeout, pipeline->on_timeout, pipeline->first);
  dispatch_.note_ended(ref);
}

void Requests::cannot_begin(const OutboxItem& item, std::string why) {
  Pipeline* const pipeline = t_.patterns.find_pipeline(pipeline_of(item));
  if (pipeline != nullptr && !pipeline->is_over()) {
    fail(*pipeline, std::move(why));
  }
}

void Requests::stage_answered(Pipeline& pipeline, Seq answer, Status status) {
  Pipeline::Stage& stage = pipeline.stages[pipeline.stage];
  stage.response = answer;
  stage.ended = t_.now;
  if (status == Status::error || status == Status::declined) {
    fail(pipeline, std::string("it answered ") + (status == Status::error ? "error" : "declined"));
    return;
  }
  broker_topics::phase(dispatch_, pipeline);
  if (pipeline.stage + 1 == pipeline.stages.size()) {
    end(pipeline, PipelineState::completed);
  } else {
    ++pipeline.stage;
    hand_over(pipeline);
  }
}

bool Requests::is_busy(const Agent& agent) const {
  return agent.busy_until > t_.now || says_busy(agent);
}

// The stage itself, or the one behind it: what goes to a stage comes out of it, so nothing more is
// put in while the next one says that it is busy. Before the first nothing is on its way.
const Agent* Requests::busy_one(const Pipeline& pipeline) const {
  const size_t ahead = pipeline.stage == 0 ? 1 : 2;
  const size_t end = std::min<size_t>(pipeline.stage + ahead, pipeline.stages.size());
  for (size_t at = pipeline.stage; at < end; ++at) {
    const AgentRef ref = t_.agents.find(pipeline.stages[at].agent);
    if (ref != none && is_busy(t_.agents[ref])) {
      return &t_.agents[ref];
    }
  }
  return nullptr;
}

void Requests::hand_over(Pipeline& pipeline) {
  const Agent* const busy = busy_one(pipeline);
  const Pipeline::Stage* const before =
      pipeline.stage == 0 ? nullptr : &pipeline.stages[pipeline.stage - 1];
  const Time patience =
      (before == nullptr ? pipeline.since : before->ended) + t_.rules.pipeline_pause_max;
  if (busy != nullptr && t_.now < patience) {
    pipeline.state = PipelineState::paused;
    pipeline.waits_for = busy->name;
    const Time again = says_busy(*busy) ? patience : std::min(busy->busy_until, patience);
    t_.patterns.set_due(pipeline, again);
    return;
  }
  if (busy != nullptr) {
    fail(pipeline, "\"" + busy->name + "\" was busy for " +
                       base::format_duration(t_.rules.pipeline_pause_max));
    return;
  }
  pipeline.state = PipelineState::running;
  pipeline.waits_for.clear();
  t_.patterns.set_due(pipeline, base::time_max);
  OutboxItem item{.kind = OutboxKind::stage,
                  .to = pipeline.stages[pipeline.stage].agent,
                  .about = before == nullptr ? pipeline.first : before->response};
  item.facts = {count_of("pipeline", pipeline.first.n),
                {"owner", pipeline.owner},
                {"timeout", pipeline.stage_timeout}};
  const AgentRef next = t_.agents.find(item.to);
  const bool is_there = next != none && t_.agents[next].is_registered();
  pipeline.outbox_item = owe(dispatch_, std::move(item));
  if (pipeline.outbox_item == 0) {
    fail(pipeline, is_there ? "the broker owes too many messages already (errands_max)"
                            : "no agent has this name any more");
  }
}

void Requests::fail(Pipeline& pipeline, std::string why) {
  const Pipeline::Stage& stage = pipeline.stages[pipeline.stage];
  pipeline.error = "stage " + std::to_string(pipeline.stage + 1) + ", \"" + stage.agent +
                   "\": " + std::move(why);
  escalate(dispatch_, {.cause = EscalationCause::pipeline_failed,
                       .about = stage.message.n != 0 ? stage.message : pipeline.first,
                       .agent = pipeline.owner,
                       .receiver = stage.agent,
                       .why = pipeline.error});
  end(pipeline, PipelineState::failed);
}

void Requests::end(Pipeline& pipeline, PipelineState state) {
  if (pipeline.waits_to_begin()) {
    stop_watching(pipeline.first);
  }
  pipeline.state = state;
  pipeline.waits_for.clear();
  pipeline.ended = t_.now;
  t_.outbox.remove(pipeline.outbox_item);  // of a stage that will not begin
  t_.patterns.set_due(pipeline, t_.now + t_.rules.settled_retention);
  const Seq result = pipeline.stages[pipeline.stage].response;
  OutboxItem item{.kind = OutboxKind::pipeline_ended,
                  .to = pipeline.owner,
                  .about = result.n != 0 ? result : pipeline.first};
  item.facts = {{"pipeline", base::format_uuid(pipeline.id)},
                {"state", std::string(pipeline_state_name(state))},
                count_of("stages", pipeline.stages.size()),
                count_of("stage", pipeline.stage + 1),
                {"agent", pipeline.stages[pipeline.stage].agent}};
  if (!pipeline.error.empty()) {
    item.facts.push_back({"error", pipeline.error});
  }
  owe(dispatch_, std::move(item));
}

void Requests::put_off(DeliveryRef ref, Duration delay) {
  const Wait* const wait = t_.patterns.find_wait(t_.messages.message_of(ref).seq);
  if (delay.us > 0 && wait != nullptr && wait->pipeline.n != 0) {
    Agent& agent = t_.agents[t_.messages.delivery(ref).receiver];
    agent.busy_until = std::max(agent.busy_until, t_.now + delay);
  }
}

void Requests::heard_from(AgentRef ref) {
  t_.agents[ref].busy_until = {};
  const std::string& name = t_.agents[ref].name;
  std::vector<Seq> waiting;
  for (const auto& [first, pipeline] : t_.patterns.pipelines()) {
    if (pipeline.state == PipelineState::paused && pipeline.waits_for == name) {
      waiting.push_back(first);
    }
  }
  for (const Seq first : waiting) {
    hand_over(*t_.patterns.find_pipeline(first));
  }
}

// A stage that was not begun has no message that could fail. What no one waits for any more ends.
void Requests::left(std::string_view name) {
  std::vector<Seq> stuck;
  for (const auto& [first, pipeline] : t_.patterns.pipelines()) {
    if (!pipeline.is_over() && pipeline.owner == name) {
      stuck.push_back(first);
    }
  }
  for (const Seq first : stuck) {
    end(*t_.patterns.find_pipeline(first), PipelineState::failed);
  }
  stuck.clear();
  for (const auto& [message, gather] : t_.patterns.gathers()) {
    if (gather.state == GatherState::open && gather.owner == name) {
      stuck.push_back(message);
    }
  }
  for (const Seq message : stuck) {
    end(*t_.patterns.find_gather(message), GatherState::failed);
  }
  stuck.clear();
  for (const auto& [first, pipeline] : t_.patterns.pipelines()) {
    const Pipeline::Stage& stage = pipeline.stages[pipeline.stage];
    if (!pipeline.is_over() && stage.message.n == 0 && stage.agent == name) {
      stuck.push_back(first);
    }
  }
  for (const Seq first : stuck) {
    fail(*t_.patterns.find_pipeline(first), "the agent was removed");
  }
}

}  // namespace parley::core
