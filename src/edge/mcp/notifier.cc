// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/notifier.h"

#include <string>
#include <utility>

#include "edge/mcp/rpc.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::JsonWriter;

std::string_view method_of(ChangeNotice::Kind kind) {
  switch (kind) {
    case ChangeNotice::Kind::tools:
      return "notifications/tools/list_changed";
    case ChangeNotice::Kind::prompts:
      return "notifications/prompts/list_changed";
    case ChangeNotice::Kind::resources:
      return "notifications/resources/list_changed";
    case ChangeNotice::Kind::updated:
      break;
  }
  return "notifications/resources/updated";
}

}  // namespace

void Notifier::updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri) {
  const bool is_wanted = state_.subscriptions.updated(workspace, agent, uri);
  state_.notices_due = is_wanted || state_.notices_due;
}

void Notifier::list_changed(ChangeNotice::Kind list) {
  state_.notices_due = true;
  // A session of the legacy era hears of every list; a listening stream names those it wants.
  for (const auto& [id, session] : state_.sessions.all()) {
    state_.subscriptions.add_notice(session->number, {list});
  }
  for (const auto& [number, stream] : state_.streams.all()) {
    if (stream->lists.contains(list)) {
      state_.subscriptions.add_notice(number, {list});
    }
  }
}

void Notifier::send_due() {
  if (std::exchange(state_.notices_due, false)) {
    state_.notices_due =
        state_.subscriptions.flush([this](uint64_t subscriber, const ChangeNotice& notice) {
          return send(subscriber, notice);
        });
  }
}

// False when the subscriber has no stream now, or the stream has no room: the notice is kept.
bool Notifier::send(uint64_t subscriber, const ChangeNotice& notice) {
  const McpSession* const session = state_.sessions.find(subscriber);
  ResponseStream* const stream =
      state_.streams.find(session == nullptr ? subscriber : session->stream);
  if (stream == nullptr || !stream->exchange) {
    return false;
  }
  std::string params;
  JsonWriter out(params);
  out.object();
  if (stream->kind == ResponseStream::Kind::listen) {
    out.key("_meta").object().key("io.modelcontextprotocol/subscriptionId");
    out.raw(stream->id).end_object();
  }
  if (notice.kind == ChangeNotice::Kind::updated) {
    out.key("uri").text(notice.uri);
  }
  out.end_object();
  return transport_.send(*stream, notification_text(method_of(notice.kind), params));
}

}  // namespace parley::edge::mcp
