// SPDX-License-Identifier: Apache-2.0
#include "dialect/tracing.h"

#include "base/trace.h"

namespace parley::dialect {

KeptTrace read_trace(lib::Json parent, lib::Json state, Envelope& envelope) {
  KeptTrace kept;
  if (parent) {
    const auto text = parent.as_string();
    const auto read = text ? base::parse_traceparent(*text) : std::nullopt;
    kept.parent = !read || base::format_traceparent(*read) != *text;
    if (read) {
      envelope.trace_id = read->trace_id;
      envelope.parent_span_id = read->span_id;
      envelope.trace_sampled = read->sampled;
      envelope.trace_in_message = true;
    }
  }
  if (state) {
    const auto text = state.as_string();
    kept.state = !envelope.trace_in_message || !text || !base::is_tracestate(*text);
    if (!kept.state) {
      envelope.tracestate = *text;
    }
  }
  return kept;
}

WrittenTrace trace_for(const Envelope& e, EncodeContext::Trace trace) {
  using Trace = EncodeContext::Trace;
  WrittenTrace written;
  written.is_own = !e.trace_id.is_none() &&
                   (trace == Trace::own || (trace == Trace::own_if_sent && e.trace_in_message));
  if (written.is_own || e.trace_in_message) {
    written.parent = base::format_traceparent(
        {e.trace_id, written.is_own ? base::message_span(e.id, e.sender) : e.parent_span_id,
         e.trace_sampled});
  }
  return written;
}

}  // namespace parley::dialect
