// SPDX-License-Identifier: Apache-2.0
// The trace of a message, drawn from the history.
#include "view/traces.h"
#include "base/trace.h"
#include "edge/api/context.h"
#include "edge/api/history.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;
using view::Questions;
using view::Reader;
using view::Span;

std::string_view word_of(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::message:
      return "message";
    case Span::Kind::queue:
      return "queue";
    case Span::Kind::process:
      return "process";
  }
  return {};
}

void render_span(const std::vector<Span>& spans, const view::Branch& branch, base::Time start,
                 JsonWriter& out) {
  const Span& span = spans[branch.span];
  out.object().key("traceId").plain(base::format_trace_id(span.trace));
  out.key("spanId").plain(base::format_span_id(span.id));
  if (span.parent != 0) {
    out.key("parentSpanId").plain(base::format_span_id(span.parent));
  }
  if (span.link) {
    out.key("links").array().object();
    out.key("traceId").plain(base::format_trace_id(span.link->trace));
    out.key("spanId").plain(base::format_span_id(span.link->span)).end_object().end_array();
  }
  out.key("kind").plain(word_of(span.kind)).key("operation").text(span.operation);
  out.key("startTime").time(span.start).key("offset_us").number((span.start - start).us);
  if (span.end) {
    out.key("endTime").time(*span.end);
    out.key("duration_us").number((*span.end - span.start).us);
  }
  out.key("status").plain(span.failed ? "error" : "ok");
  out.key("tags").object();
  for (const Span::Tag& tag : span.tags) {
    out.key(tag.key).text(tag.text);
  }
  out.end_object().key("logs").array();
  for (const Span::Log& log : span.logs) {
    out.object().key("time").time(log.time).key("event").text(log.event);
    if (!log.detail.empty()) {
      out.key("detail").text(log.detail);
    }
    out.end_object();
  }
  out.end_array().key("depth").number(uint64_t{branch.depth}).key("children").array();
  for (const size_t child : branch.children) {
    out.plain(base::format_span_id(spans[child].id));
  }
  out.end_array().end_object();
}

// Who subscribes to a topic is named to those who look after it, and to itself.
void hide_subscribers(view::Trace& trace, std::string_view caller) {
  for (view::TracedMessage& traced : trace.messages) {
    const auto envelope = envelope_of(traced.message);
    if (!envelope || !view::is_on_topic(*envelope, traced.receivers.listed)) {
      continue;
    }
    size_t number = 0;
    for (view::StoredDelivery& delivery : traced.receivers.listed) {
      ++number;
      if (delivery.receiver != caller) {
        delivery.receiver = "subscriber " + std::to_string(number);
      }
    }
  }
}

std::string trace_text(const view::Trace& trace) {
  std::vector<Span> spans;
  base::Time start = base::time_max;
  base::Time end;
  bool failed = false;
  bool open = false;
  for (const view::TracedMessage& message : trace.messages) {
    for (Span& span : view::spans_of(message)) {
      start = std::min(start, span.start);
      end = std::max(end, span.end.value_or(span.start));
      failed = failed || span.failed;
      open = open || !span.end;
      spans.push_back(std::move(span));
    }
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("traceId").plain(base::format_trace_id(trace.id));
  out.key("messages").number(uint64_t{trace.messages.size()}).key("more").boolean(trace.more);
  if (!spans.empty()) {
    out.key("startTime").time(start);
    if (!open) {
      out.key("endTime").time(end).key("duration_us").number((end - start).us);
    }
  }
  out.key("status").plain(failed ? "error" : "ok").key("spans").array();
  for (const view::Branch& branch : view::tree_of(spans)) {
    render_span(spans, branch, start, out);
  }
  out.end_array().end_object();
  return text;
}

// By trace id, else by that of a message.
std::expected<std::optional<view::Trace>, Error> find(Reader& reader, const Reader::Viewer& viewer,
                                                      const std::optional<base::Id128>& trace,
                                                      const core::Target& message) {
  if (trace) {
    auto found = view::find_trace(reader, viewer, *trace);
    if (!found || *found) {
      return found;
    }
  }
  return view::find_trace(reader, viewer, message);
}

void show_trace(Call& call) {
  const auto trace = base::parse_trace_id(call.arguments[0]);
  const auto message = trace ? std::expected<core::Target, Error>(core::Target{.id = *trace})
                             : call.target(Names::First::received);
  if (!message) {
    call.refuse(
        Error{Code::bad_request,
              "a trace is named by its 32 digits, or by a message of it: " + message.error().detail,
              {}});
    return;
  }
  call.context->history->ask(
      call,
      [asker = call.asker(), trace, message = *message,
       sees_all = sees_subscribers(call.tables(), call.caller)](
          Reader& reader) -> std::expected<Questions::Answer, Error> {
        auto found = find(reader, viewer_of(asker.caller), trace, message);
        if (!found) {
          return std::unexpected(found.error());
        }
        if (!*found || (*found)->messages.empty()) {
          return std::unexpected(
              Error{Code::not_found, "there is no such trace in which you take part", {}});
        }
        if (!sees_all) {
          hide_subscribers(**found, asker.caller.name);
        }
        return [asker, text = trace_text(**found)] { asker.respond(json_response(200, text)); };
      });
}

}  // namespace

std::span<const Route> trace_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET", .pattern = "/v1/traces/{}", .handler = show_trace, .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
