// SPDX-License-Identifier: Apache-2.0
#include "edge/gate.h"

#include <algorithm>

#include "core/conversation/task_acts.h"
#include "core/humans/approval_acts.h"
#include "core/humans/held.h"

namespace parley::edge {

namespace {

bool has_sent(const core::Tables& t, const Principal& caller, core::MessageRef ref) {
  const core::Message& message = t.messages.message(ref);
  return message.sender == caller.ref && message.time >= caller.registered;
}

// A dead letter that was retried brings a message from before the registration. What of the former
// agent's mail became a dead letter, even after the name was given again, does not.
// The history's twin is `may_see` in view/reader.cc.
bool is_for(const Principal& caller, const core::Message& message, const core::Delivery& delivery) {
  return message.time >= caller.registered ||
         (delivery.changed >= caller.registered && delivery.state < core::State::expired);
}

// Not what people have to approve first, nor what they changed before it got what they decided, nor
// what was taken back before it was handed out: nobody let it pass (SP-07). The history has no such
// delivery (view/facts.cc), or one that is dead.
bool has_passed(const core::Tables& t, core::MessageRef ref, const core::Delivery& delivery) {
  const base::Seq seq = t.messages.message(ref).seq;
  return !core::waits_for_approval(t, seq) &&
         !core::waits_for_decision(t, seq, delivery.receiver) &&
         (delivery.state != core::State::dead || delivery.attempts > 0);
}

bool is_own(const Principal& caller, std::string_view owner, base::Time since) {
  return caller.is_maintainer() || (owner == caller.name && since >= caller.registered);
}

// Two things of one moment are told apart by their places: who has the name now may be another.
bool is_after_registration(const core::Tables& t, const Principal& caller, base::Seq seq) {
  return caller.ref != core::none && seq > t.agents[caller.ref].since;
}

bool is_asked(const core::Tables& t, const Principal& caller, const core::Escalation& escalation) {
  return is_after_registration(t, caller, escalation.about) &&
         std::ranges::find(escalation.people, caller.name) != escalation.people.end();
}

}  // namespace

bool has_received(const core::Tables& t, const Principal& caller, core::MessageRef ref) {
  const core::DeliveryRef delivery =
      ref == core::none ? core::none : t.messages.delivery_to(ref, caller.ref);
  return delivery != core::none && has_passed(t, ref, t.messages.delivery(delivery)) &&
         is_for(caller, t.messages.message(ref), t.messages.delivery(delivery));
}

bool may_see(const core::Tables& t, const Principal& caller, core::MessageRef ref) {
  return ref != core::none &&
         (caller.is_maintainer() || has_sent(t, caller, ref) || has_received(t, caller, ref));
}

bool may_see_deliveries(const core::Tables& t, const Principal& caller, core::MessageRef ref) {
  return ref != core::none && (caller.is_maintainer() || has_sent(t, caller, ref));
}

bool may_see_deliveries(const Principal& caller, const view::StoredMessage& stored,
                        const core::Envelope& envelope) {
  return is_own(caller, envelope.sender, stored.time);
}

bool may_see_words(const core::Tables& t, const Principal& caller, const core::Task& task,
                   base::Seq said, const core::Envelope& envelope) {
  if (const core::MessageRef ref = t.messages.find(said); ref != core::none) {
    return may_see(t, caller, ref);
  }
  return is_own(caller, envelope.sender, task.created) ||
         (task.created >= caller.registered &&
          std::ranges::find(envelope.receivers, caller.name) != envelope.receivers.end());
}

view::Reader::Viewer viewer_of(const Principal& caller) {
  return caller.is_maintainer() ? view::Reader::Viewer{caller.workspace, std::nullopt}
                                : self_of(caller);
}

view::Reader::Viewer self_of(const Principal& caller) {
  return {caller.workspace, caller.name, caller.registered};
}

bool may_see(const Principal& caller, const core::Thread& thread) {
  return caller.is_maintainer() ||
         (thread.created >= caller.registered &&
          std::ranges::find(thread.participants, caller.ref) != thread.participants.end());
}

// Who is removed leaves the sessions that are not over. One that ended by that is not for the next
// of the name, who may be registered at the same moment.
bool may_see(const Principal& caller, const core::Session& session) {
  return caller.is_maintainer() ||
         (session.has(caller.name) && (!session.is_over() || session.ended > caller.registered));
}

bool takes_part(const core::Tables& t, const Principal& caller, const core::Task& task) {
  if (gave(t, caller.ref, task) || has(t, caller.ref, task)) {
    return true;
  }
  base::Time given = task.created;
  for (const core::TaskMove& move : task.moves) {
    if (move.from == caller.name && given >= caller.registered) {
      return true;
    }
    given = move.at;
  }
  return false;
}

bool may_see(const core::Tables& t, const Principal& caller, const core::Task& task) {
  return caller.is_maintainer() || takes_part(t, caller, task);
}

bool may_see(const Principal& caller, const core::TaskMove& move) {
  return caller.is_maintainer() || move.at >= caller.registered;
}

bool may_see(const core::Tables& t, const Principal& caller, const core::Escalation& escalation) {
  return t.agents.looks_after_workspace(caller.ref) ||
         is_own(caller, escalation.agent, escalation.since) || is_asked(t, caller, escalation);
}

bool decides_on(const core::Tables& t, const Principal& caller, const core::Debate& debate) {
  const core::Escalation* const escalation = t.escalations.find(debate.escalation);
  return caller.is_maintainer() || (escalation != nullptr && is_asked(t, caller, *escalation));
}

bool may_see(const core::Tables& t, const Principal& caller, const core::Debate& debate) {
  return (debate.takes_part(caller.name) && is_after_registration(t, caller, debate.opened)) ||
         decides_on(t, caller, debate);
}

bool may_see(const core::Tables& t, const Principal& caller, const core::Handoff& handoff) {
  return caller.is_maintainer() || ((handoff.from == caller.name || handoff.to == caller.name) &&
                                    is_after_registration(t, caller, handoff.message));
}

bool may_see(const core::Tables& t, const Principal& caller, const core::Approval& approval) {
  return is_own(caller, approval.asker, approval.since) ||
         core::may_decide(t, caller.ref, approval);
}

bool may_see(const Principal& caller, const core::Flag&) { return caller.is_moderator(); }

bool may_see_state(const Principal& caller, const core::Flag& flag) {
  return caller.name == flag.sender && flag.since >= caller.registered;
}

bool may_see(const Principal& caller, const core::Gather& gather) {
  return is_own(caller, gather.owner, gather.since);
}

bool may_see(const Principal& caller, const core::Pipeline& pipeline) {
  return is_own(caller, pipeline.owner, pipeline.since);
}

bool oversees_broker(const Principal& caller) {
  return caller.is_maintainer() && caller.workspace == core::workspace_first;
}

bool sees_subscribers(const core::Tables& t, const Principal& caller) {
  return t.agents.looks_after_workspace(caller.ref);
}

bool sees_receivers(const core::Tables& t, const Principal& caller, const core::Message& message) {
  return message.topic == core::none || sees_subscribers(t, caller);
}

}  // namespace parley::edge
