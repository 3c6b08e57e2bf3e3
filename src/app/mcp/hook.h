// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace parley::app {

// How a coding agent's hook hands text to its model. Claude Code, Codex and Gemini CLI agree; VS
// Code differs at the end of a turn, Cursor throughout.
enum class HookForm : uint8_t {
  text,             // plain: no event was named
  context,          // hookSpecificOutput.additionalContext: before a turn
  block,            // decision and reason: instead of the end of a turn
  vscode_block,     // the same, and once more in hookSpecificOutput, where VS Code looks
  cursor_context,   // additional_context
  cursor_followup,  // followup_message
  nothing,          // an event that has no place for mail
};

// What a hook's event on standard input says.
struct HookEvent {
  std::string name;  // `hook_event_name`
  HookForm form = HookForm::text;
  // The turn that ends was begun by a hook: to go on once more could go on for ever.
  bool is_repeated = false;
};

// Reads the event; `name` of the command line goes before its own. What is no JSON has no name.
HookEvent read_hook_event(std::string_view json, std::string_view name);

// The first `limit` messages of `inbox` (an answer of GET /v1/inbox) as text for a model, at most
// `mail_bytes_max` long; empty when there are none. What others wrote stands in quotes, one line
// each, between marks that no text can imitate, and is said to be data. `flags` are what a command
// line has to have, to act for the same agent at the same broker.
inline constexpr size_t mail_bytes_max = 8'000;
std::string mail_text(lib::Json inbox, size_t limit, std::string_view flags = {});

// A message as it was read: what its sender wrote, as JSON in any dialect, and what the broker says
// of it, as JSON, may be empty.
struct ReadMail {
  std::string message;
  std::string provenance;
};

// One whole message as a prompt for a model that is started for it: between the same marks, and
// said to be data, however long. The broker's word stands beside the message, not in it. `answers`:
// what the model says is sent back.
std::string mail_prompt(const ReadMail& mail, std::string_view from, std::string_view agent,
                        bool answers);

// What the hook prints: nothing when there is no text.
std::string hook_output(const HookEvent& event, std::string_view text);

// What it prints to tell the person that there was no answer. Empty where the client has no way.
std::string hook_notice(const HookEvent& event, std::string_view text);

}  // namespace parley::app
