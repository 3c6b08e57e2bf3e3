// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <vector>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

// `850us`, `12.3ms`, `4.56s`, `2m05s`.
std::string short_duration(int64_t us) {
  char text[32];
  if (us < 1'000) {
    std::snprintf(text, sizeof text, "%lldus", static_cast<long long>(us));
  } else if (us < 1'000'000) {
    std::snprintf(text, sizeof text, "%.1fms", static_cast<double>(us) / 1e3);
  } else if (us < 60'000'000) {
    std::snprintf(text, sizeof text, "%.2fs", static_cast<double>(us) / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%lldm%02llds", static_cast<long long>(us / 60'000'000),
                  static_cast<long long>(us / 1'000'000 % 60));
  }
  return text;
}

std::string duration_of(Json object, std::string_view key) {
  const Json value = object.find(key);
  const auto us = value ? value.as_int64() : std::nullopt;
  return us ? short_duration(*us) : "...";
}

std::string tag_of(Json span, std::string_view key) {
  const Json tags = span.find("tags");
  return tags ? text_of(tags, key) : "";
}

// A span with its place in the tree.
struct SpanLine {
  Json span;
  size_t depth = 0;
  std::string branch;  // what stands before the operation
};

// The spans come in the order of the tree: what is below a span follows it, deeper than it.
std::vector<SpanLine> lines_of(Json spans) {
  std::vector<SpanLine> lines;
  for (const Json span : spans.elements()) {
    const Json depth = span.find("depth");
    lines.push_back({span, depth ? depth.as_uint64().value_or(0) : 0, ""});
  }
  // From the end: a level goes on below a line if a line of it comes before a shallower one.
  std::vector<bool> goes_on;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    goes_on.resize(std::max(goes_on.size(), line->depth + 1));
    for (size_t level = 1; level < line->depth; ++level) {
      line->branch += goes_on[level] ? "│  " : "   ";
    }
    if (line->depth > 0) {
      line->branch += goes_on[line->depth] ? "├─ " : "└─ ";
    }
    goes_on.resize(line->depth + 1);
    goes_on[line->depth] = true;
  }
  return lines;
}

// To the right, where figures of one unit stand below each other.
void align_right(std::vector<std::string>& texts) {
  size_t widest = 0;
  for (const std::string& text : texts) {
    widest = std::max(widest, text.size());
  }
  for (std::string& text : texts) {
    text.insert(0, widest - text.size(), ' ');
  }
}

void draw(Json spans) {
  const std::vector<SpanLine> lines = lines_of(spans);
  std::vector<std::string> starts;
  std::vector<std::string> durations;
  for (const SpanLine& line : lines) {
    starts.push_back("+" + duration_of(line.span, "offset_us"));
    durations.push_back(duration_of(line.span, "duration_us"));
  }
  align_right(starts);
  align_right(durations);
  Table table({"SPAN", "START", "DURATION", "STATUS", "WHAT"});
  for (size_t n = 0; n < lines.size(); ++n) {
    const Json span = lines[n].span;
    const bool is_message = text_of(span, "kind") == "message";
    const bool failed = text_of(span, "status") == "error";
    const std::string state = tag_of(span, "parley.state");
    const std::string what = is_message ? tag_of(span, "parley.type") + " " +
                                              tag_of(span, "messaging.message.id") + " from " +
                                              tag_of(span, "messaging.client.id")
                                        : state;
    table.add(
        {{lines[n].branch + text_of(span, "operation"), is_message ? Colour::bold : Colour::plain},
         {starts[n], Colour::dim},
         {durations[n], Colour::plain},
         {failed ? tag_of(span, "error.type") : "ok", failed ? Colour::red : Colour::green},
         {what, Colour::dim}});
  }
  std::printf("%s", table.render(wants_colours()).c_str());
}

int show(Json answer, const Given& /*given*/) {
  const std::string took =
      text_of(answer, "endTime").empty() ? "still going on" : duration_of(answer, "duration_us");
  std::printf("trace %s: %s messages, %s, %s\n", printable(text_of(answer, "traceId")).c_str(),
              text_of(answer, "messages").c_str(), took.c_str(), text_of(answer, "status").c_str());
  if (text_of(answer, "more") == "true") {
    std::printf("newer messages are left out\n");
  }
  if (const Json spans = answer.find("spans")) {
    draw(spans);
  }
  return 0;
}

}  // namespace

void add_trace(Command& app, int& exit_code) {
  add_route_command(app, exit_code,
                    {.name = "trace",
                     .help = "Draw what a message caused and how long each part took",
                     .example = "parley trace 4bf92f3577b34da6a3ce929d0e0e4736",
                     .arguments = {required("ID", "A trace, or a message of it")},
                     .call = "GET /v1/traces/{ID}",
                     .show = show});
}

}  // namespace parley::app
