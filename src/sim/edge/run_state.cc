// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/run_state.h"

#include <algorithm>

#include "sim/client/agent.h"
#include "sim/edge/host.h"
#include "sim/edge/schemas.h"

namespace parley::edge_sim {

using sim::text;

void RunState::fail(std::string_view check, std::string detail) {
  if (!fault) {
    setting.note(text("FAILS `{}`: {}", check, detail));
    fault = Fault{std::string(check), std::move(detail)};
  }
}

void RunState::cut(Wire& wire) {
  each_marker(wire.unheard(), [this](std::string_view marker) { cut_off.emplace(marker); });
}

void RunState::lose(Wire& wire) {
  cut(wire);
  BytePipe& pipe = wire.pipe();
  pipe.up.resize(random().below(pipe.up.size() + 1));
  pipe.down.resize(random().below(pipe.down.size() + 1));
  pipe.client_gone = true;
  pipe.server_gone = true;  // As the client sees it.
  wire.pump(SIZE_MAX);
}

std::shared_ptr<BytePipe> RunState::connect(const std::string& reader) {
  auto pipe = std::make_shared<BytePipe>();
  pipe->notebook = keeps_notebooks && !reader.empty() ? &notebooks[reader] : nullptr;
  ++connections;
  host.connect(pipe);
  return pipe;
}

Agent* RunState::find(std::string_view name) const {
  const auto at =
      std::ranges::find_if(agents, [&](const auto& agent) { return agent->name() == name; });
  return at == agents.end() ? nullptr : at->get();
}

std::string RunState::new_marker(std::string_view sender, const std::set<std::string>& seen_by) {
  const std::string marker = text("~{}-{}~", sender, ++last_marker);
  readers[marker] = seen_by;
  readers[marker].insert(std::string(sender));
  return marker;
}

bool RunState::may_read(const std::string& reader, const std::set<std::string>& seen_by) const {
  const bool is_admin = reader == "*";  // Who runs the broker sees all.
  return is_admin || seen_by.contains(reader) || seen_by.contains("*") ||
         std::ranges::any_of(seen_by, [&](const std::string& each) {
           const auto topic = subscribers.find(each);
           return topic != subscribers.end() && topic->second.contains(reader);
         });
}

void RunState::read(std::string_view reader, std::string_view words) {
  each_marker(words, [&](std::string_view marker) {
    const auto at = readers.find(std::string(marker));
    if (at != readers.end() && !may_read(std::string(reader), at->second)) {
      const auto guard = guards.find(std::string(marker));
      fail(guard == guards.end() ? "privacy" : guard->second,
           text("{} reads {}, which is not for it: {}", reader, marker, words.substr(0, 600)));
    }
  });
}

void RunState::hear(std::string_view reader, const Ask& ask, const Reply& reply) {
  if (reply.lost) {
    return;
  }
  read(reader, reply.body);
  const std::string wrong = published_schemas().answer_fault(
      ask.method, ask.target, reply.status, reply.header("content-type"), reply.body);
  if (!wrong.empty()) {
    fail("schema", text("{} asks {} {} and is answered {}: {}: {}", reader, ask.method, ask.target,
                        reply.status, wrong, reply.body.substr(0, 600)));
  }
}

void RunState::check_message(std::string_view reader, std::string_view dialect, lib::Json message) {
  const std::string wrong = published_schemas().message_fault(dialect, message);
  if (!wrong.empty()) {
    fail("schema", text("{} gets a message that is none of {}: {}: {}", reader, dialect, wrong,
                        message.raw().substr(0, 600)));
  }
}

}  // namespace parley::edge_sim
