// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

struct Route;

// What a message is to a debate. Any dialect may have part in one: what counts is the kind of the
// message, what it answers, and its stance where it has one (SQ-06).
struct DebateMove {
  std::optional<DebateAct> act;  // none: it has to do with none
  uint64_t debate = 0;           // 0: it opens one
  AgentRef challenged = none;    // of a new one
  MessageRef claim = none;       // likewise: the message that is challenged, where it is known
};

// Which debate the message opens or goes on with; or why it may not. `question` is what it answers.
std::expected<DebateMove, Error> plan_debate(const ConstContext& context, const Envelope& e,
                                             const Route& route, MessageRef question);
// The accepted message is a part of its debate, and what follows from that: it is put before people
// after the last round, or ends. True: an escalation came of it, or it joins the one there is.
// `is_apart`: its thread is not that of its name, but another's (core/conversation/thread_acts.h).
bool enter_debate(Context& context, const Envelope& e, const DebateMove& move, const Route& route,
                  bool is_apart);

// Work of a thread that reviewers may hold up is noted, and held if one does. Before the message is
// delivered.
void hold_work(Tables& t, const Envelope& e, const DebateMove& move, bool is_apart,
               MessageRef message);
// A snapshot has the debates, and not the holds that follow from them.
void restore_challenged(Tables& t);

// The challenge came to nothing: the one to whom it went never read it. False: it is no challenge
// that waits for its answer.
bool escalate_unread_challenge(Dispatch& dispatch, Seq message);
// The agent's session is over: what it has not answered is put before people. Returns how many.
size_t escalate_unanswered(Dispatch& dispatch, std::string_view challenged);
// People have decided on the escalation of this debate.
void resolve_debate(Dispatch& dispatch, uint64_t debate, std::string_view resolution,
                    std::string_view by);

// Puts before people what was not answered in time, at most `due_max`; and when that is due.
void advance_debates(Dispatch& dispatch);
Time debates_due(const Tables& t);

// The principal is gone. What it challenged is withdrawn, unless people are to decide; what it was
// to answer is put before them.
void leave_debates(Dispatch& dispatch, std::string_view name);

}  // namespace parley::core
