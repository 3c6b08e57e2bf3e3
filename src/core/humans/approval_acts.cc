// SPDX-License-Identifier: Apache-2.0
// What an agent may do only if people say so: asked, decided once by one who may, or ended by time.
#include "core/humans/approval_acts.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "core/humans/held.h"
#include "core/limits/admission.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr uint64_t needed_max = 2;

// The same question, asked before by the same agent; nullptr when there is none. A former agent of
// the name is another one.
const Approval* asked_before(const ConstContext& context, const AskApproval& command) {
  const Agent& asker = context.t.agents[context.actor];
  const Approval* const approval = context.t.approvals.find_sent(asker.name, command.id);
  return approval == nullptr || approval->record < asker.since ? nullptr : approval;
}

// The same proposal under the same terms.
bool is_same(const Approval& approval, const AskApproval& command) {
  return approval.digest == command.digest && approval.summary == command.summary &&
         approval.priority == command.priority && approval.needed == command.needed &&
         approval.options == command.options && approval.timeout == command.timeout &&
         std::ranges::equal(approval.approvers, command.approvers);
}

// What is asked, before it has a number and its times.
Approval proposal_of(const ConstContext& context, const AskApproval& command) {
  return {.record = context.entry.seq,
          .message = command.id,
          .native_id = std::string(command.native_id),
          .asker = context.t.agents[context.actor].name,
          .summary = std::string(command.summary),
          .digest = command.digest,
          .priority = command.priority,
          .approvers = {command.approvers.begin(), command.approvers.end()},
          .needed = command.needed,
          .options = command.options,
          .timeout = command.timeout};
}

Checked check_approvers(const ConstContext& context, const AskApproval& command) {
  const Tables& t = context.t;
  if (command.needed < 1 || command.needed > needed_max) {
    return refuse(Code::bad_request, "one or two people must approve: needed is 1 or 2", "/needed");
  }
  if (command.approvers.size() > told_max) {
    return refuse(Code::bad_request, "at most " + std::to_string(told_max) + " approvers are named",
                  "/approvers");
  }
  for (size_t n = 0; n < command.approvers.size(); ++n) {
    const std::string_view name = command.approvers[n];
    const AgentRef ref = t.agents.find(name);
    const std::string field = "/approvers/" + std::to_string(n);
    if (ref == none || !may_approve(t.agents[ref])) {
      return refuse(Code::bad_request,
                    quoted_start(name) +
                        " may not approve anything; name people with the right `approver` "
                        "(human:NAME), or nobody to ask all of them",
                    field);
    }
    if (ref == context.actor || std::ranges::count(command.approvers, name) > 1) {
      return refuse(Code::bad_request,
                    ref == context.actor ? "who asks does not decide"
                                         : quoted_start(name) + " is named twice",
                    field);
    }
  }
  if (!command.approvers.empty() && command.approvers.size() < command.needed) {
    return refuse(Code::bad_request, "two must approve, and only one is named", "/approvers");
  }
  return {};
}

Checked check_options(const AskApproval& command) {
  if (command.options == 0 || (command.options & ~all_options) != 0) {
    return refuse(Code::bad_request, "options are some of approve, reject and modify", "/options");
  }
  if (command.needed > 1 && (command.options & option_of(ApprovalDecision::approve)) == 0) {
    return refuse(Code::bad_request, "two must approve, and approve is none of the options",
                  "/options");
  }
  return {};
}

// Who may decide now, in the order of their names; of those who are not named the ones with the
// right of their own.
std::vector<std::string> deciders(const Tables& t, const Approval& approval) {
  std::vector<std::string> names;
  const auto add = [&](AgentRef ref) {
    if (may_decide(t, ref, approval)) {
      names.push_back(t.agents[ref].name);
    }
  };
  if (approval.approvers.empty()) {
    std::ranges::for_each(t.agents.directory().with_right(Right::approver), add);
  }
  for (const std::string& name : approval.approvers) {
    add(t.agents.find(name));
  }
  std::ranges::sort(names);
  return names;
}

// Whether those who may decide are too few for it to be approved.
bool is_orphaned(const Approval& approval, const std::vector<std::string>& deciders) {
  return deciders.size() < approval.needed;
}

// Who is told: those who may decide. Where they are too few, also those who maintain the workspace,
// who can reject it; else the admin. No agent: it may be the one who is to get what waits.
std::vector<std::string> told_of(const Tables& t, const Approval& approval) {
  std::vector<std::string> names = deciders(t, approval);
  if (is_orphaned(approval, names)) {
    std::vector<AgentRef> others = t.agents.maintainers();
    if (const AgentRef admin = t.agents.find("admin");
        others.empty() && names.empty() && admin != none && t.agents[admin].is_registered()) {
      others.push_back(admin);
    }
    for (const AgentRef ref : others) {
      if (std::ranges::find(names, t.agents[ref].name) == names.end()) {
        names.push_back(t.agents[ref].name);
      }
    }
  }
  names.resize(std::min(names.size(), told_max));
  return names;
}

// Who does not read is not told more and more, and has room for the mail of others: the list shows
// what waits. As with the broker's news, half of an inbox is enough.
bool has_room_for_notice(const Tables& t, std::string_view name) {
  const uint64_t load = t.load_of(t.agents.find(name)) + t.outbox.owed_to(name);
  return load < (t.rules.queue_max + 1) / 2;
}

void tell_deciders(Dispatch& dispatch, const Approval& approval, OutboxKind kind) {
  OutboxItem item{.kind = kind,
                  .to = {},
                  .about = {},
                  .priority = approval.priority,
                  .facts = {{"approval", static_cast<int64_t>(approval.id)},
                            {"asker", approval.asker},
                            {"summary", approval.summary},
                            {"deadline", approval.deadline}}};
  for (const std::string& name : told_of(dispatch.t, approval)) {
    if (has_room_for_notice(dispatch.t, name)) {
      item.to = name;
      owe(dispatch, item);
    }
  }
}

// Those who are named can decide no more, or are too few: who maintains the workspace is told, by
// the reminder that is due now. There may be very many; time does some of them in each entry.
void remind_if_orphaned(Tables& t, uint64_t id) {
  const Approval& approval = *t.approvals.find(id);
  if (!approval.approvers.empty() && is_orphaned(approval, deciders(t, approval))) {
    t.approvals.remind_again(id, std::min(approval.deadline, t.now));
  }
}

// What people chose for it to end so; nothing where they chose nothing.
std::optional<ApprovalDecision> chosen(ApprovalState state) {
  switch (state) {
    case ApprovalState::approved:
      return ApprovalDecision::approve;
    case ApprovalState::rejected:
      return ApprovalDecision::reject;
    case ApprovalState::modified:
      return ApprovalDecision::modify;
    case ApprovalState::pending:
    case ApprovalState::expired:
    case ApprovalState::withdrawn:
      break;
  }
  return std::nullopt;
}

void end_approval(Dispatch& dispatch, uint64_t id, const Approvals::End& how,
                  std::string_view modification) {
  Tables& t = dispatch.t;
  t.approvals.end(id, how);
  const Approval& approval = *t.approvals.find(id);
  std::vector<Fact> facts = {{"approval", static_cast<int64_t>(id)},
                             {"message_id", approval.message_name()},
                             {"decision", std::string(approval_state_words[how.state])},
                             {"decided_by", approval.decided_by},
                             {"summary", approval.summary}};
  if (const auto option = chosen(how.state)) {
    facts.push_back({"option", std::string(approval_decision_words[*option])});
  }
  if (!approval.comment.empty()) {
    facts.push_back({"comment", approval.comment});
  }
  if (!modification.empty()) {
    facts.push_back({"modification", std::string(modification)});
  }
  // Who takes it back knows.
  if (how.state != ApprovalState::withdrawn) {
    owe(dispatch, {.kind = OutboxKind::approval_decided,
                   .to = approval.asker,
                   .about = {},
                   .priority = approval.priority,
                   .facts = std::move(facts)});
  }
  broker_topics::audit(dispatch, "approval_" + std::string(approval_state_words[how.state]),
                       approval.decided_by, std::to_string(id));
  dispatch.emit(ApprovalChanged{.approval = id});
  end_held(dispatch, approval, modification);
}

Checked check_texts(const Tables& t, const DecideApproval& command) {
  if (command.comment.size() > t.rules.reason_bytes_max) {
    return refuse(Code::bad_request,
                  "a comment has at most " + std::to_string(t.rules.reason_bytes_max) +
                      " bytes (reason_bytes_max)",
                  "/comment");
  }
  const bool modifies = command.decision == ApprovalDecision::modify;
  if (modifies == command.modification.empty()) {
    return refuse(Code::bad_request,
                  modifies ? "modification says what may be done instead"
                           : "only the decision `modify` has a modification",
                  "/modification");
  }
  if (command.modification.size() > t.rules.approval_bytes_max) {
    return refuse(Code::payload_too_large,
                  "a modification has at most " + std::to_string(t.rules.approval_bytes_max) +
                      " bytes (approval_bytes_max)",
                  "/modification");
  }
  return {};
}

ApprovalState state_after(ApprovalDecision decision) {
  switch (decision) {
    case ApprovalDecision::approve:
      return ApprovalState::approved;
    case ApprovalDecision::reject:
      return ApprovalState::rejected;
    case ApprovalDecision::modify:
      return ApprovalState::modified;
    case ApprovalDecision::withdraw:
      return ApprovalState::withdrawn;
  }
  return ApprovalState::rejected;
}

// Votes count while who gave them may decide. True when there are enough with this one.
bool count_vote(Tables& t, uint64_t id, std::string_view by) {
  const Approval& approval = *t.approvals.find(id);
  const std::vector<std::string> voters = approval.approved_by;  // a copy: some go
  for (const std::string& name : voters) {
    if (!may_decide(t, t.agents.find(name), approval)) {
      t.approvals.drop_vote(id, name);
    }
  }
  t.approvals.approve(id, by);
  return approval.approved_by.size() >= approval.needed;
}

}  // namespace

bool may_approve(const Agent& agent) {
  return agent.kind == PrincipalKind::admin || agent.has(Right::admin) ||
         agent.has(Right::approver);
}

bool may_decide(const Tables& tables, AgentRef principal, const Approval& approval) {
  if (principal == none || tables.agents[principal].name == approval.asker) {
    return false;
  }
  const Agent& agent = tables.agents[principal];
  const auto has = [&agent](const std::vector<std::string>& names) {
    return std::ranges::find(names, agent.name) != names.end();
  };
  return may_approve(agent) &&
         (approval.approvers.empty() || (has(approval.approvers) && !has(approval.gone)));
}

Checked check(const ConstContext& context, const AskApproval& command) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal asks for an approval");
  }
  if (const Approval* const before = asked_before(context, command); before != nullptr) {
    return is_same(*before, command)
               ? Checked()
               : refuse(Code::duplicate_id,
                        "you have asked something else with this id, or under other terms");
  }
  if (command.summary.empty() || command.summary.size() > t.rules.reason_bytes_max) {
    return refuse(Code::bad_request,
                  "summary says what is to be approved, in 1 to " +
                      std::to_string(t.rules.reason_bytes_max) + " bytes (reason_bytes_max)",
                  "/summary");
  }
  if (command.text.empty() || command.text.size() > t.rules.approval_bytes_max) {
    return refuse(Code::payload_too_large, "a proposal has 1 to " +
                                               std::to_string(t.rules.approval_bytes_max) +
                                               " bytes (approval_bytes_max)");
  }
  if (command.timeout.us < 0 || command.timeout > t.rules.approval_timeout_max) {
    return refuse(Code::bad_request,
                  "people have at most " + base::format_duration(t.rules.approval_timeout_max) +
                      " to decide (approval_timeout_max)",
                  "/timeout");
  }
  if (auto good = check_approvers(context, command); !good) {
    return good;
  }
  if (auto good = check_options(command); !good) {
    return good;
  }
  if (command.native_id.size() > t.rules.name_bytes_max) {
    return refuse(
        Code::bad_request,
        "an id has at most " + std::to_string(t.rules.name_bytes_max) + " bytes (name_bytes_max)",
        "/message_id");
  }
  return check_room(context, proposal_of(context, command));
}

Checked check_room(const ConstContext& context, const Approval& approval) {
  const Tables& t = context.t;
  const size_t open = t.approvals.open_of(t.agents[context.actor].name);
  if (open >= share_of(t.rules, t.rules.approvals_max)) {
    return refuse_share("you wait for " + std::to_string(open) + " approvals", "approvals_max",
                        "withdraw some, or wait until some are decided");
  }
  if (t.approvals.open() >= t.rules.approvals_max) {
    return refuse(
        Code::limit_reached,
        "people have as many open approvals as there may be (approvals_max); try when "
        "some are decided, or ask a maintainer or an admin to reject some, or an admin to "
        "raise it");
  }
  return check_caused(context, approval.priority, told_of(t, approval).size());
}

void begin_approval(Context& context, Approval approval) {
  Tables& t = context.t;
  const Duration remind = t.rules.approval_reminder;
  approval.since = t.now;
  approval.deadline =
      t.now + (approval.timeout.us > 0 ? approval.timeout : t.rules.approval_timeout);
  approval.remind_at =
      remind.us == 0 ? approval.deadline : std::min(approval.deadline, t.now + remind);
  count_caused(context, approval.priority, told_of(t, approval).size());
  const uint64_t id = t.approvals.add(std::move(approval), t.rules.approvals_max);
  context.dispatch.emit(ApprovalChanged{.approval = id});
  tell_deciders(context.dispatch, *t.approvals.find(id), OutboxKind::approval_asked);
  broker_topics::audit(context.dispatch, "approval_asked", context.entry.actor, std::to_string(id));
}

Outcome on(Context& context, const AskApproval& command) {
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  if (const Approval* const before = asked_before(context, command); before != nullptr) {
    return Receipt{.message = before->record, .duplicate = true};
  }
  begin_approval(context, proposal_of(context, command));
  return Receipt{.message = context.entry.seq};
}

Checked check(const ConstContext& context, const DecideApproval& command) {
  const Tables& t = context.t;
  const Approval* const approval = context.actor == none ? nullptr : t.approvals.find(command.id);
  const bool is_asker = approval != nullptr && t.agents[context.actor].name == approval->asker &&
                        approval->record >= t.agents[context.actor].since;
  const bool decides = approval != nullptr && may_decide(t, context.actor, *approval);
  if (approval == nullptr || (!is_asker && !decides && !is_maintainer(context))) {
    return refuse(Code::not_found, "there is no approval " + std::to_string(command.id));
  }
  // Who answers for the workspace makes room, and never allows anything by that.
  const bool makes_room = command.decision == ApprovalDecision::reject && !is_asker;
  if (command.decision == ApprovalDecision::withdraw
          ? !is_asker
          : !decides && !(makes_room && is_maintainer(context))) {
    return refuse(Code::forbidden, command.decision == ApprovalDecision::withdraw
                                       ? "only who asked withdraws it"
                                       : "only those who were asked decide this; maintainers and "
                                         "admins may reject it");
  }
  if (!approval->is_pending()) {
    return refuse(Code::conflict, "it is " + std::string(approval_state_words[approval->state]) +
                                      " by " + quoted(approval->decided_by) + " since " +
                                      base::format_time(approval->decided_at));
  }
  if (command.digest != approval->digest) {
    return refuse(Code::conflict, "what is proposed is not what you were shown; look at it again",
                  "/digest");
  }
  if (command.decision != ApprovalDecision::reject &&
      std::ranges::find(approval->approved_by, t.agents[context.actor].name) !=
          approval->approved_by.end()) {
    return refuse(Code::conflict, "you have approved it; another one must, too");
  }
  if (!approval->offers(command.decision) && !(makes_room && is_maintainer(context))) {
    return refuse(Code::bad_request,
                  std::string(approval_decision_words[command.decision]) +
                      " is none of the options of this approval: choose one of " +
                      names_of_options(approval->options),
                  "/decision");
  }
  if (command.decision == ApprovalDecision::modify && approval->needed > 1) {
    return refuse(Code::bad_request,
                  "two must agree on the same, so it cannot be modified; reject it and say what to "
                  "ask for instead",
                  "/decision");
  }
  return check_texts(t, command);
}

Outcome on(Context& context, const DecideApproval& command) {
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  Tables& t = context.t;
  const Seq record = t.approvals.find(command.id)->record;
  const bool waits =
      command.decision == ApprovalDecision::modify && t.approvals.find(command.id)->held.n != 0;
  const std::string& by = t.agents[context.actor].name;
  if (command.decision == ApprovalDecision::approve && !count_vote(t, command.id, by)) {
    broker_topics::audit(context.dispatch, "approval_seconded", by, std::to_string(command.id));
    return Receipt{.message = record};
  }
  end_approval(context.dispatch, command.id,
               {.state = state_after(command.decision),
                .by = by,
                .comment = command.comment,
                .decision = context.entry.seq,
                .at = t.now,
                .untold = waits ? uint64_t{1} : uint64_t{0}},
               command.modification);
  return Receipt{.message = record};
}

void advance_approvals(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && t.approvals.next_due() <= t.now; ++n) {
    const uint64_t id = t.approvals.first_due();
    const Approval& approval = *t.approvals.find(id);
    if (approval.deadline <= t.now) {
      end_approval(dispatch, id,
                   {.state = ApprovalState::expired, .by = broker_sender, .at = t.now}, {});
      continue;
    }
    tell_deciders(dispatch, approval, OutboxKind::approval_reminder);
    const Duration remind = t.rules.approval_reminder;
    t.approvals.remind_again(
        id, remind.us == 0 ? approval.deadline : std::min(approval.deadline, t.now + remind));
  }
}

Time approvals_due(const Tables& tables) { return tables.approvals.next_due(); }

void leave_approvals(Dispatch& dispatch, std::string_view name) {
  Approvals& approvals = dispatch.t.approvals;
  for (const uint64_t id : approvals.open_ids_of(name)) {
    approvals.end(id, {.state = ApprovalState::withdrawn,
                       .by = broker_sender,
                       .comment = "who asked is gone",
                       .at = dispatch.t.now});
    broker_topics::audit(dispatch, "approval_withdrawn", broker_sender, std::to_string(id));
    dispatch.emit(ApprovalChanged{.approval = id});
    end_held(dispatch, *approvals.find(id), {});
  }
  tell_no_more(dispatch, name);
  for (const uint64_t id : approvals.open_ids_with(name)) {
    approvals.lose(id, name);
    remind_if_orphaned(dispatch.t, id);
  }
}

void lose_right_to_approve(Tables& t, std::string_view name) {
  for (const uint64_t id : t.approvals.open_ids_with(name)) {
    remind_if_orphaned(t, id);
  }
}

}  // namespace parley::core
