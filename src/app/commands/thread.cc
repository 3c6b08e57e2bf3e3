// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"
#include "core/conversation/threads.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell state_of(Json thread) {
  const std::string state = text_of(thread, "state");
  return {state, state == "active"   ? Colour::yellow
                 : state == "closed" ? Colour::dim
                                     : Colour::plain};
}

Table::Cell participants_of(Json thread) {
  constexpr size_t name_columns = 50;
  return {shortened(printable(joined(thread.find("participants"))), name_columns)};
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
    for (const Json child : message.find("children").elements()) {
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
      for (const Json child : at.message.find("children").elements()) {
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

int show(Json answer, const Given& /*given*/) {
  // Who takes no part in it sees some of its messages, and not how it stands.
  const std::string state = text_of(answer, "state");
  const std::string owner = text_of(answer, "owner");
  std::string line = "thread " + text_of(answer, "id") + ": " + (state.empty() ? "a part" : state) +
                     ", " + text_of(answer, "message_count") + " messages, " +
                     (owner.empty() ? "since " : "begun by " + owner + " ") +
                     text_of(answer, "created");
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
}

}  // namespace

void add_thread(Command& app, int& exit_code) {
  add_route_command(
      app, exit_code,
      {.name = "threads",
       .help = "List conversations, newest first",
       .example = "parley threads --state active",
       .arguments = {{.name = "--correlation", .help = "Only those with this correlation id"},
                     {.name = "--agent", .help = "Only those in which this agent takes part"},
                     {.name = "--state",
                      .help = "Only those that stand so",
                      .words = words_of(core::thread_state_words.all())},
                     limit_of(500)},
       .call = "GET /v1/threads?limit={--limit}&correlation_id={--correlation}&agent={--agent}"
               "&state={--state}",
       .show = lists("threads", "no threads",
                     {{"THREAD", member("id")},
                      {"STATE", state_of},
                      {"MESSAGES", member("message_count")},
                      {"OWNER", member("owner")},
                      {"LAST ACTIVITY", member("last_activity", Colour::dim)},
                      {"PARTICIPANTS", participants_of}})});
  const RouteCommand close{.name = "close",
                           .help = "Let no more be said in it",
                           .example = "parley thread close release-42",
                           .arguments = {required("ID", "The thread")},
                           .call = "POST /v1/threads/{ID}/close",
                           .body = Body{},
                           .show = says("closed thread {ID}")};
  add_route_command(
      app, exit_code,
      {.name = "thread",
       .help = "Draw a conversation as a tree, or close it",
       .example = "parley thread release-42",
       .arguments = {{.name = "ID", .help = "The thread: a message's conversation_id"}},
       .call = "GET /v1/threads/{ID}",
       .show = show,
       .subcommands = {close}});
}

}  // namespace parley::app
