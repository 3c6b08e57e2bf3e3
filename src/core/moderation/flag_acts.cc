// SPDX-License-Identifier: Apache-2.0
// What is put before the moderators, and what they did about it. Nobody else hears of it: there is
// no message, no topic and no notice.
#include "core/moderation/flag_acts.h"

#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

// The same flag, sent before by the same agent; nullptr when there is none. A former agent of the
// name is another one.
const Flag* sent_before(const ConstContext& context, const RaiseFlag& command) {
  const Agent& sender = context.t.agents[context.actor];
  const Flag* const flag = context.t.flags.find_sent(sender.name, command.id);
  return flag == nullptr || flag->record < sender.since ? nullptr : flag;
}

}  // namespace

bool is_moderator(const Tables& tables, AgentRef principal) {
  return principal != none && tables.agents[principal].has(Right::moderator);
}

Checked check(const ConstContext& context, const RaiseFlag& command) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal raises a flag");
  }
  if (const Flag* const before = sent_before(context, command); before != nullptr) {
    return before->digest == command.digest
               ? Checked()
               : refuse(Code::duplicate_id, "you have sent another flag with this id");
  }
  if (command.text.empty() || command.text.size() > t.rules.flag_bytes_max ||
      command.problem.size() > t.rules.reason_bytes_max ||
      command.summary.size() > t.rules.reason_bytes_max) {
    return refuse(
        Code::payload_too_large,
        "a flag has 1 to " + std::to_string(t.rules.flag_bytes_max) + " bytes (flag_bytes_max)");
  }
  const size_t open = t.flags.open_of(t.agents[context.actor].name);
  if (open >= share_of(t.rules, t.rules.flags_max)) {
    return refuse_share("you have " + std::to_string(open) + " open flags", "flags_max",
                        "wait until the moderators have resolved some");
  }
  if (t.flags.open() >= t.rules.flags_max) {
    return refuse(Code::limit_reached,
                  "the moderators have as many open flags as there may be (flags_max); try later");
  }
  if (command.previous != t.flags.head()) {
    return refuse(Code::conflict, "another flag came in between");
  }
  return {};
}

Outcome on(Context& context, const RaiseFlag& command) {
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  Tables& t = context.t;
  if (const Flag* const before = sent_before(context, command); before != nullptr) {
    return Receipt{.message = before->record, .duplicate = true};
  }
  t.flags.add({.record = context.entry.seq,
               .message = command.id,
               .sender = t.agents[context.actor].name,
               .summary = std::string(command.summary),
               .since = t.now,
               .digest = command.digest,
               .previous = command.previous,
               .hash = command.hash},
              t.rules.flags_max);
  for (const AgentRef moderator : t.agents.moderators()) {
    context.dispatch.emit(Mail{.receiver = moderator});
  }
  return Receipt{.message = context.entry.seq};
}

Checked check(const ConstContext& context, const ResolveFlag& command) {
  const Tables& t = context.t;
  const Flag* const flag = is_moderator(t, context.actor) ? t.flags.find(command.id) : nullptr;
  if (flag == nullptr) {
    return refuse(Code::not_found, "there is no such thing here");
  }
  if (!flag->is_open()) {
    return refuse(Code::conflict, "the flag was resolved by " + quoted(flag->resolved_by) + " at " +
                                      base::format_time(flag->resolved_at));
  }
  if (command.resolution.empty() || command.resolution.size() > t.rules.reason_bytes_max) {
    return refuse(Code::bad_request,
                  "a resolution says what was done, in 1 to " +
                      std::to_string(t.rules.reason_bytes_max) + " bytes (reason_bytes_max)",
                  "/resolution");
  }
  return {};
}

Outcome on(Context& context, const ResolveFlag& command) {
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  Tables& t = context.t;
  t.flags.resolve(command.id, command.resolution, context.entry.actor, t.now);
  return Receipt{.message = t.flags.find(command.id)->record};
}

}  // namespace parley::core
