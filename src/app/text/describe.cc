// SPDX-License-Identifier: Apache-2.0
#include "app/text/describe.h"

#include <array>

#include "app/text/terminal.h"
#include "core/conversation/sessions.h"

namespace parley::app {

namespace {

using namespace core;

constexpr std::array<std::string_view, 5> dialects = {"flow", "collab", "inbox", "superprompt",
                                                      "squad"};
constexpr std::array<std::string_view, 4> kinds = {"unknown", "agent", "human", "admin"};
constexpr std::array<std::string_view, 4> priorities = {"low", "normal", "high", "critical"};
constexpr std::array<std::string_view, 4> resolutions = {"pending", "retry", "discard", "escalate"};

// A name in quotes; one that holds control bytes must not rewrite the reader's terminal.
std::string quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped.push_back('\\');
    }
    escaped.push_back(c);
  }
  return "\"" + printable(escaped) + "\"";
}

std::string named(const Target& target) {
  return target.seq.n != 0 ? "#" + std::to_string(target.seq.n) : base::format_uuid(target.id);
}

std::string named(const StreamId& stream) { return "stream " + std::to_string(stream.number); }

std::string because(std::string_view reason) {
  return reason.empty() ? std::string() : ": " + quoted(reason);
}

// `, listens to "a.b" "a.c"`
std::string listens_to(const std::vector<std::string_view>& topics) {
  std::string text = topics.empty() ? "" : ", listens to";
  for (const std::string_view topic : topics) {
    text += " " + quoted(topic);
  }
  return text;
}

// What a command asks for, in words.
struct CommandText {
  std::string operator()(const Tick&) const { return "tick"; }
  std::string operator()(const StartNode& c) const { return "start node " + quoted(c.node); }
  std::string operator()(const AddWorkspace& c) const { return "add workspace " + quoted(c.name); }
  std::string operator()(const SetRules& c) const {
    std::string text = "set rules";
    for (const auto& [name, value] : c.values) {
      text += " " + std::string(name) + "=" + quoted(value);
    }
    return text;
  }
  std::string operator()(const Register& c) const {
    return "register " + std::string(kinds[static_cast<size_t>(c.kind)]) + " " + quoted(c.name) +
           " " + std::string(dialects[static_cast<size_t>(c.dialect)]) +
           (c.role.empty() ? "" : " as " + quoted(c.role)) +
           (c.token == TokenHash{} ? "" : ", new token") +
           (c.webhook.empty() ? "" : ", webhook " + quoted(c.webhook)) +
           (c.webhook_secret == WebhookSecret{} ? "" : ", new secret") +
           listens_to(c.subscriptions);
  }
  std::string operator()(const Unregister& c) const { return "unregister " + quoted(c.name); }
  std::string operator()(const Subscribe& c) const {
    return "subscribe " + quoted(c.topic) + (c.agent.empty() ? "" : " for " + quoted(c.agent));
  }
  std::string operator()(const Unsubscribe& c) const {
    return "unsubscribe " + quoted(c.topic) + (c.agent.empty() ? "" : " for " + quoted(c.agent));
  }
  std::string operator()(const Send& c) const {
    const Envelope& e = c.envelope;
    std::string text = "send " + base::format_uuid(e.id) + " to";
    for (const std::string_view receiver : e.receivers) {
      text += " " + quoted(receiver);
    }
    return text + ", " + std::string(dialects[static_cast<size_t>(e.dialect)]) + " " +
           quoted(e.type) + " " + std::string(priorities[static_cast<size_t>(e.priority)]) + ", " +
           std::to_string(e.body.size()) + " bytes";
  }
  std::string operator()(const Read& c) const { return "read " + named(c.target); }
  std::string operator()(const Take& c) const { return "take " + std::to_string(c.count_max); }
  std::string operator()(const Ack& c) const {
    return c.stream == stream_none ? "ack " + named(c.target)
                                   : "ack up to the mark " + std::to_string(c.upto.stream) + "-" +
                                         std::to_string(c.upto.number);
  }
  std::string operator()(const Nack& c) const {
    return "nack " + named(c.target) +
           (c.delay.us == 0 ? "" : " for " + base::format_duration(c.delay)) +
           (c.failed ? "" : ", no failure") + because(c.reason);
  }
  std::string operator()(const Reject& c) const {
    return "reject " + named(c.target) + because(c.reason);
  }
  std::string operator()(const Extend& c) const { return "extend " + named(c.target); }
  std::string operator()(const OpenStream& c) const {
    return "open " + named(c.stream) + ", window " + std::to_string(c.window);
  }
  std::string operator()(const CloseStream& c) const { return "close " + named(c.stream); }
  std::string operator()(const ResolveDeadLetter& c) const {
    return std::string(resolutions[static_cast<size_t>(c.resolution)]) + " dead letter " +
           std::to_string(c.id);
  }
  std::string operator()(const Heartbeat& c) const {
    return "heartbeat" + (c.status.empty() ? "" : " " + quoted(c.status)) +
           (c.task.empty() ? "" : " on " + quoted(c.task));
  }
  std::string operator()(const ResetLimits& c) const { return "reset " + quoted(c.name); }
  std::string operator()(const StopWaiting& c) const {
    return "stop waiting for " + std::to_string(c.message.n);
  }
  std::string operator()(const ResolveEscalation& c) const {
    return "resolve escalation " + std::to_string(c.id) + because(c.resolution);
  }
  std::string operator()(const Malformed& c) const {
    return "malformed message, " + std::to_string(c.text.size()) + " bytes" + because(c.error);
  }
  std::string operator()(const StartSession& c) const {
    return "start session " + quoted(c.id) + " with " + std::to_string(c.participants.size()) +
           " participants";
  }
  std::string operator()(const ChangeSession& c) const {
    return std::string(session_act_name(c.act)) + " in session " + quoted(c.id) +
           (c.version == 0 ? "" : " at version " + std::to_string(c.version)) + because(c.subject) +
           (is_entry(c.act) ? ", " + std::to_string(c.body.size()) + " bytes" : "");
  }
  std::string operator()(const TakeLock& c) const {
    return "take lock " + quoted(c.name) +
           (c.wait.us == 0 ? "" : ", waits " + base::format_duration(c.wait)) +
           (!c.fence          ? ""
            : c.fence->n == 0 ? ", anew"
                              : ", held since " + std::to_string(c.fence->n));
  }
  std::string operator()(const ReleaseLock& c) const { return "release lock " + quoted(c.name); }
  std::string operator()(const ReassignTask& c) const {
    return "reassign task " + quoted(c.task) +
           (c.thread.empty() ? "" : " of thread " + quoted(c.thread)) + " to " + quoted(c.to);
  }
  std::string operator()(const CloseThread& c) const { return "close thread " + quoted(c.thread); }
};

}  // namespace

std::string describe(const Entry& entry) {
  const std::string actor = entry.actor == broker_name ? "broker" : quoted(entry.actor);
  const auto workspace = static_cast<uint32_t>(entry.workspace);
  return "#" + std::to_string(entry.seq.n) + " " + base::format_time(entry.time) + " " +
         (workspace == 0 ? "" : "workspace " + std::to_string(workspace) + " ") + actor + " " +
         std::visit(CommandText{}, entry.command);
}

}  // namespace parley::app
