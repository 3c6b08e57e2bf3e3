// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/flags.h"

#include <algorithm>
#include <set>

#include "base/ids.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"
#include "sim/client/messages.h"
#include "sim/roles/notebooks.h"

namespace parley::edge_sim {

using sim::text;

namespace {

std::string on_route(const RaisedFlag& flag) {
  std::string body;
  lib::JsonWriter(body)
      .object()
      .key("flag")
      .object()
      .key("severity")
      .text("high")
      .key("excerpt")
      .text(flag.marker)
      .end_object()
      .key("summary")
      .text("rude: " + flag.marker)
      .key("message_id")
      .text(flag.id)
      .end_object();
  return body;
}

std::string in_message(const RaisedFlag& flag, const std::string& to, Time now, bool is_whole) {
  std::string body;
  lib::JsonWriter out(body);
  out.object().key("message_type").text("coc_violation_flag").key("message_id").text(flag.id);
  out.key("timestamp").time(now).key("from_agent").text(flag.by).key("to_agent").text(to);
  out.key("privacy_level").text("PRIVATE_TO_MODERATORS");
  if (is_whole) {
    out.key("violation").object().key("severity").text("high").key("confidence").real(0.85);
    out.key("violation_type").text("harassment").key("location").text(flag.marker).end_object();
  }
  out.key("context").object().key("excerpt").text(flag.marker).end_object();
  out.end_object();
  return body;
}

void send(RunState& run, Ledger& ledger, RoleClient& client, size_t number) {
  RaisedFlag& flag = ledger.flags[number];
  flag.in_flight = true;
  client.ask({"POST", flag.target, flag.text}, [&run, &ledger, number](const Reply& reply) {
    RaisedFlag& raised = ledger.flags[number];
    raised.in_flight = false;
    if (!is_unknown(reply) && raised.fate == Fate::open) {
      raised.fate = reply.status == 202 ? Fate::accepted : Fate::refused;
      run.setting.coverage.count("flag raised", text("{} {}", raised.target, reply.status));
    }
  });
}

}  // namespace

void raise_flag(RunState& run, Ledger& ledger, RoleClient& client) {
  constexpr size_t flags_max = 12;
  if (ledger.flags.size() >= flags_max) {
    return;
  }
  sim::Random& random = run.random();
  const std::set<std::string> readers(ledger.moderators.begin(), ledger.moderators.end());
  RaisedFlag flag{.id = base::format_uuid(lib::random_uuid()),
                  .by = client.name(),
                  .marker = run.new_marker(client.name(), readers)};
  run.guards[flag.marker] = "flag";
  if (client.dialect() == "superprompt" && random.chance(600)) {
    flag.target = "/v1/messages";
    flag.text = in_message(flag, random.pick(ledger.supervisors), run.now(), random.chance(600));
  } else {
    flag.target = "/v1/moderation/flags";
    flag.text = on_route(flag);
  }
  client.note(text("raises the flag {}", flag.marker));
  ledger.flags.push_back(std::move(flag));
  send(run, ledger, client, ledger.flags.size() - 1);
}

void raise_again(RunState& run, Ledger& ledger, RoleClient& client) {
  for (size_t n = 0; n < ledger.flags.size(); ++n) {
    const RaisedFlag& flag = ledger.flags[n];
    const bool is_open =
        flag.fate == Fate::open || (flag.fate == Fate::accepted && run.random().chance(50));
    if (flag.by == client.name() && is_open && !flag.in_flight) {
      send(run, ledger, client, n);
    }
  }
}

bool has_raised(const Ledger& ledger, const RoleClient& client) {
  return std::ranges::none_of(ledger.flags, [&client](const RaisedFlag& flag) {
    return flag.by == client.name() && flag.fate == Fate::open;
  });
}

void judge_flags(RunState& run, const Ledger& ledger) {
  const std::map<std::string, std::set<std::string>> seen = markers_seen(run);
  for (const RaisedFlag& flag : ledger.flags) {
    for (const auto& [reader, markers] : seen) {
      const bool may_see = std::ranges::count(ledger.moderators, reader) > 0;
      if (markers.contains(flag.marker) && !may_see) {
        run.fail("flag", text("{} raised {} for moderators alone, and {} read it", flag.by,
                              flag.marker, reader));
      }
    }
    if (flag.fate == Fate::accepted && flag.shown_as == 0) {
      run.fail("flag", text("{} raised {}, and no moderator ever saw it", flag.by, flag.marker));
    }
  }
}

}  // namespace parley::edge_sim
