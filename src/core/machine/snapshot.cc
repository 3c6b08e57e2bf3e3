// SPDX-License-Identifier: Apache-2.0
// The frame of a snapshot. Each room writes and reads its own part: core/machine/rooms.h.
#include "core/machine/snapshot.h"

#include "core/machine/rooms.h"
#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"

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
  SnapshotParts::write(t, rows);
}

bool decode(Tables& t, Reader& in) {
  SnapshotReader rows(in);
  t.now = in.time();
  decode_rules(t.rules, in);
  return SnapshotParts::read(t, rows) && is_consistent(t);
}

void add_live(const Tables& t, std::vector<Seq>& seqs) {
  t.messages.each([&](MessageRef, const Message& message) { seqs.push_back(message.seq); });
  SnapshotParts::add_live(t, seqs);
}

}  // namespace parley::core
