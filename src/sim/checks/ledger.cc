// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/ledger.h"

#include <algorithm>
#include <utility>

#include "sim/text.h"

namespace parley::sim {

namespace {

// Written anew, not taken from the core: a list has agents; alone, a name with a dot or with the
// prefix `topic:` that no agent has is a topic.
std::string plain_topic(std::string_view name) {
  return std::string(name.starts_with("topic:") ? name.substr(6) : name);
}

// Whose subscription the command is about.
template <class C>
std::string subscriber_of(const Step& step, const C& command) {
  return std::string(command.agent.empty() ? step.entry.actor : command.agent);
}

// Written anew as well: tokens with dots between them, `*` for any one, `>` for one or more.
bool covers(std::string_view wanted, std::string_view topic) {
  while (true) {
    const std::string_view token = wanted.substr(0, wanted.find('.'));
    const std::string_view found = topic.substr(0, topic.find('.'));
    if (token == ">") {
      return true;
    }
    if (token != "*" && token != found) {
      return false;
    }
    const bool ends = token.size() == wanted.size();
    if (ends || found.size() == topic.size()) {
      return ends && found.size() == topic.size();
    }
    wanted.remove_prefix(token.size() + 1);
    topic.remove_prefix(found.size() + 1);
  }
}

bool listens(const std::set<std::string>& subscriptions, const std::string& topic) {
  return std::ranges::any_of(subscriptions,
                             [&](const std::string& wanted) { return covers(wanted, topic); });
}

// Who begins to listen with this command, and to what; no name: no one.
struct Listening {
  std::string who;
  std::set<std::string> topics;
};

Listening listening(const Step& step) {
  Listening begun;
  if (const auto* subscribe = std::get_if<core::Subscribe>(&step.entry.command)) {
    begun.who = subscriber_of(step, *subscribe);
    begun.topics.insert(plain_topic(subscribe->topic));
  } else if (const auto* add = std::get_if<core::Register>(&step.entry.command)) {
    begun.who = add->name;
    for (const std::string_view topic : add->subscriptions) {
      begun.topics.insert(plain_topic(topic));
    }
  }
  return begun;
}

std::string topic_in(std::string_view name) {
  if (name.starts_with("topic:")) {
    return plain_topic(name);
  }
  return name.find('.') == std::string_view::npos ? std::string{} : std::string(name);
}

}  // namespace

void Ledger::observe(const Step& step) {
  now_ = step.after.tables().now;
  closed_.clear();
  told_mail_.clear();
  moved_.clear();
  letter_ = nullptr;
  question_.reset();
  alarms_wanted_ = 0;
  letters_max_ = rules_.dead_letters_max;
  keep_before();
  end_broadcasts(step);
  learn_silence(step);
  learn_meetings(step);
  learn(step);
  learn_summaries(step);
  const auto* retry = done<core::ResolveDeadLetter>(step);
  std::span<const Fact> later = step.facts;
  bool resolved = retry == nullptr || learn_resolved(step, *retry, later);
  for (const Fact& fact : step.facts) {
    on(step, fact);
    later = later.subspan(1);
    resolved = resolved || learn_resolved(step, *retry, later);  // the letter may be of this entry
  }
  if (!resolved) {
    fail(Check::letter, step, "resolved a dead letter that was never told of");
  }
  if (letter_ != nullptr) {
    fail(Check::letter, step, text("letter {} settles nothing", letter_->letter));
  }
  end_failed(step);
  learn_lock(step);
  reconcile(step);
  check_asked(step);
  check_talks(step);
  check_care(step);
  check_rate(step);
  check_pressure(step);
  check_guards(step);
  check_circles(step);
  check_presence(step);
  learn_members(step);
  forget_talks(step);
  check_meetings(step);
  check_locks(step);
  check_tasks(step);
  forget(step);
  check_overdue(step);
  check_idle(step);
  audit(step);
}

// What a node kept in memory only ends when it starts again.
void Ledger::end_broadcasts(const Step& step) {
  if (!std::holds_alternative<core::StartNode>(step.entry.command)) {
    return;
  }
  for (auto& [seq, sent] : sent_) {
    if (sent.memory_only && ended_.contains(sent.life) && sent.expires > now_) {
      sent.expires = sent.expires_before = now_;
    }
  }
}

void Ledger::fail(Check check, const Step& step, const std::string& detail) {
  verdict_.fail(check, text("entry {} ({} by \"{}\"): {}", step.entry.seq.n,
                            command_name(step.entry.command), step.entry.actor, detail));
}

void Ledger::add_member(const std::string& name, core::PrincipalKind kind) {
  members_[name].kind = kind;
}

uint64_t Ledger::unsettled() const {
  uint64_t count = 0;
  for (const auto& [seq, sent] : sent_) {
    count += static_cast<uint64_t>(std::ranges::count_if(
        sent.pairs, [](const Pair& pair) { return !core::is_final(pair.state); }));
  }
  return count;
}

uint64_t Ledger::untold() const { return owed_.size(); }

Pair* Ledger::find(Sent& sent, const std::string& receiver) {
  const auto at = std::ranges::find(sent.pairs, receiver, &Pair::receiver);
  return at == sent.pairs.end() ? nullptr : &*at;
}

Pair* Ledger::find(Seq message, const std::string& receiver) {
  const auto at = sent_.find(message);
  return at == sent_.end() ? nullptr : find(at->second, receiver);
}

core::Discipline Ledger::discipline_of(const std::string& receiver) const {
  const auto at = members_.find(receiver);
  return core::discipline_of(at == members_.end() ? core::Dialect::flow : at->second.dialect);
}

// What the command itself brings about, before anything is told of it.
void Ledger::learn(const Step& step) {
  if (const auto* send = step.is_here ? std::get_if<core::Send>(&step.entry.command) : nullptr) {
    check_repeat(step, *send);
    answers_ = answers_request(send->envelope);
    learn_talk(step, *send);
    if (step.outcome && !step.outcome->duplicate) {
      note_question(step, *send);
      accept(step, *send);
    }
  }
  if (done<core::Send>(step) != nullptr || done<core::Subscribe>(step) != nullptr ||
      done<core::Register>(step) != nullptr) {
    add_pairs(step);
  }
  if (const auto* move = done<core::ReassignTask>(step)) {
    learn_move(step, *move);
  }
  if (const auto* send = done<core::Send>(step); send != nullptr && !step.outcome->duplicate) {
    if (!is_held_back(step, *send)) {
      check_receivers(step, *send);
    }
    if (send->outbox_item != 0) {
      check_stage(step, *send);
    }
    begin_waiting(step, *send);
  }
  if (const auto* gone = done<core::Unregister>(step)) {  // no one gathers any more
    std::erase_if(scattered_, [this, gone](const auto& item) {
      const bool ends = item.second.owner == gone->name;
      sent_.at(item.first).timed_out |= ends;
      return ends;
    });
    std::erase_if(piped_,
                  [gone](const auto& item) { return item.second.manner.sender == gone->name; });
    for (auto& [seq, called] : called_) {
      called.gone = called.gone || called.sender == gone->name;
    }
  }
  if (const auto* open = done<core::OpenStream>(step)) {
    streams_[open->stream] = Opened{
        .agent = std::string(step.entry.actor), .window = open->window, .after = open->after};
  }
  if (const auto* rules = done<core::SetRules>(step)) {
    core::Rules changed = rules_;
    for (const auto& [name, value] : rules->values) {
      (void)core::set_rule(changed, name, value);
    }
    letters_max_ = std::min(letters_max_, changed.dead_letters_max);
  }
  if (const auto* change = done<core::Register>(step)) {
    const auto at = members_.find(std::string(change->name));
    if (at != members_.end() && at->second.dialect != change->dialect) {
      moved_ = change->name;
    }
  }
}

void Ledger::accept(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  Sent sent;
  sent.seq = step.entry.seq;
  sent.accepted = step.entry.time;
  sent.ttl = e.ttl.us > 0 ? e.ttl : core::default_ttl(rules_, e.dialect, e.priority);
  sent.expires = sent.ttl.us > 0 ? step.entry.time + sent.ttl : base::time_max;
  sent.expires_before = sent.expires;
  sent.begun = step.entry.time;
  sent.bytes = e.body.size();
  sent.id = e.id;
  sent.key = e.idempotency_key;
  sent.priority = e.priority;
  sent.sender = e.sender;
  sent.thread = e.thread;
  sent.kind = e.kind;
  sent.dialect = e.dialect;
  sent.asker = e.reply_to.empty() ? e.sender : e.reply_to;
  sent.asks = core::asks(e.kind) && !e.thread.empty() && e.sender != core::broker_sender;
  const core::Duration timeout = e.response_timeout.us > 0
                                     ? e.response_timeout
                                     : core::default_timeout(rules_, e.dialect, e.kind, false);
  sent.watched = command.gathering || !command.later_stages.empty() || command.outbox_item != 0 ||
                 timeout.us > 0;
  sent.memory_only = e.receivers == std::vector<std::string_view>{"*"} && !core::asks(e.kind) &&
                     e.durability == core::Durability::memory && !command.gathering &&
                     command.later_stages.empty() && command.outbox_item == 0 && !e.requires_ack;
  sent.life = step.entry.id.origin;
  sent.topic = e.receivers == std::vector<std::string_view>{"*"} ? "*" : topic_of(e);
  sent.since = now_;
  join_meeting(step, e, sent);
  if (step.outcome->message != step.entry.seq) {
    fail(Check::duplicate, step, "a new message has the place of another");
  }
  sent_.emplace(sent.seq, std::move(sent));
}

void Ledger::check_repeat(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const auto is_first = [&](const auto& item) {
    const Sent& sent = item.second;
    return sent.sender == e.sender &&
           (sent.id == e.id || (!sent.key.is_none() && sent.key == e.idempotency_key));
  };
  const bool known = std::ranges::any_of(sent_, is_first);
  if (step.outcome && step.outcome->duplicate) {
    const auto first = sent_.find(step.outcome->message);
    if (is_given_again(step, e)) {
      coverage_.count("task", "given again");
    } else if (first == sent_.end() || !is_first(*first)) {
      fail(Check::duplicate, step,
           text("told a duplicate of {}, which it is not", step.outcome->message.n));
    } else if (step.outcome->count != first->second.pairs.size()) {
      fail(Check::duplicate, step, "told another number of receivers than the first");
    }
    coverage_.count("told", "duplicate");
  } else if (step.outcome && known) {
    // What the time that passed made the core forget is no longer known to it.
    const auto first = std::ranges::find_if(sent_, is_first);
    const bool settled = std::ranges::all_of(
        first->second.pairs, [](const Pair& pair) { return core::is_final(pair.state); });
    if (!settled || step.after.tables().messages.find(first->first) != core::none) {
      fail(Check::duplicate, step, text("accepted again, though it is message {}", first->first.n));
    }
  } else if (!step.outcome && step.outcome.error().code == base::Code::duplicate_id && !known) {
    fail(Check::duplicate, step, "refused as a repeated id, which it is not");
  }
}

// Every delivery in the tables that the book does not have is new: this command must have made it.
void Ledger::add_pairs(const Step& step) {
  const core::Tables& t = step.after.tables();
  const Listening begun = listening(step);
  uint32_t count = 0;
  t.messages.each_delivery([&](core::DeliveryRef ref, const core::Delivery& delivery) {
    const core::Message& message = t.messages.message_of(ref);
    const std::string& receiver = t.agents[delivery.receiver].name;
    const auto at = sent_.find(message.seq);
    if (at == sent_.end() || find(at->second, receiver) != nullptr) {
      return;  // one without an accepted message is found by `reconcile`
    }
    const bool late = receiver == begun.who && at->second.topic != "*" &&
                      !at->second.topic.empty() && listens(begun.topics, at->second.topic) &&
                      at->second.sender != receiver;
    if (message.seq != step.entry.seq && !late) {
      fail(Check::receivers, step, text("{} was not addressed to {}", message.seq.n, receiver));
    }
    Pair pair;
    pair.receiver = receiver;
    pair.made = step.entry.seq;
    pair.paced = !late && step.entry.actor == at->second.sender &&
                 is_paced(at->second.sender, at->second.priority);
    pair.touched = step.entry.seq;
    at->second.pairs.push_back(std::move(pair));
    ++count;
  });
  // What ends quietly for all is forgotten in the same entry, where nothing settled is kept.
  const auto made = done<core::Send>(step) == nullptr ? sent_.end() : sent_.find(step.entry.seq);
  for (const Fact& fact : step.facts) {
    if (fact.kind == Fact::Kind::settled && made != sent_.end() && fact.message == made->first &&
        t.messages.find(made->first) == core::none) {
      made->second.pairs.push_back(
          {.receiver = fact.receiver, .made = step.entry.seq, .touched = step.entry.seq});
      ++count;
    }
  }
  if (!step.outcome->duplicate && step.outcome->count != count) {
    fail(Check::receivers, step, text("told {} receivers, has {}", step.outcome->count, count));
  }
  if (!begun.topics.empty() && count > 0) {
    coverage_.count("told", "retained", count);
  }
}

std::string Ledger::topic_of(const core::Envelope& e) const {
  const std::string only(e.receivers.size() == 1 ? e.receivers.front() : std::string_view{});
  const bool is_agent = is_registered(only) && e.kind != core::Kind::broadcast;
  return is_agent || only == "*" ? std::string{} : topic_in(only);
}

std::set<std::string> Ledger::receivers_of(const core::Envelope& e) const {
  const std::string topic = topic_of(e);
  std::set<std::string> names;
  if (!topic.empty()) {
    for (const auto& [name, member] : members_) {
      if (listens(member.topics, topic) && name != e.sender) {
        names.insert(name);
      }
    }
    return names;
  }
  if (e.receivers.size() == 1 && e.receivers.front() == "*") {
    const auto meeting = meetings_.find(std::string(e.session));
    if (meeting != meetings_.end() && !meeting->second.over) {
      names = meeting->second.participants;
      names.erase(std::string(e.sender));
      return names;
    }
    for (const auto& [name, member] : members_) {
      if (member.kind == core::PrincipalKind::agent && name != e.sender) {
        names.insert(name);
      }
    }
    return names;
  }
  names.insert(e.receivers.begin(), e.receivers.end());
  return names;
}

void Ledger::check_receivers(const Step& step, const core::Send& command) {
  std::set<std::string> found;
  for (const Pair& pair : sent_.at(step.entry.seq).pairs) {
    found.insert(pair.receiver);
  }
  std::set<std::string> wanted = receivers_of(command.envelope);
  // What the broker publishes is left out where the inbox is full.
  if (command.outbox_item != 0 && !topic_of(command.envelope).empty()) {
    std::erase_if(wanted, [&](const std::string& name) {
      const core::Agents& agents = step.after.tables().agents;
      return !found.contains(name) &&
             step.after.tables().load_of(agents.find(name)) >= rules_.queue_max;
    });
  }
  if (command.envelope.durability == core::Durability::memory &&
      command.envelope.receivers.front() == "*") {
    std::erase_if(wanted, [this](const std::string& name) { return is_offline(name); });
  }
  redirect(step, command, found, wanted);
  if (found != wanted) {
    fail(Check::receivers, step,
         text("is for {} receivers, wanted {}", found.size(), wanted.size()));
  }
}

// False while there is no such letter, its delivery is not yet told to have failed, or the message
// is still to be told to fail for another: time passes before the command, so that one failed
// first.
bool Ledger::learn_resolved(const Step& step, const core::ResolveDeadLetter& command,
                            std::span<const Fact> later) {
  const auto at = letters_.find(command.id);
  const bool malformed = at != letters_.end() && at->second.reason == core::Reason::malformed;
  if (at == letters_.end() || (at->second.receiver.empty() && !malformed)) {
    return false;
  }
  if (command.resolution != core::Resolution::retried || malformed) {
    return true;
  }
  const bool is_early = std::ranges::any_of(later, [&](const Fact& fact) {
    return fact.kind == Fact::Kind::settled && fact.message == at->second.message &&
           fact.receiver != at->second.receiver;
  });
  if (is_early) {
    return false;
  }
  const auto sent = sent_.find(at->second.message);
  Pair* const pair = find(at->second.message, at->second.receiver);
  if (pair == nullptr || !core::is_final(pair->state)) {
    fail(Check::settle, step, "retried what was not settled");
    return true;
  }
  pair->revivals = 0;
  revive(step, sent->second, *pair);
  return true;
}

// What the broker publishes by itself is published when someone listens, and then only.
void Ledger::check_news(const Step& step) {
  const std::set<std::string> told = std::exchange(news_, {});
  const auto heard = [this](const std::string& topic) {
    return std::ranges::any_of(
        members_, [&topic](const auto& item) { return listens(item.second.topics, topic); });
  };
  std::set<std::string> expected;
  if (const auto* rules = done<core::SetRules>(step)) {
    core::Rules changed = rules_;
    for (const auto& [name, value] : rules->values) {
      (void)core::set_rule(changed, name, value);
    }
    if (changed != rules_) {
      expected.insert("system.policy_updated");
    }
  } else if (const auto* command = done<core::Register>(step);
             command != nullptr && command->kind == core::PrincipalKind::agent &&
             !is_registered(std::string(command->name))) {
    expected.insert("agent.availability_changed");
  }
  for (const std::string& topic : expected) {
    // News are left out while very much is owed.
    const bool may_be_left_out =
        step.after.tables().outbox.size() >= step.after.tables().rules.errands_max / 2;
    if (heard(topic) && !told.contains(topic) && !may_be_left_out) {
      fail(Check::notice, step, "nothing is published on " + topic);
    }
  }
  // Who subscribes with this entry hears what comes of what it got with it.
  std::set<std::string> added;
  if (const auto* command = done<core::Register>(step)) {
    for (const std::string_view topic : command->subscriptions) {
      added.emplace(core::topic_name(topic));
    }
  } else if (const auto* subscribe = done<core::Subscribe>(step)) {
    added.emplace(core::topic_name(subscribe->topic));
  }
  for (const std::string& topic : told) {
    coverage_.count("news", topic);
    if (!heard(topic) && !listens(added, topic)) {
      fail(Check::notice, step, "published on " + topic + ", where no one listens");
    }
  }
}

// Without a URL there is none. A secret that is not given stays, a new one leaves the one before.
void Ledger::learn_webhook(const Step& step, const core::Register& command, Member& member) {
  core::Webhook& known = member.webhook;
  const bool has_secret = command.webhook_secret != core::WebhookSecret{};
  if (command.webhook.empty()) {
    known = {};
  } else if (known.url.empty() && !has_secret) {
    fail(Check::webhook, step, text("{} has a webhook without a secret", command.name));
  } else {
    coverage_.count("webhook", has_secret ? "secret" : "moved");
    known.url = command.webhook;
    known.former = has_secret ? known.secret : known.former;
    known.secret = has_secret ? command.webhook_secret : known.secret;
    known.rotated = has_secret ? now_ : known.rotated;
  }
  const core::Agents& agents = step.after.tables().agents;
  const core::AgentRef ref = agents.find(command.name);
  if (ref == core::none || agents[ref].webhook != known) {
    fail(Check::webhook, step, text("{} has another webhook than it was given", command.name));
  }
}

void Ledger::learn_members(const Step& step) {
  check_news(step);
  if (const auto* command = done<core::Register>(step)) {
    Member& member = members_[std::string(command->name)];
    member.kind = command->kind;
    member.dialect = command->dialect;
    member.role = command->role;
    member.capabilities.assign(command->capabilities.begin(), command->capabilities.end());
    learn_webhook(step, *command, member);
    const Listening begun = listening(step);
    member.topics.insert(begun.topics.begin(), begun.topics.end());
  } else if (const auto* gone = done<core::Unregister>(step)) {
    members_.erase(std::string(gone->name));
  } else if (const auto* subscribe = done<core::Subscribe>(step)) {
    members_[subscriber_of(step, *subscribe)].topics.insert(plain_topic(subscribe->topic));
  } else if (const auto* unsubscribe = done<core::Unsubscribe>(step)) {
    members_[subscriber_of(step, *unsubscribe)].topics.erase(plain_topic(unsubscribe->topic));
  } else if (const auto* rules = done<core::SetRules>(step)) {
    for (const auto& [name, value] : rules->values) {
      (void)core::set_rule(rules_, name, value);
    }
  }
}

}  // namespace parley::sim
