// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/coverage.h"
#include "sim/model/message.h"
#include "sim/model/patterns.h"
#include "sim/model/principal.h"
#include "sim/verdict.h"

namespace parley::sim {

// A session, as the model has it.
struct Session {
  struct Write {  // by a participant
    uint64_t version = 0;
    Seq seq;
    std::string by;
  };
  Seq began;
  Time started;
  Time ended;
  uint64_t version = 1;
  bool paused = false;
  bool was_paused = false;  // Before the entry at hand.
  bool over = false;
  std::string coordinator;
  std::set<std::string> participants;
  std::vector<Write> writes;
};

struct DeadLetter {
  Seq message;
  std::string receiver;  // Empty until the effect that settles the delivery comes.
  core::Reason reason = core::Reason::receiver_not_found;
  std::string sender;
  Time failed{};
  Time inspected_by{};  // The broker must have looked at it by then.
};

// Where a task is, as it was after the entry before.
struct GivenTask {
  Seq message;
  std::string specialist;
  Time heard;
  Time changed;  // When it came to stand as it does.
};

// What the broker is to send by itself.
struct ModelOutbox {
  // What waits to be told to one principal in one summary.
  struct Summary {
    uint64_t outbox_item = 0;
    std::map<std::string, int> counts{};  // By the kind of what is summed up.
    std::map<std::string, int> added{};   // The part that this entry added.
  };
  // News that are not for every subscriber.
  struct News {
    std::set<std::string> concerned{};
    Seq about{};                     // The request: who was asked may hear of it too.
    std::set<std::string> stages{};  // Of the pipeline, all of which hear of it while it runs.
    Seq pipeline{};
  };
  std::map<uint64_t, std::string> items;     // By outbox item: to whom.
  std::map<uint64_t, News> news;             // By outbox item.
  std::map<std::string, Summary> summaries;  // By who is told.

  // How many of this kind the entry at hand added to a summary in place of a notice of its own.
  int summed_up(const std::string& to, core::OutboxKind kind) const;
};

// A slow and simple picture of one workspace, made from commands and effects alone. It holds what
// more than one of the checks in sim/checks needs, which write it.
struct Model {
  Model(Verdict& the_verdict, Coverage& the_coverage)
      : verdict(the_verdict), coverage(the_coverage) {}

  Verdict& verdict;
  Coverage& coverage;
  core::Rules rules;
  Time now;
  std::map<Seq, SentMessage> messages;
  std::map<std::string, Principal> principals;
  std::map<core::StreamId, Stream> streams;
  std::map<std::string, Session> sessions;
  std::map<uint64_t, DeadLetter> dead_letters;
  std::map<Seq, Request> requests;
  std::map<Seq, Scatter> scatters;
  std::map<Seq, Pipeline> pipelines;
  std::map<std::tuple<std::string, std::string, std::string>, GivenTask>
      tasks;  // By director, name and thread.
  ModelOutbox outbox;
  std::map<std::string, uint64_t> queue_sizes;  // By receiver, after the entry before.
  std::set<uint64_t> ended_lives;               // The lives of nodes that are over.

  // What the entry at hand brought about.
  std::set<core::StreamId> closed_streams;
  std::string changed_dialect;  // The agent whose dialect the entry changes.

  // The rules as the command changes them; one that it cannot change stays.
  core::Rules rules_after(const core::SetRules& command) const;

  void fail(Check check, const Step& step, const std::string& detail);

  // Messages.
  Delivery* find(Seq message, const std::string& receiver);
  // The deliveries that are not settled.
  uint64_t unsettled() const;
  // The deliveries that take room in the receiver's queue, but for those of the entry `except`.
  uint64_t unsettled_of(const std::string& receiver, Seq except = {}) const;
  // How full the receiver's inbox may be for one more from the sender.
  uint64_t places_for(const SentMessage& sent, const std::string& receiver) const;
  // True when the actor means this delivery: by the message's seq, or as the newest that it
  // received with this id.
  bool is_target(const Step& step, const core::Target& target, const SentMessage& sent,
                 const Delivery& delivery) const;
  // True when something in this entry can have taken a held message from its holder.
  bool may_be_free(const Step& step, const SentMessage& sent, const Delivery& delivery) const;
  // True when its session is paused. Held up: or was before this entry, or people decide on it.
  bool is_paused(const SentMessage& sent) const;
  bool is_held_up(const SentMessage& sent) const;
  // The delivery waits again, and the message has a new time to live.
  void revive(const Step& step, SentMessage& sent, Delivery& delivery) const;
  void renew_ttl(const Step& step, SentMessage& sent) const;

  // Principals.
  bool is_registered(const std::string& name) const { return principals.contains(name); }
  bool was_sender(const std::string& name, Seq sent) const;  // And not another of the name.
  core::Discipline discipline_of(const std::string& receiver) const;
  // The topic that the message is for; empty when it is for agents or for all.
  std::string topic_of(const core::Envelope& envelope) const;
  // True when rate limits bind such a message of this sender.
  bool is_paced(const std::string& sender, core::Priority priority) const;
  bool has_stream(const std::string& name) const;
  bool is_offline(const std::string& name) const;
  bool is_away(const std::string& name) const;
  // The one agent that was asked, as it was before the entry. Of a task that went to another agent:
  // the one who has it. Empty: several were asked.
  std::string asked_alone(const SentMessage& sent) const;
  Session* find_session(std::string_view id);
};

}  // namespace parley::sim
