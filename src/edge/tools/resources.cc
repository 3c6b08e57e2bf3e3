// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/resources.h"

#include <algorithm>
#include <variant>

#include "core/topics/broker_topics.h"
#include "edge/api/api.h"
#include "edge/gate.h"
#include "net/uri.h"

namespace parley::edge::tools {

namespace {

using mcp::CallContext;
using mcp::Client;

constexpr std::string_view inbox_uri = "parley://inbox";
constexpr std::string_view agents_uri = "parley://agents";
constexpr std::string_view threads_uri = "parley://threads/";
constexpr size_t names_max = 1'000;
constexpr size_t threads_max = 10'000;  // a completion looks at no more

// The names of open threads that the caller takes part in.
std::vector<std::string> threads_of(const node::Broker& broker, const Client& client,
                                    std::string_view begin) {
  std::vector<std::string> names;
  const core::Workspace* workspace = broker.machine().find(client.principal.workspace);
  if (workspace == nullptr) {
    return names;
  }
  const core::Threads& threads = workspace->tables().threads;
  size_t seen = 0;
  for (const auto standing : {core::Threads::Standing::active, core::Threads::Standing::idle}) {
    for (auto ref = threads.first(standing); ref != core::none && seen < threads_max;
         ref = threads.next(ref), ++seen) {
      const core::Thread& thread = threads[ref];
      if (thread.name.starts_with(begin) && may_see(client.principal, thread)) {
        names.push_back(thread.name);
      }
    }
  }
  std::ranges::sort(names);
  return names;
}

// A message changes the thread for its sender and its receivers.
void notify_of_thread(const core::Tables& tables, core::WorkspaceId id, const core::Entry& entry,
                      const core::Receipt& receipt, mcp::Server& server) {
  const auto& envelope = std::get<core::Send>(entry.command).envelope;
  if (envelope.thread.empty()) {
    return;
  }
  const std::string uri = std::string(threads_uri) + net::percent_encoded(envelope.thread);
  server.updated(id, envelope.sender, uri);
  if (const core::MessageRef ref = tables.messages.find(receipt.message); ref != core::none) {
    for (core::DeliveryRef at = tables.messages.message(ref).deliveries; at != core::none;
         at = tables.messages.delivery(at).sibling) {
      server.updated(id, tables.agents[tables.messages.delivery(at).receiver].name, uri);
    }
  }
}

}  // namespace

std::vector<std::string> names_of_agents(const node::Broker& broker, const Client& client,
                                         std::string_view begin) {
  std::vector<std::string> names;
  const core::Workspace* workspace = broker.machine().find(client.principal.workspace);
  if (workspace == nullptr) {
    return names;
  }
  workspace->tables().agents.each([&](const core::Agent& agent) {
    const bool can_answer =
        agent.kind == core::PrincipalKind::agent || agent.kind == core::PrincipalKind::human;
    if (can_answer && agent.name.starts_with(begin) && agent.name != client.principal.name) {
      names.push_back(agent.name);
    }
  });
  std::ranges::sort(names);
  names.resize(std::min(names.size(), names_max));
  return names;
}

void add_resources(node::Broker& broker, const std::shared_ptr<Tools>& tools,
                   mcp::Features& features) {
  features.resources.push_back(
      {.uri = std::string(inbox_uri),
       .name = "inbox",
       .title = "Your inbox",
       .description = "What waits for you, most urgent first.",
       .read = [tools](const CallContext& context) { tools->read_inbox(context); },
       .subscribable = true});
  features.resources.push_back(
      {.uri = std::string(agents_uri),
       .name = "agents",
       .title = "Agents and humans",
       .description = "Who is there, what they can do, how busy they are.",
       .read = [tools](const CallContext& context) { tools->read_agents(context); },
       .subscribable = true});
  features.templates.push_back(
      {.uri = std::string(threads_uri) + "{id}",
       .name = "thread",
       .title = "A conversation",
       .description = "Its messages as a tree, for those who take part in it.",
       .read = [tools](const CallContext& context) { tools->read_thread(context); },
       .complete = [&broker](const Client& client, std::string_view,
                             std::string_view begin) { return threads_of(broker, client, begin); },
       .subscribable = true});
}

void watch_resources(node::Broker& broker, mcp::Server& server) {
  broker.observe([&broker, &server](const core::Entry& entry, const core::Outcome& outcome,
                                    std::span<const core::Effect> effects) {
    const core::Workspace* workspace = broker.machine().find(entry.workspace);
    // This runs for every entry, so it costs nothing where nobody subscribes.
    if (!server.has_subscribers() || workspace == nullptr || !outcome) {
      return;
    }
    const core::Tables& tables = workspace->tables();
    const auto inbox_of = [&](const auto& effect) {
      server.updated(entry.workspace, tables.agents[effect.receiver].name, inbox_uri);
    };
    for (const core::Effect& effect : effects) {
      if (const auto* mail = std::get_if<core::Mail>(&effect)) {
        inbox_of(*mail);
      } else if (const auto* deliver = std::get_if<core::Deliver>(&effect)) {
        inbox_of(*deliver);
      } else if (const auto* settled = std::get_if<core::Settled>(&effect)) {
        inbox_of(*settled);
      }
    }
    if (const auto* send = std::get_if<core::Send>(&entry.command)) {
      notify_of_thread(tables, entry.workspace, entry, *outcome, server);
      // The broker publishes changes of presence on this topic.
      const auto& to = send->envelope.receivers;
      if (std::ranges::find(to, core::broker_topics::availability_topic) != to.end()) {
        server.updated(entry.workspace, {}, agents_uri);
      }
    } else if (std::holds_alternative<core::Register>(entry.command) ||
               std::holds_alternative<core::Unregister>(entry.command)) {
      server.updated(entry.workspace, {}, agents_uri);
    }
  });
}

}  // namespace parley::edge::tools
