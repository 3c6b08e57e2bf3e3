// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/machine/scenario_test.h"
#include "core/machine/tables.h"

// The words for sessions, locks and tasks.
namespace parley::core::testing {

// `active 3 ana bo`: status, version, participants.
inline std::string session_words(const Tables& t, std::string_view id) {
  const Session* const session = t.sessions.find(id);
  if (session == nullptr) {
    return "none";
  }
  return std::string(session_status_words[session->status]) + " " +
         std::to_string(session->version) + " " + join(session->participants);
}

// `2 ana add_decision 3 bo add_finding`: every entry with its version and who made it.
inline std::string entry_words(const Tables& t, std::string_view id) {
  std::vector<std::string> words;
  if (const Session* const session = t.sessions.find(id)) {
    for (const SessionChange& change : session->entries) {
      words.push_back(std::to_string(change.version));
      words.push_back(change.by);
      words.emplace_back(session_act_name(change.act));
    }
  }
  return join(words);
}

// The same of what was done to participants and status.
inline std::string change_words(const Tables& t, std::string_view id) {
  std::vector<std::string> words;
  if (const Session* const session = t.sessions.find(id)) {
    for (const SessionChange& change : session->changes) {
      words.push_back(std::to_string(change.version));
      words.push_back(change.by.empty() ? "system" : change.by);
      words.emplace_back(session_act_name(change.act));
    }
  }
  return join(words);
}

// `build ana bo deploy cy`: each lock, its owner, and who waits in line.
inline std::string lock_words(const Tables& t) {
  std::vector<std::string> words;
  for (const auto& [name, lock] : t.locks.all()) {
    words.push_back(name);
    words.push_back(lock.owner);
    for (const Lock::Waiter& waiter : lock.line) {
      words.push_back(waiter.agent);
    }
  }
  return join(words);
}

// `in_progress bo 1 reports`: how it stands, who has it, and what was said of it. Without a thread
// the newest.
inline std::string task_words(const Tables& t, std::string_view id, std::string_view director,
                              std::string_view thread) {
  const Task* task = nullptr;
  for (const Task* const each : t.tasks.named({.id = id})) {
    const bool fits = each->director == director && (thread.empty() || each->thread == thread);
    task = fits ? each : task;
  }
  if (task == nullptr) {
    return "none";
  }
  std::vector<std::string> words = {std::string(task_state_words[task->state]), task->specialist};
  if (task->reports > 0) {
    words.push_back(std::to_string(task->reports) + " reports");
  }
  if (task->errors > 0) {
    words.push_back(std::to_string(task->errors) + " errors");
  }
  if (!task->moves.empty()) {
    words.push_back("from " + task->moves.back().from);
  }
  return join(words);
}

// `SESSION ACT [SUBJECT] [at VERSION]`, the act as the API calls it, or `add` and `remove`.
inline ChangeSession session_change_in(Words& words, std::string& body) {
  ChangeSession command;
  command.id = words.next();
  const std::string_view act = words.next();
  for (uint8_t n = 0; n <= static_cast<uint8_t>(session_act_last); ++n) {
    const std::string_view name = session_act_name(static_cast<SessionAct>(n));
    if (act == name || "add_" + std::string(act) == name ||
        std::string(act) + "_participant" == name) {
      command.act = static_cast<SessionAct>(n);
    }
  }
  if (is_entry(command.act)) {
    body = words.next();
    if (body == "bytes") {
      body.assign(std::stoul(std::string(words.next())), 'x');
    }
    command.body = body;
  } else if (command.act <= SessionAct::remove_participant || words.accept("saying")) {
    command.subject = words.next();
  }
  if (words.accept("at")) {
    command.version = std::stoul(std::string(words.next()));
  }
  return command;
}

}  // namespace parley::core::testing
