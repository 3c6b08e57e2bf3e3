// SPDX-License-Identifier: Apache-2.0
#include "edge/files/active_thread.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"
#include "edge/files/names.h"
#include "edge/records.h"
#include "lib/json_writer.h"

namespace parley::edge::files {

namespace {

constexpr std::string_view mark_begin = "<!-- escalation ";
constexpr std::string_view opened_word = " opened -->";
constexpr std::string_view resolved_word = " resolved -->";
constexpr size_t line_bytes_max = 500;
constexpr size_t writing_max = 64;

std::string mark(uint64_t id, std::string_view word) {
  return std::string(mark_begin) + std::to_string(id) + std::string(word);
}

// In one line, and so that it makes no mark and no tag.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : base::cut(text, line_bytes_max)) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '<') {
      line += "&lt;";
    } else {
      line += byte < ' ' || byte == 0x7f ? ' ' : c;
    }
  }
  return line;
}

// `MSG-20260201-043500-esc7`, of the time when it came up.
std::string id_of(const core::Escalation& escalation) {
  std::string digits;
  for (const char c : base::format_time(escalation.since).substr(0, 19)) {
    if (c >= '0' && c <= '9') {
      digits += c;
    }
  }
  return "MSG-" + digits.substr(0, 8) + "-" + digits.substr(8) + "-esc" +
         std::to_string(escalation.id);
}

std::string heading(std::string_view word, base::Time at, std::string_view subject) {
  return "\n## " + std::string(word) + ": " + one_line(subject) +
         "\n\n- time: " + base::format_time(at) + "\n";
}

std::string item(std::string_view name, std::string_view text) {
  return text.empty() ? "" : "- " + std::string(name) + ": " + one_line(text) + "\n";
}

}  // namespace

std::string opened_lines(const core::Escalation& escalation, std::string_view subject) {
  return heading("ESCALATION " + std::to_string(escalation.id), escalation.since,
                 subject.empty() ? escalation.why : subject) +
         item("cause", core::cause_name(escalation.cause)) + item("agent", escalation.agent) +
         item("receiver", escalation.receiver) + item("why", escalation.why) +
         "- decide: `parley escalations resolve " + std::to_string(escalation.id) +
         " --resolution '...'`\n" + mark(escalation.id, opened_word) + "\n";
}

std::string resolved_lines(const core::Escalation& escalation) {
  return heading("RESOLVED " + std::to_string(escalation.id), escalation.resolved_at,
                 escalation.resolution) +
         item("resolved by", escalation.resolved_by) + mark(escalation.id, resolved_word) + "\n";
}

std::string escalation_message(const core::Escalation& escalation, std::string_view id,
                               std::string_view subject, std::string_view message,
                               std::string_view thread) {
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("id").text(id).key("timestamp").time(escalation.since);
  out.key("from").text(core::broker_sender).key("to").plain(human_directory);
  out.key("type").plain("escalation").key("priority").plain("P1");
  out.key("subject").text("ESCALATION: " + std::string(subject.empty() ? escalation.why : subject));
  out.key("body").object().key("reason").text(escalation.why);
  out.key("cause").plain(core::cause_name(escalation.cause));
  out.key("escalation").number(escalation.id);
  out.key("positions").array();
  for (const std::string& agent : {escalation.agent, escalation.receiver}) {
    if (!agent.empty()) {
      out.object().key("agent").text(agent).end_object();
    }
  }
  out.end_array().key("debate_log").array();
  if (!message.empty()) {
    out.text(message);
  }
  out.end_array().end_object();
  if (!thread.empty()) {
    out.key("thread_id").text(thread);
  }
  out.key("status").plain("escalated").end_object();
  return text + "\n";
}

void ActiveThread::read_back(std::string_view text) {
  std::set<uint64_t> resolved;
  for (size_t at = text.find(mark_begin); at != text.npos; at = text.find(mark_begin, at)) {
    at += mark_begin.size();
    const std::string_view rest = text.substr(at);
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (const auto id = base::parse_number(rest.substr(0, digits))) {
      if (rest.substr(digits).starts_with(opened_word)) {
        opened_.insert(*id);
      } else if (rest.substr(digits).starts_with(resolved_word)) {
        resolved.insert(*id);
      }
    }
  }
  std::ranges::set_difference(opened_, resolved, std::inserter(open_, open_.end()));
  has_read_ = true;
  follow();
}

bool ActiveThread::is_open(base::Seq seq) const {
  const core::Escalation* const found =
      context_.tables(core::workspace_first).escalations.find(seq.n & ~case_bit);
  return found != nullptr && found->is_open();
}

// What is newer than all that was looked at is new; of the others those that are open in the file
// may be resolved by now.
void ActiveThread::follow() {
  const core::Escalations& escalations = context_.tables(core::workspace_first).escalations;
  const auto& all = escalations.all();
  const bool is_new = !all.empty() && all.rbegin()->first > newest_;
  if (!has_read_ || is_following_ || (!is_new && escalations.open() == open_count_)) {
    return;
  }
  is_following_ = true;  // `write`, which may be called at once, comes back here
  open_count_ = escalations.open();
  for (auto at = all.upper_bound(newest_); at != all.end(); at = all.upper_bound(newest_)) {
    if (at->second.is_open() && writing_.size() >= writing_max) {
      break;  // `write` goes on
    }
    newest_ = at->first;
    if (at->second.is_open()) {
      open(at->first);
    } else {
      close(at->second);
    }
  }
  for (const uint64_t id : std::vector<uint64_t>(open_.begin(), open_.end())) {
    const core::Escalation* const found = escalations.find(id);
    if (found == nullptr) {
      open_.erase(id);  // the engine has forgotten it
    } else if (!found->is_open()) {
      close(*found);
    }
  }
  is_following_ = false;
}

void ActiveThread::open(uint64_t id) {
  writing_.insert(id);
  const core::Escalation* const found = context_.tables(core::workspace_first).escalations.find(id);
  context_.broker.records().warm({found->about}, [this, id] { write(id); });
}

void ActiveThread::close(const core::Escalation& escalation) {
  work_(Settle{std::string(human_directory), place_of(escalation.id)});
  if (open_.erase(escalation.id) > 0) {
    work_(Append{std::string(active_thread_file), resolved_lines(escalation)});
  }
}

// A message to people that is an escalation by itself lies with them already.
void ActiveThread::write(uint64_t id) {
  writing_.erase(id);
  const core::Tables& t = context_.tables(core::workspace_first);
  const core::Escalation* const escalation = t.escalations.find(id);
  if (escalation == nullptr) {
    return;
  }
  const auto about = envelope_at(context_.broker, core::workspace_first, escalation->about);
  const std::string subject(about ? about->subject : std::string_view{});
  const bool is_known =
      about && about->kind == core::Kind::escalation &&
      std::ranges::any_of(about->receivers, [&](std::string_view name) {
        const core::AgentRef ref = t.agents.find(name);
        return ref != core::none && t.agents[ref].kind == core::PrincipalKind::human;
      });
  if (escalation->is_open() && !is_known) {
    const std::string name = id_of(*escalation);
    work_(Put{std::string(human_directory), place_of(id), name,
              escalation_message(*escalation, name, subject,
                                 about ? dialect::id_in(core::Dialect::squad, *about) : "",
                                 about ? about->thread : "")});
  }
  if (opened_.insert(id).second) {
    open_.insert(id);
    work_(Append{std::string(active_thread_file), opened_lines(*escalation, subject)});
  }
  if (!escalation->is_open()) {
    close(*escalation);
  }
  follow();
}

}  // namespace parley::edge::files
