// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

using lib::Json;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  std::string correlation;
  std::string agent;
  std::string state;
  uint64_t limit = 100;
};

std::string joined(Json names) {
  std::string text;
  for (const Json name : names ? names.elements() : Json::Elements()) {
    text += (text.empty() ? "" : ", ") + std::string(name.as_string().value_or(name.raw()));
  }
  return text;
}

Colour colour_of(const std::string& state) {
  return state == "active" ? Colour::yellow : state == "closed" ? Colour::dim : Colour::plain;
}

int list(const Options& options) {
  std::string path = "/v1/threads?limit=" + std::to_string(options.limit);
  for (const auto& [key, value] :
       {std::pair{"correlation_id", options.correlation}, std::pair{"agent", options.agent},
        std::pair{"state", options.state}}) {
    path += value.empty() ? "" : "&" + std::string(key) + "=" + encoded(value);
  }
  return ask_and_show(options.client, {"GET", path}, [](Json answer) {
    Table table({"THREAD", "STATE", "MESSAGES", "OWNER", "LAST ACTIVITY", "PARTICIPANTS"});
    const Json threads = answer.find("threads");
    for (const Json thread : threads ? threads.elements() : Json::Elements()) {
      const std::string state = text_of(thread, "state");
      constexpr size_t name_columns = 50;
      table.add({{text_of(thread, "id")},
                 {state, colour_of(state)},
                 {text_of(thread, "message_count")},
                 {text_of(thread, "owner")},
                 {text_of(thread, "last_activity"), Colour::dim},
                 {shortened(printable(joined(thread.find("participants"))), name_columns)}});
    }
    std::printf("%s", table.empty() ? "no threads\n" : table.render(wants_colours()).c_str());
    return 0;
  });
}

// A message of the tree that is drawn, and what stands before it.
struct Drawn {
  Json message;
  std::string indent;  // of its replies
  std::string branch;  // before the message itself
};

// Depth first, without recursion: a thread can be as deep as it is long.
void draw(Json messages) {
  std::map<std::string, Json> by_id;
  std::set<std::string> replies;
  for (const Json message : messages.elements()) {
    by_id.insert_or_assign(text_of(message, "id"), message);
    const Json children = message.find("children");
    for (const Json child : children ? children.elements() : Json::Elements()) {
      replies.emplace(child.as_string().value_or(""));
    }
  }
  for (const Json root : messages.elements()) {
    if (replies.contains(text_of(root, "id"))) {
      continue;
    }
    std::vector<Drawn> stack = {{root, "", ""}};
    while (!stack.empty()) {
      const Drawn at = std::move(stack.back());
      stack.pop_back();
      std::string line = text_of(at.message, "type") + " " + text_of(at.message, "id") + " " +
                         text_of(at.message, "sender") + " -> " +
                         joined(at.message.find("receivers")) + " " +
                         text_of(at.message, "timestamp");
      const std::string state = text_of(at.message, "state");
      std::printf("%s%s %s\n", at.branch.c_str(), printable(line).c_str(),
                  coloured(state, Colour::dim, wants_colours()).c_str());
      std::vector<Drawn> below;
      const Json children = at.message.find("children");
      for (const Json child : children ? children.elements() : Json::Elements()) {
        const auto found = by_id.find(std::string(child.as_string().value_or("")));
        if (found != by_id.end()) {
          below.push_back({found->second, at.indent + "│  ", at.indent + "├─ "});
        }
      }
      if (!below.empty()) {
        below.back().indent = at.indent + "   ";
        below.back().branch = at.indent + "└─ ";
      }
      stack.insert(stack.end(), below.rbegin(), below.rend());
    }
  }
}

int show(const Options& options) {
  return ask_and_show(
      options.client, {"GET", "/v1/threads/" + encoded(options.id)}, [](Json answer) {
        std::string line = "thread " + text_of(answer, "id") + ": " + text_of(answer, "state") +
                           ", " + text_of(answer, "message_count") + " messages, begun by " +
                           text_of(answer, "owner") + " " + text_of(answer, "created");
        if (const std::string closed = text_of(answer, "closed_at"); !closed.empty()) {
          line += ", closed by " + text_of(answer, "closed_by") + " " + closed;
        }
        std::printf("%s\n", printable(line).c_str());
        for (const auto& [key, title] : {std::pair{"participants", "participants"},
                                         std::pair{"correlation_ids", "correlation ids"}}) {
          if (const std::string names = joined(answer.find(key)); !names.empty()) {
            std::printf("%s: %s\n", title, printable(names).c_str());
          }
        }
        if (text_of(answer, "more") == "true") {
          std::printf("older messages are left out\n");
        }
        if (const Json messages = answer.find("messages")) {
          draw(messages);
        }
        return 0;
      });
}

int close(const Options& options) {
  const HttpCall call{"POST", "/v1/threads/" + encoded(options.id) + "/close", "{}", {}};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("closed thread %s\n", printable(options.id).c_str());
    return 0;
  });
}

}  // namespace

void add_thread(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* threads = app.add_subcommand("threads", "List conversations, newest first");
  threads->add_option("--correlation", options->correlation, "Only those with this correlation id");
  threads->add_option("--agent", options->agent, "Only those in which this agent takes part");
  threads->add_option("--state", options->state, "Only those that stand so")
      ->one_of({"created", "active", "resolved", "closed"});
  threads->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 500);
  add_client_options(*threads, options->client);
  add_example(*threads, "parley threads --state active");
  threads->callback([=, &exit_code] { exit_code = list(*options); });

  Command* thread = app.add_subcommand("thread", "Draw a conversation as a tree, or close it");
  thread->add_option("ID", options->id, "The thread: a message's conversation_id");
  add_client_options(*thread, options->client);
  add_example(*thread, "parley thread release-42");
  Command* closing = thread->add_subcommand("close", "Let no more be said in it");
  closing->add_option("ID", options->id, "The thread")->required();
  add_client_options(*closing, options->client);
  add_example(*closing, "parley thread close release-42");
  closing->callback([=, &exit_code] { exit_code = close(*options); });
  thread->callback([=, &exit_code] {
    if (thread->ran_subcommand()) {
      return;
    }
    if (options->id.empty()) {
      miss_argument("ID");
    }
    exit_code = show(*options);
  });
}

}  // namespace parley::app
