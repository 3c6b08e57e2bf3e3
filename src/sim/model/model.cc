// SPDX-License-Identifier: Apache-2.0
#include "sim/model/model.h"

#include <algorithm>

#include "sim/model/topics.h"
#include "sim/text.h"

namespace parley::sim {

int ModelOutbox::summed_up(const std::string& to, core::OutboxKind kind) const {
  const auto at = summaries.find(to);
  const std::string name(core::outbox_kind_name(kind));
  return at == summaries.end() || !at->second.added.contains(name) ? 0 : at->second.added.at(name);
}

core::Rules Model::rules_after(const core::SetRules& command) const {
  core::Rules changed = rules;
  for (const auto& [name, value] : command.values) {
    (void)core::set_rule(changed, name, value);
  }
  return changed;
}

void Model::fail(Check check, const Step& step, const std::string& detail) {
  verdict.fail(check, text("entry {} ({} by \"{}\"): {}", step.entry.seq.n,
                           core::verb_of(step.entry.command), step.entry.actor, detail));
}

Delivery* Model::find(Seq message, const std::string& receiver) {
  const auto at = messages.find(message);
  return at == messages.end() ? nullptr : find_delivery(at->second, receiver);
}

uint64_t Model::unsettled() const {
  uint64_t count = 0;
  for (const auto& [seq, sent] : messages) {
    count += static_cast<uint64_t>(std::ranges::count_if(
        sent.deliveries, [](const Delivery& delivery) { return !core::is_final(delivery.state); }));
  }
  return count;
}

uint64_t Model::unsettled_of(const std::string& receiver, Seq except) const {
  uint64_t count = 0;
  for (const auto& [seq, sent] : messages) {
    for (const Delivery& delivery : sent.deliveries) {
      // A delivery that is tried again waits outside of the queue until it is handed out.
      const bool is_outside = delivery.tried && !core::is_held(delivery.state);
      const bool takes_room =
          !core::is_final(delivery.state) && !is_outside && delivery.made != except;
      count += delivery.receiver == receiver && takes_room ? 1 : 0;
    }
  }
  return count;
}

uint64_t Model::places_for(const SentMessage& sent, const std::string& receiver) const {
  const uint64_t kept = rules.queue_max * rules.share_percent / 100;
  uint64_t has = 0;
  for (const auto& [seq, other] : messages) {
    for (const Delivery& delivery : other.deliveries) {
      // What ended with this entry may have been there before.
      const bool is_outside = delivery.tried && !core::is_held(delivery.state);
      const bool was_there =
          (!core::is_final(delivery.state) && !is_outside) || delivery.touched == sent.seq;
      has += seq != sent.seq && other.sender == sent.sender && delivery.receiver == receiver &&
                     was_there
                 ? 1
                 : 0;
    }
  }
  return has < std::max<uint64_t>(1, kept * rules.share_percent / 100) ? rules.queue_max
                                                                       : rules.queue_max - kept;
}

bool Model::was_sender(const std::string& name, Seq sent) const {
  const auto at = principals.find(name);
  return at != principals.end() && at->second.registered < sent;
}

bool Model::is_target(const Step& step, const core::Target& target, const SentMessage& sent,
                      const Delivery& delivery) const {
  if (delivery.receiver != step.entry.actor) {
    return false;
  }
  if (target.seq.n != 0) {
    return sent.seq == target.seq;
  }
  const auto newest = std::find_if(messages.rbegin(), messages.rend(), [&](const auto& item) {
    return item.second.id == target.id &&
           std::ranges::find(item.second.deliveries, delivery.receiver, &Delivery::receiver) !=
               item.second.deliveries.end();
  });
  return newest != messages.rend() && newest->first == sent.seq;
}

bool Model::may_be_free(const Step& step, const SentMessage& sent, const Delivery& delivery) const {
  if (!core::is_held(delivery.state) || delivery.due <= now ||
      closed_streams.contains(delivery.stream)) {
    return true;
  }
  const auto* nack = done<core::Nack>(step);
  return nack != nullptr && is_target(step, nack->target, sent, delivery);
}

bool Model::is_paused(const SentMessage& sent) const {
  const auto at = sessions.find(sent.session);
  return at != sessions.end() && at->second.paused && at->second.began == sent.session_began;
}

bool Model::is_held_up(const SentMessage& sent) const {
  if (sent.passage != Passage::open || sent.passage_before != Passage::open) {
    return true;
  }
  const auto at = sessions.find(sent.session);
  return at != sessions.end() && at->second.began == sent.session_began &&
         (at->second.paused || at->second.was_paused);
}

void Model::revive(const Step& step, SentMessage& sent, Delivery& delivery) const {
  // The thread of a request that nothing waits for does not begin to wait for it again.
  sent.asks = sent.asks && (sent.waits_by_rule || !sent.is_final());
  delivery.state = State::queued;
  delivery.attempts = 0;
  delivery.touched = step.entry.seq;
  renew_ttl(step, sent);
}

void Model::renew_ttl(const Step& step, SentMessage& sent) const {
  if (sent.renewed != step.entry.seq) {
    sent.expires_before = sent.expires;
  }
  sent.renewed = step.entry.seq;
  sent.expires = sent.ttl.us > 0 ? now + sent.ttl : base::time_max;
}

core::Discipline Model::discipline_of(const std::string& receiver) const {
  const auto at = principals.find(receiver);
  const core::Dialect dialect = at == principals.end() ? core::Dialect::flow : at->second.dialect;
  return core::policy_of(dialect).discipline;
}

std::string Model::topic_of(const core::Envelope& e) const {
  const std::string only(e.receivers.size() == 1 ? e.receivers.front() : std::string_view{});
  const bool is_agent = is_registered(only) && e.kind != core::Kind::broadcast;
  return is_agent || only == "*" ? std::string{} : topic_in(only);
}

bool Model::is_paced(const std::string& sender, core::Priority priority) const {
  const auto at = principals.find(sender);
  return at != principals.end() && at->second.kind == core::PrincipalKind::agent &&
         at->second.dialect == core::Dialect::flow && priority != core::Priority::critical;
}

bool Model::has_stream(const std::string& name) const {
  return std::ranges::any_of(streams, [&](const auto& item) { return item.second.agent == name; });
}

bool Model::is_offline(const std::string& name) const {
  const auto at = principals.find(name);
  return at != principals.end() && !has_stream(name) &&
         (at->second.silent || at->second.status == "offline");
}

bool Model::is_away(const std::string& name) const {
  const auto at = principals.find(name);
  return at != principals.end() && (is_offline(name) || at->second.unanswered);
}

// The tasks are those after the entry before, because time passes before a command is done.
std::string Model::asked_alone(const SentMessage& sent) const {
  if (sent.deliveries.size() == 1 && sent.topic.empty()) {
    return sent.deliveries.front().receiver;
  }
  const auto given = std::ranges::find_if(
      tasks, [&](const auto& item) { return item.second.message == sent.seq; });
  return given == tasks.end() ? std::string() : given->second.specialist;
}

Session* Model::find_session(std::string_view id) {
  const auto at = sessions.find(std::string(id));
  return at == sessions.end() ? nullptr : &at->second;
}

}  // namespace parley::sim
