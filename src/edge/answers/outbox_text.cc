// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/outbox_text.h"

#include "lib/json_writer.h"

namespace parley::edge {

using lib::JsonWriter;

std::string outbox_item_text(const core::OutboxItem& item) {
  std::string text;
  JsonWriter out(text);
  out.object().key("event");
  if (item.kind == core::OutboxKind::published) {
    out.text(item.to);
  } else {
    out.plain(core::outbox_kind_name(item.kind));
  }
  struct {
    JsonWriter& out;
    void operator()(const std::string& value) const { out.text(value); }
    void operator()(int64_t value) const { out.number(value); }
    void operator()(bool value) const { out.boolean(value); }
    void operator()(base::Duration value) const {
      out.text(base::format_duration(base::rough(value)));
    }
    void operator()(base::Time value) const { out.time(value); }
    void operator()(const std::vector<std::string>& value) const {
      out.array();
      for (const std::string& each : value) {
        out.text(each);
      }
      out.end_array();
    }
  } writer{out};
  for (const core::Fact& fact : item.facts) {
    out.key(fact.name);
    std::visit(writer, fact.value);
  }
  out.end_object();
  return text;
}

}  // namespace parley::edge
