// SPDX-License-Identifier: Apache-2.0
// What is said of answers, roll calls and pipelines.

#include <algorithm>
#include <variant>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

template <class T>
T fact_of(const core::OutboxItem& item, std::string_view name) {
  const auto at = std::ranges::find(item.facts, name, &core::Fact::name);
  const T* const value = at == item.facts.end() ? nullptr : std::get_if<T>(&at->value);
  return value == nullptr ? T{} : *value;
}

bool is_settled(const Pair& pair) {
  return pair.state == State::acked || pair.state == State::answered;
}

}  // namespace

// Before anything is told of the entry: the newest message with the id that the sender received.
void Ledger::note_question(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  if (e.kind != core::Kind::response) {
    return;
  }
  for (auto at = sent_.rbegin(); at != sent_.rend(); ++at) {
    const Pair* const pair = find(at->second, std::string(step.entry.actor));
    if (at->second.id == e.in_reply_to && pair != nullptr) {
      question_ = Question{at->first, pair->state == State::answered};
      if (step.outcome) {
        follow_chain(e);
      }
      return;
    }
  }
}

// An answer that goes past the one who asked, to who asked before that, answers both, and so on.
void Ledger::follow_chain(const core::Envelope& answer) {
  const auto gets = [&](const std::string& name) {
    return std::ranges::find(answer.receivers, name) != answer.receivers.end();
  };
  size_t count = 0;
  auto& chain = question_->chain;
  for (auto at = sent_.find(question_->seq); at->second.cause.n != 0 && !gets(at->second.sender);) {
    const std::string by = at->second.sender;
    at = sent_.find(at->second.cause);
    if (at == sent_.end()) {
      break;
    }
    chain.emplace_back(at->first, by);
    count = gets(at->second.asker) ? chain.size() : count;
  }
  chain.resize(count);
}

bool Ledger::is_in_chain(Seq message, const std::string& by) const {
  return question_ &&
         std::ranges::find(question_->chain, std::pair{message, by}) != question_->chain.end();
}

// After all is told: whoever waited at the beginning of a chain waits no more.
void Ledger::check_chain(const Step& step) {
  if (!question_) {
    return;
  }
  for (const auto& [message, by] : question_->chain) {
    const Pair* const pair = find(message, by);
    if (pair != nullptr && (!core::is_final(pair->state) || pair->state == State::acked)) {
      fail(Check::wait, step, text("{} was passed on and answered, and is not", message.n));
    }
    coverage_.count("pattern", "chain");
  }
}

// An answer is marked when it comes too late or once more, and only then.
void Ledger::check_mark(const Step& step) {
  const core::Messages& messages = step.after.tables().messages;
  const core::MessageRef answer = messages.find(step.entry.seq);
  if (!question_ || answer == core::none) {
    return;
  }
  const Seq first = question_->chain.empty() ? question_->seq : question_->chain.back().first;
  if (!sent_.contains(first)) {  // settled with this entry, and forgotten
    return;
  }
  const core::Mark wanted = question_->answered         ? core::Mark::duplicate
                            : sent_.at(first).timed_out ? core::Mark::late
                                                        : core::Mark::plain;
  const core::Mark mark = messages.message(answer).mark;
  if (wanted != (mark == step.unseen ? core::Mark::plain : mark)) {
    fail(Check::wait, step,
         text("the answer to {} is late or another, and not marked so, or is "
              "marked and neither",
              question_->seq.n));
  }
  if (wanted != core::Mark::plain) {
    coverage_.count("mark", wanted == core::Mark::late ? "late" : "duplicate");
  }
}

void Ledger::begin_roll_call(const Step& step, const core::Envelope& e) {
  called_[step.entry.seq] = {std::string(e.sender), now_ + rules_.flow_roll_call_window};
}

// One report, when all have answered or the time is over; it says who did.
void Ledger::on_roll_called(const Step& step, const core::OutboxItem& item) {
  const auto at = called_.find(item.about);
  if (at == called_.end() || at->second.sender != item.to) {
    fail(Check::wait, step, "a roll call is reported that was not made, or twice");
    return;
  }
  std::vector<Pair> pairs = sent_.at(item.about).pairs;
  // Time passes first: who subscribes with this entry was not called.
  std::erase_if(pairs, [&](const Pair& pair) {
    return pair.made == step.entry.seq && item.about != step.entry.seq;
  });
  const bool all_final =
      std::ranges::all_of(pairs, [](const Pair& pair) { return core::is_final(pair.state); });
  if (!all_final && at->second.due > now_) {
    fail(Check::wait, step, text("roll call {} is reported too early", item.about.n));
  }
  std::vector<std::string> there;
  for (const Pair& pair : pairs) {
    if (is_settled(pair)) {
      there.push_back(pair.receiver);
    }
  }
  std::ranges::sort(there);
  const auto called = static_cast<size_t>(fact_of<int64_t>(item, "called"));
  const auto others =
      fact_of<int64_t>(item, "silent_count") + fact_of<int64_t>(item, "offline_count");
  // Who subscribes to a topic is told to those only who look after the topics.
  const auto names = fact_of<std::vector<std::string>>(item, "acknowledged");
  const bool may_be_hidden = !sent_.at(item.about).topic.empty();
  if (called != pairs.size() || static_cast<size_t>(others) != pairs.size() - there.size() ||
      static_cast<size_t>(fact_of<int64_t>(item, "acknowledged_count")) != there.size() ||
      (names != there && !(may_be_hidden && names.empty()))) {
    fail(Check::wait, step, text("roll call {} is not reported as it was", item.about.n));
  }
  called_.erase(at);
}

void Ledger::check_roll_calls(const Step& step) {
  for (auto at = called_.begin(); at != called_.end();) {
    const auto sent = sent_.find(at->first);
    const bool over = at->second.due <= now_ || sent == sent_.end() ||
                      std::ranges::all_of(sent->second.pairs, [](const Pair& pair) {
                        return core::is_final(pair.state);
                      });
    if (over && !at->second.gone) {
      fail(Check::wait, step, text("roll call {} should be reported", at->first.n));
    }
    at = over ? called_.erase(at) : std::next(at);
  }
}

// Once, when all that can be has been acknowledged, or when it is too late. FL-01
void Ledger::on_receipt(const Step& step, const core::OutboxItem& item) {
  const auto at = wanted_.find(item.about);
  if (at == wanted_.end() || at->second.sender != item.to) {
    fail(Check::wait, step, text("{} is told of, and should not be, or twice", item.about.n));
    return;
  }
  std::vector<std::string> there;
  bool all_final = true;
  for (const Pair& pair : sent_.at(item.about).pairs) {
    all_final = all_final && core::is_final(pair.state);
    if (is_settled(pair)) {
      there.push_back(pair.receiver);
    }
  }
  std::ranges::sort(there);
  const bool in_time = item.kind == core::OutboxKind::acknowledged;
  const bool due = at->second.due <= now_;
  const bool is_so = in_time ? all_final && !there.empty() : due;
  // What came with the same entry came after the time was over.
  const auto told = fact_of<std::vector<std::string>>(item, "acknowledged");
  if (!is_so || (in_time ? told != there : !std::ranges::includes(there, told))) {
    fail(Check::wait, step, text("{} is not told of as it is", item.about.n));
  }
  wanted_.erase(at);
}

void Ledger::check_receipts(const Step& step) {
  for (auto at = wanted_.begin(); at != wanted_.end();) {
    const auto sent = sent_.find(at->first);
    if (sent == sent_.end()) {
      at = wanted_.erase(at);
      continue;
    }
    const bool ended = step.after.tables().patterns.find_wait(at->first) == nullptr;
    const bool over =
        at->second.due <= now_ || std::ranges::all_of(sent->second.pairs, [](const Pair& pair) {
          return core::is_final(pair.state);
        });
    const bool is_summed_up = summed_up(at->second.sender, core::OutboxKind::acknowledged) > 0 ||
                              summed_up(at->second.sender, core::OutboxKind::not_acknowledged) > 0;
    const bool untold = std::ranges::any_of(sent->second.pairs, is_settled) &&
                        is_registered(at->second.sender) && !is_summed_up;
    if (ended ? untold : over) {
      fail(Check::wait, step, text("what became of {} should be told", at->first.n));
    }
    at = ended ? wanted_.erase(at) : std::next(at);
  }
}

void Ledger::begin_pipeline(const Step& step, const core::Send& command, core::Duration timeout) {
  Piped piped;
  piped.timeout = timeout;
  piped.id = command.envelope.id;
  piped.manner = Manner::of(command.envelope);
  piped.stages.emplace_back(command.envelope.receivers.front());
  piped.stages.insert(piped.stages.end(), command.later_stages.begin(), command.later_stages.end());
  piped.message = step.entry.seq;
  const auto first = members_.find(piped.stages.front());
  const core::Tables& t = step.after.tables();
  const core::AgentRef ref = t.agents.find(piped.stages.front());
  // That it put another message off only the tables know.
  const bool busy =
      first != members_.end() &&
      (first->second.status == "busy" ||
       (first->second.status == "working" && first->second.dialect == core::Dialect::collab) ||
       (ref != core::none && t.agents[ref].busy_until > now_));
  const bool is_held = is_held_back(step, command);
  if (is_held ? !busy : busy && !is_away(piped.stages.front())) {
    fail(Check::wait, step,
         text("{} is busy and asked, or is waited for and not busy", piped.stages.front()));
  }
  if (is_held) {
    piped.asked = 0;
    piped.answer = Answer::good;  // so it goes on
    coverage_.count("pipeline", "held back");
  }
  piped_[step.entry.seq] = std::move(piped);
  coverage_.count("pattern", "pipeline");
}

// The pipeline waits before its first stage, which is busy.
bool Ledger::is_held_back(const Step& step, const core::Send& command) const {
  const auto& known = step.after.tables().patterns.pipelines();
  const auto at = known.find(step.entry.seq);
  return !command.later_stages.empty() && at != known.end() &&
         at->second.stages.front().message.n == 0;
}

bool Ledger::waits_to_begin(Seq first) const {
  const auto at = piped_.find(first);
  return at != piped_.end() && at->second.asked == 0;
}

// A stage's message goes to the stage after the one that answered, as the owner asked the first.
void Ledger::check_stage(const Step& step, const core::Send& command) {
  for (auto& [first, piped] : piped_) {
    if (piped.owed != command.outbox_item || piped.asked >= piped.stages.size()) {
      continue;
    }
    ++piped.asked;
    piped.owed = 0;
    piped.answer = Answer::none;
    piped.message = step.entry.seq;
    piped.errand_done = step.entry.seq;
    if (command.envelope.receivers.front() != piped.stages[piped.asked - 1]) {
      fail(Check::wait, step,
           text("stage {} of pipeline {} is {}", piped.asked, first.n,
                command.envelope.receivers.front()));
    }
    Manner manner = Manner::of(command.envelope);
    if (piped.manner.trace_id.is_none()) {  // then it begins one
      manner.trace_id = {};
    }
    if (piped.manner.thread.empty()) {
      manner.thread.clear();  // it has one of its own
    }
    if (manner != piped.manner) {
      fail(Check::wait, step,
           text("stage {} of pipeline {} is not asked as the first was", piped.asked, first.n));
    }
    return;
  }
}

void Ledger::note_stage_answer(Seq message, Answer answer) {
  const auto at =
      std::ranges::find(piped_, message, [](const auto& item) { return item.second.message; });
  if (at != piped_.end()) {
    at->second.answer = answer;
  }
}

void Ledger::on_pipeline_ended(const Step& step, const core::OutboxItem& item) {
  const std::string id = fact_of<std::string>(item, "pipeline");
  const auto at = std::ranges::find_if(piped_, [&](const auto& each) {
    return each.second.manner.sender == item.to && base::format_uuid(each.second.id) == id;
  });
  if (at == piped_.end()) {
    fail(Check::wait, step, "a pipeline ends that did not begin, or twice");
    return;
  }
  const Piped& piped = at->second;
  const bool is_through = piped.asked == piped.stages.size() && piped.answer == Answer::good;
  if (is_through != (fact_of<std::string>(item, "state") == "completed")) {
    fail(Check::wait, step, text("pipeline {} is told to have ended as it did not", at->first.n));
  }
  coverage_.count("pipeline", is_through ? "completed" : "failed");
  piped_.erase(at);
}

// It goes on while its stages answer, and ends with the last or with one that fails.
void Ledger::check_pipelines(const Step& step) {
  const auto& known = step.after.tables().patterns.pipelines();
  for (const auto& [first, piped] : piped_) {
    const bool is_last = piped.asked == piped.stages.size();
    const bool works = piped.answer == Answer::none && asked_.contains(piped.message);
    const bool goes_on = piped.answer == Answer::good && !is_last;
    if (!works && !goes_on) {
      fail(Check::wait, step, text("pipeline {} should be over", first.n));
    }
    const auto at = known.find(first);
    const bool paused = at != known.end() && at->second.state == core::PipelineState::paused;
    const bool is_owed = piped.owed != 0 && owed_.contains(piped.owed);
    if (goes_on && !is_owed && !paused) {
      fail(Check::wait, step, text("pipeline {} stands still", first.n));
    }
  }
}

}  // namespace parley::sim
