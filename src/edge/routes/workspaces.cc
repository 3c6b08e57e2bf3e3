// SPDX-License-Identifier: Apache-2.0
// Workspaces, which know nothing of each other.
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/routes/routes.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;

void add_workspace(Call& call) {
  Members body(call.body);
  const std::string_view name = body.text("name");
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const std::string token = lib::random_token();
  std::string text;
  JsonWriter(text).object().key("name").text(name).key("token").text(token).end_object();
  call.ask(core::AddWorkspace{.name = name, .admin_token = lib::sha256(token)},
           call.reply(std::move(text), 201));
}

void list_workspaces(Call& call) {
  const bool first = call.caller.workspace == core::workspace_first;
  std::string text;
  JsonWriter out(text);
  out.object().key("workspaces").array();
  for (const auto& [id, workspace] : call.broker().machine().workspaces()) {
    if (first || id == call.caller.workspace) {
      out.object().key("name").text(workspace.name());
      out.key("agents").number(uint64_t{workspace.tables().agents.registered()});
      out.key("messages").number(uint64_t{workspace.tables().messages.size()}).end_object();
    }
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

}  // namespace

std::span<const Route> workspace_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/workspaces",
       .handler = add_workspace,
       .body = body_of({"name"}),
       .who = Who::machine},
      {.method = "GET", .pattern = "/v1/workspaces", .handler = list_workspaces, .who = Who::admin},
  };
  return routes;
}

}  // namespace parley::edge
