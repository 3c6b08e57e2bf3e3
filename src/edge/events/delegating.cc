// SPDX-License-Identifier: Apache-2.0
#include "edge/events/delegating.h"

#include "edge/api/submission.h"

namespace parley::edge::events {

using base::Code;
using base::Error;

std::expected<Principal, Error> find_supervisor(const Context& context, const std::string& name) {
  const core::Agents& agents = context.tables(core::workspace_first).agents;
  const core::AgentRef ref = agents.find(name);
  const bool is_there = ref != core::none && agents[ref].is_registered();
  if (!is_there || (agents[ref].kind != core::PrincipalKind::human &&
                    agents[ref].dialect != core::Dialect::superprompt)) {
    return std::unexpected(Error{
        Code::unavailable,
        "events are delegated in the name of \"" + name + "\" (github.as), " +
            (is_there ? "which does not speak superprompt" : "which is not registered") +
            "; run `parley agent add " + name +
            " --dialect superprompt --role orchestrator`, or set github.as, and deliver again",
        {}});
  }
  const core::Agent& agent = agents[ref];
  return Principal{core::workspace_first,      ref,          agent.name, agent.kind,
                   core::Dialect::superprompt, agent.rights, {},         agent.registered};
}

void send_delegation(Context& context, const Principal& supervisor, const Delegation& delegation,
                     node::Broker::Done done) {
  const dialect::Codec* const codec = dialect::find_codec(core::Dialect::superprompt);
  if (codec == nullptr) {
    done(std::unexpected(Error{Code::unsupported_dialect,
                               "this broker has no codec for superprompt, in which events are "
                               "delegated",
                               {}}),
         {});
    return;
  }
  const auto message = context.document.parse(delegation.text);
  if (!message) {
    done(std::unexpected(message.error()), {});
    return;
  }
  context.submissions->submit(supervisor, *codec, *message,
                              Submission{.via = core::Via::webhook,
                                         .idempotency_key = delegation.key,
                                         .traceparent = {},
                                         .tracestate = {}},
                              std::move(done));
}

}  // namespace parley::edge::events
