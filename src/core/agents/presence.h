// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/delivery/dispatch.h"
#include "core/machine/tables.h"

// Who is there. An agent that has a stream, or calls now and then, is there. So is one that never
// sent a heartbeat and never had a stream. One that did is offline when nothing more is heard of
// it, and one that did not answer in time is unavailable until it is heard of again: for the one
// whom it did not answer, and for all once it is several. Each change is published.
namespace parley::core::presence {

// How long an agent may be silent; zero: for ever.
Duration patience(const Rules& rules);

// The agent asked for something: it is there.
void heard_from(Dispatch& dispatch, AgentRef agent);

// It opened a stream.
void connected(Dispatch& dispatch, AgentRef agent);

// It sent a heartbeat, or lost its last stream: from now on its silence counts.
void expect(Tables& t, AgentRef agent);

// What it was asked by itself was not answered within `timeout`.
void unanswered(Dispatch& dispatch, MessageRef request, Duration timeout);

// Whether it is there as far as `asker` is concerned: whom only another waited for in vain is.
// none: the broker asks.
bool is_available_to(const Tables& t, AgentRef agent, AgentRef asker);

// Publishes how it stands; later, and only the newest, where that changes too often
// (availability_news_per_min).
void tell(Dispatch& dispatch, AgentRef agent, std::string_view status);

// It is no one any more.
void forget(Tables& t, AgentRef agent);

// Finds those who are silent for too long, and tells what was put off, a bounded number of each;
// and when that is due.
void advance(Dispatch& dispatch);
Time due(const Tables& t);

// The rules have changed: what is due is looked at anew.
void begin_anew(Tables& t);

// Of one that is away: since when, as far as is known.
std::string why_away(const Agent& agent);

// The agent that takes the place of one that is away: of those who can do the same, the one with
// the least to do, then by name. The same is what the message asks for, where its action is a
// capability of the one that is away, else all its capabilities. Of those who take part in the
// session only, where there is one; none of those who get the message already, and no observer.
// none: there is no such agent.
AgentRef stand_in(const Tables& t, AgentRef away, AgentRef sender, std::string_view action,
                  const Session* session, std::span<const AgentRef> receivers);

}  // namespace parley::core::presence
