// SPDX-License-Identifier: Apache-2.0
// The order of the parts of a snapshot. Each room writes and reads its own.
#include "core/machine/snapshot.h"

#include "core/agents/agents_snapshot.h"
#include "core/conversation/session_acts.h"
#include "core/conversation/threads_snapshot.h"
#include "core/dead_letters/dead_letters_snapshot.h"
#include "core/delivery/delivery_snapshot.h"
#include "core/limits/limits_snapshot.h"
#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"
#include "core/topics/topics_snapshot.h"

namespace parley::core {

namespace {

void encode_rules(const Rules& rules, Writer& out) {
  out.varint(all_rules().size());
  for (const RuleInfo& info : all_rules()) {
    out.text(info.name);
    out.text(rule_value(rules, info));
  }
}

// By name, so that a version with other rules can read it: what it does not know is left out.
void decode_rules(Rules& rules, Reader& in) {
  for (size_t left = in.count(2); left > 0; --left) {
    const std::string_view name = in.text();
    const std::string_view value = in.text();
    if (const auto set = set_rule(rules, name, value);
        !set && set.error().code != base::Code::unknown_rule) {
      in.fail();
    }
  }
}

}  // namespace

void encode(const Tables& t, Writer& out) {
  SnapshotWriter rows(t, out);
  out.time(t.now);
  encode_rules(t.rules, out);
  encode_agents(t, rows);
  encode_topics(t, rows);
  encode_streams(t, rows);
  encode_threads(t, rows);
  t.topics.wildcards().encode(t.agents, out);
  t.sessions.encode(out);
  t.tasks.encode(out);
  encode_messages(t, rows);
  encode_dead_letters(t, out);
  encode_limits(t, out);
  t.outbox.encode(out);
  t.escalations.encode(out);
  t.pending.encode(out);
  t.locks.encode(out);
  t.wait_graph.encode(t.now, out);
  t.broadcasts.encode(out);
}

bool decode(Tables& t, Reader& in) {
  SnapshotReader rows(in);
  t.now = in.time();
  decode_rules(t.rules, in);
  decode_agents(t, rows);
  decode_topics(t, rows);
  decode_streams(t, rows);
  decode_threads(t, rows);
  // Before the messages: those in a paused session are in no inbox, and some give tasks.
  if (!t.topics.wildcards().decode(t.agents, in) || !t.sessions.decode(in) || !t.tasks.decode(in)) {
    return false;
  }
  restore_session_holds(t);
  decode_messages(t, rows);
  if (in.ok()) {
    decode_dead_letters(t, in);
    decode_limits(t, in);
  }
  return in.ok() && t.outbox.decode(in) && t.escalations.decode(in) && t.pending.decode(in) &&
         t.locks.decode(in) && t.wait_graph.decode(t.messages, in) && t.broadcasts.decode(in) &&
         is_consistent(t);
}

}  // namespace parley::core
