// SPDX-License-Identifier: Apache-2.0
// The program that the MCP conformance suite is run against: `parley` with what the suite calls.
// The suite sends no token, so anyone who can connect may use /mcp. It is never released.
#include "app/cli.h"
#include "app/serve.h"
#include "edge/mcp/fixtures/fixtures.h"

namespace {

using namespace parley;

std::optional<edge::Principal> guest(const core::Machine& machine, const net::Request& request) {
  if (request.path != "/mcp" || !request.header("authorization").empty()) {
    return std::nullopt;
  }
  const core::Agents& agents = machine.find(core::workspace_first)->tables().agents;
  const core::AgentRef ref = agents.find(edge::mcp::fixtures_agent);
  if (ref == core::none || agents[ref].tokens.empty()) {
    return std::nullopt;
  }
  const core::Agent& agent = agents[ref];
  return edge::Principal{core::workspace_first, ref,          agent.name,
                         agent.kind,            agent.dialect, agent.rights,
                         agent.tokens.front(),  agent.registered};
}

}  // namespace

int main(int argc, char** argv) {
  const app::TestAccess access{
      .flag = "--mcp-fixtures",
      .help = "Offer at /mcp what the MCP conformance suite calls, and take calls there without a "
              "token; on loopback only",
      .agent = std::string(edge::mcp::fixtures_agent),
      .add = [](edge::Api::Options& options) {
        options.mcp_more = &edge::mcp::fixtures;
        options.guest = &guest;
      }};
  return app::run(app::take_arguments(argc, argv), &access);
}
