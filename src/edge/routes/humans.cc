// SPDX-License-Identifier: Apache-2.0
// People, who have tokens and rights of their own.
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/routes/routes.h"
#include "edge/webhooks/setting.h"
#include "edge/webhooks/webhooks.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

void add_human(Call& call) {
  Members body(call.body);
  const std::string_view name = body.needed_text("name", "a human has a name, a string");
  const std::vector<std::string_view> rights = body.texts("rights");
  const bool rotate = body.flag("rotate_token", false);
  const std::string id = "human:" + std::string(name);
  const core::AgentRef found = call.tables().agents.find(id);
  const bool is_new = found == core::none || !call.tables().agents[found].is_registered();
  const core::Agent* const before = is_new ? nullptr : &call.tables().agents[found];
  const WantedWebhook webhook = webhook_in(body, before, call.context->webhooks->reach());
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const std::string token = is_new || rotate ? lib::random_token() : std::string();
  core::Register command{.name = id,
                         .kind = core::PrincipalKind::human,
                         .rights = rights,
                         .webhook = webhook.url,
                         .webhook_secret = webhook.secret};
  if (!is_new && !body.find("rights")) {
    command.rights = core::right_words(before->rights);
  }
  if (!token.empty()) {
    command.token = lib::sha256(token);
    command.only_token = rotate;
  }
  std::string text = credentials_text(id, token, webhook.secret);
  call.ask(std::move(command), call.reply(std::move(text), token.empty() ? 200 : 201));
}

}  // namespace

std::span<const Route> human_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/humans",
       .handler = add_human,
       .body = body_with_secrets_of({"name", "rights", "rotate_token", "webhook"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
