// SPDX-License-Identifier: Apache-2.0
// The rules of a workspace.
#include "edge/api/context.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using lib::Json;
using lib::JsonWriter;

void show_rules(Call& call) {
  const core::Rules defaults;
  std::string text;
  JsonWriter out(text);
  out.object().key("rules").array();
  for (const core::RuleInfo& info : core::all_rules()) {
    out.object().key("name").text(info.name);
    out.key("value").text(core::rule_value(call.tables().rules, info));
    out.key("default").text(core::rule_value(defaults, info));
    out.key("help").text(info.help).end_object();
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

void change_rules(Call& call) {
  core::SetRules command;
  for (const lib::JsonMember member : call.body.members()) {
    // A number may be written as one, and several texts as a list.
    std::string& text =
        call.context->texts.emplace_back(member.value.as_string().value_or(member.value.raw()));
    if (member.value.kind() == lib::JsonKind::array) {
      text.clear();
      for (const Json element : member.value.elements()) {
        text.append(text.empty() ? "" : ",").append(element.as_string().value_or(element.raw()));
      }
    }
    command.values.emplace_back(member.key, text);
  }
  call.ask(std::move(command), call.reply());
}

}  // namespace

std::span<const Route> rule_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET", .pattern = "/v1/rules", .handler = show_rules, .who = Who::principal},
      {.method = "PATCH",
       .pattern = "/v1/rules",
       .handler = change_rules,
       .body = {.kind = Body::Kind::object},
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
