// SPDX-License-Identifier: Apache-2.0
// People, who have tokens and rights of their own.
#include "edge/api/context.h"
#include "edge/routes/routes.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

void add_human(Call& call) {
  const auto body = call.body_object();
  const auto name = body ? text_member(*body, "name", "") : std::unexpected(body.error());
  const auto rights = body ? texts_member(*body, "rights") : std::unexpected(body.error());
  if (!name || name->empty() || !rights) {
    call.refuse(!name     ? name.error()
                : !rights ? rights.error()
                          : Error{Code::bad_request, "a human has a name", "/name"});
    return;
  }
  const std::string id = "human:" + std::string(*name);
  const core::AgentRef found = call.tables().agents.find(id);
  const bool is_new = found == core::none || !call.tables().agents[found].is_registered();
  const Json rotating = body->find("rotate_token");
  const bool rotate = rotating && rotating.as_bool() == true;
  const std::string token = is_new || rotate ? lib::random_token() : std::string();
  core::Register command{.name = id, .kind = core::PrincipalKind::human, .rights = *rights};
  if (!is_new && !body->find("rights")) {
    command.rights = core::right_words(call.tables().agents[found].rights);
  }
  if (!token.empty()) {
    command.token = lib::sha256(token);
    command.only_token = rotate;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(id);
  if (!token.empty()) {
    out.key("token").text(token);
  }
  out.end_object();
  call.ask(std::move(command),
           [asker = call.asker(), text = std::move(text), made = !token.empty()](
               const core::Outcome& outcome, std::span<const core::Effect>) {
             if (outcome) {
               asker.respond(json_response(made ? 201 : 200, text));
             } else {
               asker.refuse(outcome.error());
             }
           });
}

}  // namespace

std::span<const Route> human_routes() {
  static const std::vector<Route> routes = {
      {"POST", "/v1/humans", add_human, {}, body_of({"name", "rights", "rotate_token"})},
  };
  return routes;
}

}  // namespace parley::edge
