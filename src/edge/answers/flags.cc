// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/flags.h"

#include "base/text.h"

namespace parley::edge {

void render_flag(const core::Flag& flag, lib::JsonWriter& out) {
  out.key("id").number(flag.id).key("state").plain(flag.is_open() ? "open" : "resolved");
  out.key("from").text(flag.sender).key("message_id").uuid(flag.message);
  out.key("seq").number(flag.record.n).key("since").time(flag.since);
  out.key("summary").text(flag.summary);
  out.key("previous_hash").text(base::hex(flag.previous)).key("hash").text(base::hex(flag.hash));
  if (!flag.is_open()) {
    out.key("resolution").text(flag.resolution).key("resolved_by").text(flag.resolved_by);
    out.key("resolved_at").time(flag.resolved_at);
  }
}

std::string flags_text(const core::Flags& flags, const WantedFlags& wanted) {
  const auto& all = flags.all();
  const size_t total = wanted.count(flags);
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("items").array();
  uint64_t shown = 0;
  uint64_t next = 0;
  size_t passed = 0;
  auto at = wanted.before == 0 ? all.end() : all.lower_bound(wanted.before);
  // No further than to all that there are: most may be of the other state.
  for (; at != all.begin() && shown < total && passed < flags_passed_max; ++passed) {
    const core::Flag& flag = (--at)->second;
    shown += wanted.has(flag) ? 1 : 0;
    if (shown > wanted.limit) {
      break;
    }
    next = flag.id;
    if (wanted.has(flag)) {
      out.object();
      render_flag(flag, out);
      out.end_object();
    }
  }
  out.end_array().key("total").number(total);
  if (shown > wanted.limit || (passed == flags_passed_max && at != all.begin())) {
    out.key("next").text(std::to_string(next));
  }
  out.end_object();
  return text;
}

}  // namespace parley::edge
