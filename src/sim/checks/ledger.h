// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/workspace.h"
#include "sim/checks/book.h"
#include "sim/coverage.h"
#include "sim/verdict.h"

namespace parley::sim {

// Over 150 lines: all checks of one workspace share one book.

// A slow and simple book of one workspace: who was sent what, and where each of it stands. Written
// from what was asked and told; compared with the tables after each entry. It knows nothing of how
// the core does its work.
class Ledger {
 public:
  Ledger(Verdict& verdict, Coverage& coverage) : verdict_(verdict), coverage_(coverage) {}

  void observe(const Step& step);

  // A member that no Register made: the admin of a new workspace.
  void add_member(const std::string& name, core::PrincipalKind kind);

  // No stream may be left of a life that is over.
  void end_life(uint64_t origin) { ended_.insert(origin); }

  uint64_t unsettled() const;
  // What the broker owes and has not said.
  uint64_t untold() const;

 private:
  // ledger.cc: what was asked, what was told, what the tables say.
  void learn(const Step& step);
  void accept(const Step& step, const core::Send& command);
  void end_broadcasts(const Step& step);
  bool learn_resolved(const Step& step, const core::ResolveDeadLetter& command,
                      std::span<const Fact> later);
  void add_pairs(const Step& step);
  void check_repeat(const Step& step, const core::Send& command);
  void check_receivers(const Step& step, const core::Send& command);
  std::set<std::string> receivers_of(const core::Envelope& envelope) const;
  std::string topic_of(const core::Envelope& envelope) const;
  void learn_members(const Step& step);
  void learn_webhook(const Step& step, const core::Register& command, Member& member);
  void check_news(const Step& step);

  // told.cc: each fact, one after the other.
  void on(const Step& step, const Fact& fact);
  void add_letter(const Step& step, const Fact& fact);
  void on_owed(const Step& step, const Fact& fact);
  void on_owed_and_sent(const core::Send& send);
  void learn_summaries(const Step& step);
  int summed_up(const std::string& to, core::OutboxKind kind) const;
  bool leaves_marks(const Step& step, const Sent& sent, const Pair& pair) const;
  void check_mark(const Step& step, const Fact& fact, const Sent& sent, Pair& pair);
  void on_deliver(const Step& step, const Fact& fact);
  void on_settled(const Step& step, const Fact& fact);
  bool reads_away(const Step& step, const Sent& sent, const Pair& pair) const;
  void check_size(const Step& step, const Sent& sent, const Pair& pair);
  static bool may_be_too_large(size_t bytes);
  bool may_not_take(const Sent& sent, const Pair& pair) const;
  void check_reason(const Step& step, const Fact& fact, const Sent& sent);
  bool may_be_free(const Step& step, const Sent& sent, const Pair& pair) const;
  bool is_unfailed(const Step& step, const Sent& sent, const Pair& pair) const;
  bool is_target(const Step& step, const core::Target& target, const Sent& sent,
                 const Pair& pair) const;
  void reconcile(const Step& step);
  void reconcile_pair(const Step& step, Sent& sent, Pair& pair, const core::Delivery& delivery);
  void check_lease(const Step& step, const Sent& sent, const Pair& pair,
                   const core::Delivery& delivery);
  void check_asked(const Step& step);
  void forget(const Step& step);
  void check_overdue(const Step& step);

  // order.cc
  void check_order(const Step& step, const Sent& sent, const Pair& pair);
  void check_bands(const Step& step, const Sent& sent, const Pair& pair);
  void check_channels(const Step& step, const Sent& sent, const Pair& pair);
  bool is_certain(const Step& step, const Sent& sent, const Pair& pair) const;
  std::map<std::string, Seq> ready(bool with_expired) const;
  void check_idle(const Step& step);

  // waiting.cc
  void begin_waiting(const Step& step, const core::Send& command);
  void note_answer(const Step& step, Seq message, const std::string& receiver);
  void note_failure(Seq message, const std::string& receiver);
  bool has_failed(Seq message) const;
  void end_failed(const Step& step);
  void on_timed_out(const Step& step, const Fact& fact);
  void note_owed(const Step& step, const Fact& fact);
  void check_waiting(const Step& step);
  void check_gathers(const Step& step);
  std::optional<core::Duration> pause_of(Seq message, const Asked& asked) const;
  // Without what the entry `except` addressed.
  uint64_t unsettled_of(const std::string& receiver, Seq except = {}) const;

  // absence.cc
  bool has_stream(const std::string& name) const;
  bool is_offline(const std::string& name) const;
  bool is_away(const std::string& name) const;
  void learn_silence(const Step& step);
  std::string asked_alone(const Sent& sent) const;
  void note_unanswered(const Step& step, Seq message);
  // Who did not answer in time is away before the command is done that comes with the same entry.
  bool is_away_for(const Step& step, const std::string& name) const;
  void check_presence(const Step& step);
  bool may_stand_in(const Step& step, const core::Send& command, const std::string& named,
                    const std::string& other) const;
  bool redirects(const core::Send& command) const;
  void redirect(const Step& step, const core::Send& command, const std::set<std::string>& found,
                std::set<std::string>& wanted);
  bool leads(const std::string& from, const std::string& to) const;
  Seq working_on(const Step& step, const core::Send& command) const;
  std::optional<Blocked> blocks(const Step& step, const core::Send& command, Seq message) const;
  const Sent* waited_for_again(const Step& step, const core::Send& command) const;
  void end_blocked(const Step& step);
  void check_circles(const Step& step);

  // asking.cc
  void note_question(const Step& step, const core::Send& command);
  void follow_chain(const core::Envelope& answer);
  bool is_in_chain(Seq message, const std::string& by) const;
  void check_chain(const Step& step);
  void check_mark(const Step& step);
  void begin_roll_call(const Step& step, const core::Envelope& envelope);
  void on_roll_called(const Step& step, const core::OutboxItem& item);
  void check_roll_calls(const Step& step);
  void on_receipt(const Step& step, const core::OutboxItem& item);
  void check_receipts(const Step& step);
  void begin_pipeline(const Step& step, const core::Send& command, core::Duration timeout);
  bool is_held_back(const Step& step, const core::Send& command) const;
  bool waits_to_begin(Seq first) const;
  void check_stage(const Step& step, const core::Send& command);
  void note_stage_answer(Seq message, Answer answer);
  void on_pipeline_ended(const Step& step, const core::OutboxItem& item);
  void check_pipelines(const Step& step);

  // pressure.cc
  void check_pressure(const Step& step);
  void on_signal(const Step& step, const std::string& sender, const core::OutboxItem& item);

  // pace.cc
  bool is_paced(const std::string& sender, core::Priority priority) const;
  void check_rate(const Step& step);
  void check_passed(const Step& step, const Sent& sent, Pair& pair);
  void note_try(const Step& step, const Sent& sent, Pair& pair, const core::Delivery& delivery);
  void keep_before();
  bool was_full(const Step& step, const Sent& tried, const Pair& pair) const;
  bool went_in(const Step& step, const Sent& sent, const Pair& pair, const Sent& tried,
               Time due) const;
  bool went_out(const Step& step, const Sent& sent, const Pair& pair, const Sent& tried,
                Time due) const;
  bool is_hurried(const Step& step, const Sent& sent, const Pair& pair) const;
  void book(const Step& step, const std::string& limit, uint64_t per_min, const Sent& sent);
  void forget_booked(const Step& step);

  // guards.cc
  void check_guards(const Step& step);
  void check_budget(const Step& step, const core::Send& command);
  void check_refusal(const Step& step, const core::Send& command);
  void check_fan_out(const Step& step);
  void check_exchange(const Step& step, const core::Send& command);
  void check_shut(const Step& step, const core::Send& command);
  void learn_failures(const Step& step);

  // talks.cc
  void learn_talk(const Step& step, const core::Send& send);
  std::string reached_by(const Step& step, const std::string& named) const;
  void check_talks(const Step& step);
  void forget_talks(const Step& step);
  void end_requests();
  bool is_replaced(const Step& step, Seq former) const;
  bool is_over(const Talk& talk) const;
  bool answers_request(const core::Envelope& envelope) const;
  std::set<Seq> pending_in(const std::string& thread) const;

  // sessions.cc
  void learn_meetings(const Step& step);
  void learn_change(const Step& step, const core::ChangeSession& change);
  void join_meeting(const Step& step, const core::Envelope& envelope, Sent& sent);
  void end_meeting(Meeting& meeting);
  void check_meetings(const Step& step);
  Meeting* meeting_of(std::string_view id);
  bool is_paused(const Sent& sent) const;
  bool is_held_up(const Sent& sent) const;
  void learn_lock(const Step& step);
  void on_lock_turn(const Step& step, const Fact& fact);
  void check_locks(const Step& step);

  // tasks.cc
  bool is_given_again(const Step& step, const core::Envelope& envelope) const;
  void learn_move(const Step& step, const core::ReassignTask& command);
  bool is_superseded(const Step& step, Seq message, const std::string& receiver) const;
  void check_given(const Step& step, const core::Send& command);
  std::vector<Given> meant_by(const Step& step, const core::Envelope& e) const;
  void check_report(const Step& step, const core::Envelope& e);
  void check_moved(const Step& step, const core::ReassignTask& command);
  bool is_renewed(const Step& step, const Sent& sent, const Pair& pair) const;
  void check_tasks(const Step& step);
  bool is_free(const Step& step, const std::string& name, const Locked& lock) const;

  // letters.cc
  void plan_retry(Letter& letter);
  void on_letter_resolved(const Step& step, const Fact& fact);
  void revive(const Step& step, Sent& sent, Pair& pair);
  void renew(const Step& step, Sent& sent) const;
  void check_care(const Step& step);

  // audit.cc
  void audit(const Step& step);
  void check_streams(const Step& step);
  void check_letters(const Step& step);
  void check_told(const Step& step);
  void recount(const Step& step);
  void check_limits(const Step& step);
  void at_most(std::string_view what, uint64_t size, uint64_t limit, uint64_t before);

  void fail(Check check, const Step& step, const std::string& detail);
  Pair* find(Seq message, const std::string& receiver);
  static Pair* find(Sent& sent, const std::string& receiver);
  bool is_registered(const std::string& name) const { return members_.contains(name); }
  core::Discipline discipline_of(const std::string& receiver) const;
  template <class C>
  static const C* done(const Step& step);

  Verdict& verdict_;
  Coverage& coverage_;
  core::Rules rules_;
  Time now_;
  std::map<Seq, Sent> sent_;
  std::map<std::string, Member> members_;
  std::map<core::StreamId, Opened> streams_;
  std::set<uint32_t> stream_numbers_;  // in marks
  std::map<uint64_t, Letter> letters_;
  std::map<std::string, Talk> talks_;
  std::map<std::string, Meeting> meetings_;
  std::map<std::string, Locked> locks_;
  std::map<std::string, size_t> open_tasks_;  // by giver, after the entry before
  std::map<std::tuple<std::string, std::string, std::string>, Given> given_;  // giver, name, thread
  std::map<Seq, InLine> in_line_;
  std::deque<Time> recent_letters_;
  std::optional<Time> alarmed_;
  std::map<uint64_t, std::string> owed_;  // by outbox item, to whom
  std::map<Seq, Asked> asked_;
  std::map<Seq, Scattered> scattered_;
  std::map<Seq, Piped> piped_;
  std::map<Seq, Blocked> blocked_;
  std::map<Seq, Called> called_;
  std::map<Seq, Wanted> wanted_;
  std::map<std::string, Exchange> exchanges_;  // by conversation
  std::set<uint64_t> ended_;
  std::map<std::string, std::vector<Booked>> booked_;  // by limit
  Sizes sizes_;
  std::map<std::string, Seq> ready_before_;  // after the entry before

  // Of the entry at hand.
  std::set<core::StreamId> closed_;
  std::set<std::string> told_mail_;
  // By who is told: the summary that waits for it, and what this entry added to it.
  struct Summary {
    uint64_t outbox_item = 0;
    std::map<std::string, int> counts{};
    std::map<std::string, int> added{};
  };
  std::map<std::string, Summary> summaries_;
  std::map<std::string, int> timeouts_untold_;  // by sender: timeouts less news of timeouts
  std::map<std::string, int> letters_untold_;   // by sender: letters less news of letters
  std::set<std::string> news_;                  // topics on which the broker will publish
  int alarms_wanted_ = 0;
  std::vector<std::string> disconnected_;  // whose stream was closed
  bool warned_ = false;                    // of a circle
  bool answers_ = false;                   // a request that waits for it
  std::optional<Question> question_;
  const Fact* letter_ = nullptr;  // told, and its Settled not yet
  uint64_t letters_max_ = 0;      // before or after a change of the rules
  std::string moved_;             // the receiver whose discipline changed
};

// The command, if it was for this workspace and was done.
template <class C>
const C* Ledger::done(const Step& step) {
  return step.is_here && step.outcome ? std::get_if<C>(&step.entry.command) : nullptr;
}

}  // namespace parley::sim
