// SPDX-License-Identifier: Apache-2.0
#include "core/requests/gather_acts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/watching.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

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

void end(Dispatch& dispatch, Gather& gather, GatherState state) {
  Tables& t = dispatch.t;
  gather.state = state;
  gather.ended = t.now;
  t.pending.set_due(gather, t.now + t.rules.settled_retention);  // kept for those who ask
  // What comes from now on is late.
  t.messages.message(t.messages.find(gather.message)).timed_out = true;
  stop_watching(dispatch, gather.message);
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
  add_names(t, item, "answered", std::move(answered));
  add_names(t, item, "refused", std::move(refused));
  add_names(t, item, "missing", std::move(missing));
  owe(dispatch, std::move(item));
}

void give_up(Dispatch& dispatch, Gather& gather) {
  const bool proceeds = gather.terms.on_partial != OnPartial::fail && gather.good() > 0;
  end(dispatch, gather, proceeds ? GatherState::partial : GatherState::failed);
}

void evaluate(Dispatch& dispatch, Gather& gather) {
  if (gather.state != GatherState::open) {
    return;
  }
  if (gather.good() >= gather.needed()) {
    end(dispatch, gather, GatherState::complete);
  } else if (gather.possible() < gather.needed()) {
    give_up(dispatch, gather);  // waiting longer would change nothing
  }
}

}  // namespace

static bool has_its_share(const Tables& t, std::string_view owner) {
  return t.pending.gathers_of(owner) >= share_of(t.rules, t.rules.gathers_max);
}

std::expected<void, Error> check_gather(const Tables& t, const Send& command) {
  const Envelope& e = command.envelope;
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
  const bool has_ended = t.pending.ended_gather_of(e.sender).n != 0;
  if (!has_ended && has_its_share(t, e.sender)) {
    return refuse_share(
        "you have " + std::to_string(t.pending.gathers_of(e.sender)) + " scatters that run",
        "gathers_max", "wait until some have ended");
  }
  if (!has_ended && t.pending.gathers().size() >= t.rules.gathers_max) {
    return refuse(Code::limit_reached,
                  "the workspace has " + std::to_string(t.rules.gathers_max) +
                      " scatters already (gathers_max)",
                  "");
  }
  return {};
}

// Where its owner has its share of them, or there is no room, the first of its own that ended goes.
void begin_gather(Dispatch& dispatch, const Send& command, MessageRef ref) {
  Tables& t = dispatch.t;
  const Message& message = t.messages.message(ref);
  Gather gather;
  gather.message = message.seq;
  gather.id = message.id;
  gather.owner = t.agents[message.sender].name;
  const bool is_full = t.pending.gathers().size() >= t.rules.gathers_max;
  if (const Seq ended = t.pending.ended_gather_of(gather.owner);
      ended.n != 0 && (is_full || has_its_share(t, gather.owner))) {
    t.pending.remove_gather(ended);
  }
  gather.task = command.envelope.task;
  gather.thread = gather.task.empty() ? std::string_view{} : command.envelope.thread;
  gather.terms = *command.gathering;
  if (gather.terms.window.us == 0) {
    gather.terms.window = t.rules.flow_gather_window;
  }
  gather.since = t.now;
  for (DeliveryRef d = message.deliveries; d != none; d = t.messages.delivery(d).sibling) {
    gather.members.push_back({.name = t.agents[t.messages.delivery(d).receiver].name});
  }
  std::ranges::reverse(gather.members);  // the newest delivery is the first in the list
  gather.terms.quorum = std::min(gather.terms.quorum, static_cast<uint32_t>(gather.members.size()));
  const Time due = t.now + gather.terms.window;
  t.pending.add(std::move(gather), due);
  broker_topics::task(dispatch, ref, "assigned");
  dispatch.note_ended(ref);  // some may have failed at once
}

void gather_answered(Dispatch& dispatch, Gather& gather, AgentRef by, Seq response, Status status) {
  const auto member =
      std::ranges::find(gather.members, dispatch.t.agents[by].name, &Gather::Member::name);
  if (member != gather.members.end() && member->response.n == 0) {
    member->response = response;
    member->status = status;
    evaluate(dispatch, gather);
  }
}

void gather_delivery_ended(Dispatch& dispatch, Gather& gather, MessageRef message) {
  const Tables& t = dispatch.t;
  for (Gather::Member& member : gather.members) {
    const DeliveryRef ref = t.messages.delivery_to(message, t.agents.find(member.name));
    member.failed = member.failed || (ref != none && member.response.n == 0 &&
                                      t.messages.delivery(ref).state >= State::expired);
  }
  evaluate(dispatch, gather);
}

void gather_due(Dispatch& dispatch, Gather& gather) {
  Tables& t = dispatch.t;
  if (gather.state != GatherState::open) {
    t.pending.remove_gather(gather.message);
  } else if (gather.terms.on_partial == OnPartial::extend_timeout && !gather.extended) {
    gather.extended = true;
    t.pending.set_due(gather, t.now + gather.terms.window);
  } else {
    give_up(dispatch, gather);
  }
}

void end_gathers_of(Dispatch& dispatch, std::string_view owner) {
  Tables& t = dispatch.t;
  std::vector<Seq> open;
  for (const auto& [message, gather] : t.pending.gathers()) {
    if (gather.state == GatherState::open && gather.owner == owner) {
      open.push_back(message);
    }
  }
  for (const Seq message : open) {
    end(dispatch, *t.pending.find_gather(message), GatherState::failed);
  }
}

}  // namespace parley::core
