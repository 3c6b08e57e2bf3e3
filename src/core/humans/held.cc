// SPDX-License-Identifier: Apache-2.0
#include "core/humans/held.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "core/conversation/task_acts.h"
#include "core/dead_letters/dead_letter_retry.h"
#include "core/delivery/routing.h"
#include "core/holds/hold_acts.h"
#include "core/humans/approval_acts.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/answers.h"
#include "core/requests/pipeline_acts.h"
#include "core/requests/tries.h"
#include "core/requests/watching.h"

namespace parley::core {

namespace {

using base::Code;

constexpr int32_t all_answers = std::numeric_limits<int32_t>::max();
constexpr std::string_view approval_fact = "approval";

Hold hold_of(Seq message) { return {HoldReason::approval, message}; }

// Until this one has got what was decided.
Hold hold_from(const Tables& t, const Approvals::Decided& decided) {
  return {HoldReason::decision, decided.message, t.agents.find(decided.receiver)};
}

// `0.95` of 950000.
std::string parts_of_one(int32_t ppm) {
  constexpr int32_t one = 1'000'000;
  std::string digits = std::to_string(one + std::clamp(ppm, 0, one) % one).substr(1);
  digits.resize(std::max<size_t>(digits.find_last_not_of('0') + 1, 1));
  return (ppm >= one ? "1." : "0.") + digits;
}

// Names exactly this record: its place, which is never used again, its id and what it says.
ProposalDigest digest_of(const Message& message) {
  ProposalDigest digest{};
  const auto put = [&digest](size_t at, uint64_t value) {
    for (size_t n = 0; n < sizeof value; ++n) {
      digest[at + n] = static_cast<uint8_t>(value >> (8 * (sizeof value - 1 - n)));
    }
  };
  put(0, message.seq.n);
  put(8, message.id.high());
  put(16, message.id.low());
  put(24, message.content);
  return digest;
}

void stop_timer(Tables& t, Seq request, Seq held) {
  PendingRequest* const pending = t.pending.find_request(request);
  // A second answer that waits stops nothing: the timer goes on when the first is decided.
  const bool runs = pending != nullptr && pending->held.n == 0;
  if (runs && (pending->awaited == Awaited::answer || request == held)) {
    pending->held = held;
    pending->left = std::max(Duration{}, pending->due - t.now);
    t.pending.set_due(*pending, base::time_max);
  }
}

void start_timer(Tables& t, Seq request, Seq held) {
  PendingRequest* const pending = t.pending.find_request(request);
  if (pending != nullptr && pending->held == held) {
    pending->held = {};
    t.pending.set_due(*pending, t.now + pending->left);
    pending->left = {};
  }
}

// What was decided, for one who is to get the message, or was.
OutboxItem notice_of(const Tables& t, const Approval& approval, AgentRef receiver) {
  OutboxItem item{.kind = OutboxKind::approval_decided,
                  .to = t.agents[receiver].name,
                  .about = approval.held,
                  .priority = approval.priority,
                  .facts = {{std::string(approval_fact), static_cast<int64_t>(approval.id)},
                            {"message_id", approval.message_name()},
                            {"decision", std::string(approval_state_words[approval.state])},
                            {"decided_by", approval.decided_by},
                            {"asker", approval.asker}}};
  if (!approval.comment.empty()) {
    item.facts.push_back({"comment", approval.comment});
  }
  return item;
}

// For those who get the message with the change that people made.
void tell_of_change(Dispatch& dispatch, const Approval& approval, MessageRef message,
                    std::string_view modification) {
  Tables& t = dispatch.t;
  size_t told = 0;
  for (const DeliveryRef ref : open_of(t, message)) {
    if (++told > told_max) {
      return;
    }
    OutboxItem item = notice_of(t, approval, t.messages.delivery(ref).receiver);
    item.facts.push_back(
        {"option", std::string(approval_decision_words[ApprovalDecision::modify])});
    item.facts.push_back({"modification", std::string(modification)});
    if (owe(dispatch, std::move(item)) != 0) {
      t.approvals.add_untold(approval.id);
    }
  }
}

// The answer goes on as if it had just arrived, in its own place.
void pass_answer(Dispatch& dispatch, const Approval& approval, MessageRef message,
                 MessageRef question) {
  Tables& t = dispatch.t;
  const AgentRef sender = t.messages.message(message).sender;
  Entry arrived;
  arrived.seq = approval.held;
  arrived.time = t.now;
  arrived.actor = t.agents[sender].name;
  Context context{.t = t,
                  .dispatch = dispatch,
                  .requests = Requests(t, dispatch),
                  .entry = arrived,
                  .actor = sender};
  Envelope e;
  e.kind = Kind::response;
  e.status = approval.status;
  e.sender = arrived.actor;
  e.dialect = t.messages.message(message).dialect;
  for (const DeliveryRef ref : open_of(t, message)) {
    e.receivers.push_back(t.agents[t.messages.delivery(ref).receiver].name);
  }
  enter_answer(context, question, message, e);
  Route route;
  (void)enter_task(context, e, route, message, question);
}

// The work of its sender counts now (SP-10), if that is there. How sure it was nobody knows here
// any more.
void note_passed(Tables& t, const Approval& approval, MessageRef message, MessageRef question) {
  Agent& sender = t.agents[t.messages.message(message).sender];
  if (!sender.is_registered() || is_of_former(t, message)) {
    return;
  }
  sender.work.answered(
      t.now, {.well = approval.status != Status::error && approval.status != Status::declined,
              .after = t.now - t.messages.message(question).time});
}

void pass(Dispatch& dispatch, const Approval& approval, MessageRef message) {
  Tables& t = dispatch.t;
  const MessageRef question = approval.question.n == 0 ? none : t.messages.find(approval.question);
  start_timer(t, approval.question, approval.held);  // an answer ends it
  if (question != none &&
      t.messages.delivery_to(question, t.messages.message(message).sender) != none) {
    dispatch.renew_expiry(message);
    note_passed(t, approval, message, question);
    pass_answer(dispatch, approval, message, question);
  }
  if (approval.state == ApprovalState::modified) {
    t.messages.message(message).mark = Mark::modified;
  }
  start_timer(t, approval.held, approval.held);  // of a request: its receiver gets it now
  release_messages(dispatch, {&approval.held, 1}, hold_of(approval.held));
}

// Why there is no answer.
std::string why_none(const Approval& approval) {
  if (approval.state == ApprovalState::expired) {
    return "nobody decided in time whether the answer of " + quoted(approval.asker) +
           " passes; it was asked for until " + base::format_time(approval.deadline);
  }
  return "the answer of " + quoted(approval.asker) + " is " +
         std::string(approval_state_words[approval.state]) + " by " + quoted(approval.decided_by) +
         (approval.comment.empty() ? "" : ": " + approval.comment);
}

// Whether another than this one has been given the request, and can still answer it.
bool has_others(const Tables& t, MessageRef question, AgentRef sender) {
  for (DeliveryRef ref = t.messages.message(question).deliveries; ref != none;
       ref = t.messages.delivery(ref).sibling) {
    const Delivery& delivery = t.messages.delivery(ref);
    if (delivery.receiver != sender && t.agents[delivery.receiver].is_registered() &&
        (!is_final(delivery.state) || delivery.state == State::acked)) {
      return true;
    }
  }
  return false;
}

// Whoever waits for the answer does not get one. Returns who is told so by a failure of the task;
// none where that is not over, or has failed before.
AgentRef fail_question(Dispatch& dispatch, const Approval& approval, AgentRef sender) {
  Tables& t = dispatch.t;
  const MessageRef question = t.messages.find(approval.question);
  if (question == none) {
    return none;
  }
  const AgentRef asker = t.messages.message(question).sender;
  const std::string decision(approval_state_words[approval.state]);
  const std::string why = why_none(approval);
  const PendingRequest* const pending = t.pending.find_request(approval.question);
  // Others who were asked may still answer, or another answer waits for people.
  const bool is_waited_for =
      pending != nullptr && (pending->held != approval.held || has_others(t, question, sender));
  if (is_waited_for) {
    return none;
  }
  const int64_t retries = pending == nullptr ? 0 : int64_t{pending->retries};
  const bool is_pending = pending != nullptr && pending->held == approval.held;
  if (is_pending) {
    const Seq pipeline = pending->pipeline;
    t.messages.message(question).timed_out = true;
    end_pending(dispatch, approval.question);
    dispatch.emit(
        RequestTimedOut{.message = approval.question, .is_final = true, .is_rejected = true});
    if (pipeline.n != 0) {
      stage_failed(dispatch, pipeline, why);
      return asker;
    }
  }
  // Who was told of a failure before, or has an answer, is not told of this one.
  const Message& asked = t.messages.message(question);
  const bool is_told = !is_pending && (asked.timed_out || asked.answer.n != 0);
  if (is_told) {
    return none;
  }
  tell_task_failed(dispatch, question, sender,
                   {{"error_type", "approval_" + decision},
                    {"decision", decision},
                    {"decided_by", approval.decided_by},
                    {"comment", approval.comment},
                    {"approval", static_cast<int64_t>(approval.id)},
                    {std::string(retry_count_fact), retries},
                    {"is_recoverable", false},
                    {"suggested_action",
                     std::string("do what the decision says; a new answer needs a new decision")},
                    {"detail", why}});
  return asker;
}

// An answer that does not pass is missed by those who were to get it. Where no failure of the task
// tells them, they hear what was decided, and nothing of what it says.
void tell_of_refusal(Dispatch& dispatch, const Approval& approval,
                     const std::vector<AgentRef>& receivers, AgentRef told) {
  size_t count = 0;
  for (const AgentRef receiver : receivers) {
    if (receiver == told || ++count > told_max) {
      continue;
    }
    OutboxItem item = notice_of(dispatch.t, approval, receiver);
    item.facts.push_back({"detail", why_none(approval)});
    owe(dispatch, std::move(item));
  }
}

// What became a dead letter while it waited must not be retried past the decision.
void discard_letters(Dispatch& dispatch, MessageRef message) {
  Tables& t = dispatch.t;
  const Seq seq = t.messages.message(message).seq;
  std::vector<std::string> receivers;
  for (DeliveryRef ref = t.messages.message(message).deliveries; ref != none;
       ref = t.messages.delivery(ref).sibling) {
    receivers.push_back(t.agents[t.messages.delivery(ref).receiver].name);
  }
  for (const std::string& receiver : receivers) {
    if (DeadLetter* const letter = t.dead_letters.find_open(seq, receiver); letter != nullptr) {
      resolve_dead_letter(dispatch, *letter, Resolution::discarded);
    }
  }
}

// What was decided comes about.
void finish_held(Dispatch& dispatch, const Approval& approval) {
  Tables& t = dispatch.t;
  const MessageRef message = t.messages.find(approval.held);
  const bool is_approved =
      approval.state == ApprovalState::approved || approval.state == ApprovalState::modified;
  // What expired or was refused meanwhile cannot pass, whatever was decided.
  if (message != none && is_approved && t.messages.message(message).open > 0) {
    pass(dispatch, approval, message);
    return;
  }
  drop_hold(t, approval.held);
  const AgentRef sender = t.agents.find(approval.asker);
  std::vector<AgentRef> receivers;  // of an answer
  if (message != none) {
    const bool is_answer = t.messages.message(message).kind == Kind::response;
    for (const DeliveryRef ref : open_of(t, message)) {
      const AgentRef receiver = t.messages.delivery(ref).receiver;
      if (is_answer) {
        receivers.push_back(receiver);
      }
      dispatch.withdraw(
          ref, std::string(approval_state_words[approval.state]) + " by " + approval.decided_by);
      dispatch.pump(receiver);
    }
  }
  if (message != none && !is_approved) {
    t.messages.message(message).barred = true;
    discard_letters(dispatch, message);
  }
  // Who takes its answer back may answer in other words.
  const bool is_over =
      approval.state != ApprovalState::withdrawn || approval.decided_by != approval.asker;
  if (is_over && !is_approved) {
    const bool fails = approval.question.n != 0 && sender != none;
    const AgentRef told = fails ? fail_question(dispatch, approval, sender) : none;
    tell_of_refusal(dispatch, approval, receivers, told);
  }
  Requests(t, dispatch).settle();  // what waited for the message itself
  // The time of what is still waited for goes on.
  start_timer(t, approval.question, approval.held);
  start_timer(t, approval.held, approval.held);
}

// It waits in the inbox of its receiver, from whom the message is kept until then. It may have been
// handed out at once.
void keep_until_read(Tables& t, const OutboxItem& item, MessageRef notice) {
  const AgentRef receiver = t.agents.find(item.to);
  const DeliveryRef ref =
      notice == none || receiver == none ? none : t.messages.delivery_to(notice, receiver);
  if (ref == none || t.messages.delivery(ref).state > State::delayed ||
      t.messages.find(item.about) == none) {
    return;
  }
  const Approvals::Decided decided{item.about, item.to};
  t.approvals.add_unread(t.messages.message(notice).seq, decided);
  t.holds.add(item.about, hold_from(t, decided));
}

void one_is_told(Dispatch& dispatch, uint64_t id) {
  dispatch.t.approvals.told_one(id);
  if (const Approval& approval = *dispatch.t.approvals.find(id); !approval.is_open()) {
    finish_held(dispatch, approval);
  }
}

}  // namespace

int32_t approve_below(const Envelope& e) {
  if (!asks(e.kind)) {
    return 0;
  }
  if (e.needs_approval == NeedsApproval::answer) {
    return all_answers;
  }
  return policy_of(e.dialect).wants_confidence ? std::max(e.confidence_ppm, 0) : 0;
}

std::string why_held(const ConstContext& context, const Envelope& e, MessageRef question) {
  if (context.actor == none) {
    return {};
  }
  if (e.needs_approval == NeedsApproval::message) {
    return "its sender asks for it";
  }
  const bool is_failure = e.status == Status::error || e.status == Status::declined;
  const int32_t below = question == none || is_failure  // which is no result
                            ? 0
                            : context.t.messages.message(question).approve_below;
  if (below == all_answers) {
    return "who asked wants every answer approved";
  }
  if (below == 0 || e.confidence_ppm >= below) {
    return {};
  }
  return e.confidence_ppm < 0
             ? "it does not say how sure it is, and " + parts_of_one(below) + " is wanted"
             : "its confidence is " + parts_of_one(e.confidence_ppm) + ", and " +
                   parts_of_one(below) + " is wanted";
}

Checked check_held(const ConstContext& context, const Send& command, MessageRef question,
                   std::string_view why) {
  const Tables& t = context.t;
  if (!why.empty() && !command.later_stages.empty()) {
    return refuse(Code::bad_request,
                  "the message of a pipeline cannot wait for people; ask them first "
                  "(POST /v1/approvals)");
  }
  const PendingRequest* const pending =
      question == none ? nullptr : t.pending.find_request(t.messages.message(question).seq);
  const MessageRef first = pending == nullptr ? none : t.messages.find(pending->held);
  if (first != none && t.messages.message(first).sender == context.actor) {
    return refuse(Code::conflict,
                  "your answer waits for people to approve it; withdraw that before you give "
                  "another");
  }
  return why.empty() ? Checked()
                     : check_room(context, {.asker = t.agents[context.actor].name,
                                            .priority = command.envelope.priority});
}

bool waits_for_approval(const Tables& t, Seq message) {
  const auto& all = t.holds.all();
  const auto at = all.empty() ? all.end() : all.find(message);
  return at != all.end() && std::ranges::find(at->second, hold_of(message)) != at->second.end();
}

bool waits_for_decision(const Tables& t, Seq message, AgentRef receiver) {
  return t.approvals.find_unread(message, t.agents[receiver].name).n != 0;
}

bool is_barred(const Tables& t, Seq message) {
  const MessageRef ref = t.messages.find(message);
  return ref != none && t.messages.message(ref).barred;
}

void hold_for_approval(Tables& t, Seq message) { t.holds.add(message, hold_of(message)); }

void drop_hold(Tables& t, Seq message) { t.holds.remove(message, hold_of(message)); }

void begin_held(Context& context, const Envelope& e, MessageRef message, MessageRef question,
                std::string why) {
  Tables& t = context.t;
  const Seq seq = t.messages.message(message).seq;
  // Who no longer has the request, since another got it, moves nothing of it.
  const DeliveryRef given =
      question == none ? none : t.messages.delivery_to(question, context.actor);
  const bool is_asked = given != none && t.messages.delivery(given).state < State::expired;
  const Seq asked = is_asked ? t.messages.message(question).seq : Seq{};
  const std::string what = question == none ? "a message to " + std::string(e.receivers.front())
                                            : "an answer to " + std::string(e.receivers.front());
  begin_approval(context,
                 {.record = seq,
                  .message = e.id,
                  .native_id = std::string(e.native_id),
                  .asker = t.agents[context.actor].name,
                  .summary = std::string(base::cut(
                      (e.subject.empty() ? what : std::string(e.subject)) + ": " + std::move(why),
                      t.rules.reason_bytes_max)),
                  .digest = digest_of(t.messages.message(message)),
                  .priority = e.priority,
                  .held = seq,
                  .question = asked,
                  .status = e.status});
  if (!is_asked) {
    stop_timer(t, seq, seq);
    return;
  }
  stop_timer(t, asked, seq);
  // An answer has as long as people have. It lives as long as any other when it passes.
  const Time deadline = t.now + t.rules.approval_timeout;
  if (t.messages.message(message).expires <= deadline) {
    t.messages.deadlines.set_expiry(message, deadline + base::hours(1));
  }
  // Its sender has done the work: it does not get the request again while people think.
  if (!is_final(t.messages.delivery(given).state)) {
    context.dispatch.settle(given, State::acked);
    context.dispatch.pump(context.actor);
  }
}

void end_held(Dispatch& dispatch, const Approval& approval, std::string_view modification) {
  if (approval.held.n == 0) {
    return;
  }
  if (approval.untold == 0) {
    finish_held(dispatch, approval);
    return;
  }
  // It has one for this step, which makes sure that it does not pass before all are counted.
  if (const MessageRef message = dispatch.t.messages.find(approval.held); message != none) {
    tell_of_change(dispatch, approval, message, modification);
  }
  one_is_told(dispatch, approval.id);
}

void note_told(Dispatch& dispatch, const OutboxItem& item, MessageRef notice) {
  if (item.kind != OutboxKind::approval_decided || item.about.n == 0) {
    return;
  }
  const auto fact = std::ranges::find(item.facts, approval_fact, &Fact::name);
  CHECK(fact != item.facts.end());
  const auto id = static_cast<uint64_t>(std::get<int64_t>(fact->value));
  const Approval* const approval = dispatch.t.approvals.find(id);
  if (approval != nullptr && approval->untold > 0 && approval->held == item.about) {
    keep_until_read(dispatch.t, item, notice);
    one_is_told(dispatch, id);
  }
}

void release_decided(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (auto read = dispatch.take_read(); !read.empty(); read = dispatch.take_read()) {
    for (const Seq notice : read) {
      const auto at = t.approvals.unread().find(notice);
      if (at == t.approvals.unread().end()) {
        continue;
      }
      const Seq message = at->second.message;
      const Hold hold = hold_from(t, at->second);
      t.approvals.remove_unread(notice);
      if (t.messages.find(message) == none) {
        t.holds.remove(message, hold);
      } else {
        release_messages(dispatch, {&message, 1}, hold);
      }
    }
    Requests(t, dispatch).settle();  // what expired may have been waited for
  }
}

void tell_no_more(Dispatch& dispatch, std::string_view name) {
  Tables& t = dispatch.t;
  if (t.approvals.untold().empty()) {
    return;
  }
  std::vector<OutboxItem> items;  // copies: what passes may be told of
  for (const auto& [id, item] : t.outbox.all()) {
    if (item.to == name) {
      items.push_back(item);
    }
  }
  for (const OutboxItem& item : items) {
    note_told(dispatch, item, none);
  }
}

void restore_held(Tables& t) {
  for (const auto& [id, approval] : t.approvals.all()) {
    if (approval.is_open() && approval.held.n != 0) {
      hold_for_approval(t, approval.held);
    }
  }
  for (const auto& [notice, decided] : t.approvals.unread()) {
    t.holds.add(decided.message, hold_from(t, decided));
  }
}

}  // namespace parley::core
