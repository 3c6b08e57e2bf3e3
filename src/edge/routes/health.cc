// SPDX-License-Identifier: Apache-2.0
// How the broker is, its figures, and the description of its interface.
#include "edge/api/context.h"
#include "edge/api/openapi.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"
#include "view/runner.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;

void health(Call& call) {
  const core::Tables& t = call.tables();
  std::string text;
  JsonWriter out(text);
  const bool alarmed = t.dead_letters.alerts() > 0 &&
                       t.dead_letters.alerted() + t.rules.dead_letter_alert_window > call.now();
  out.object().key("status");
  const node::Node& node = call.broker().node();
  const bool degraded = alarmed || node.warnings().snapshot || node.warnings().room;
  out.plain(node.trouble() ? "failing" : degraded ? "degraded" : "healthy");
  if (node.trouble()) {
    out.key("trouble").text(node.trouble()->detail);
  }
  if (node.warnings().room) {
    out.key("disk_trouble").text(node.warnings().room->detail);
  }
  if (node.warnings().snapshot) {
    out.key("snapshot_trouble").text(node.warnings().snapshot->detail);
  }
  out.key("version").text(call.context->version).key("time").time(call.now());
  const bool oversees = oversees_broker(call.caller);
  if (oversees) {
    out.key("seq").number(call.broker().machine().seq().n);
  }
  out.key("agents").number(uint64_t{t.agents.registered()});
  out.key("messages").number(uint64_t{t.messages.size()});
  out.key("streams").number(uint64_t{t.streams.size()});
  out.key("dead_letters").object();
  out.key("total").number(uint64_t{t.dead_letters.size()});
  out.key("pending").number(uint64_t{t.dead_letters.pending()});
  out.key("dropped").number(t.dead_letters.dropped());
  out.key("open").number(uint64_t{t.dead_letters.open()});
  out.key("alerts").number(t.dead_letters.alerts());
  if (t.dead_letters.alerts() > 0) {
    out.key("alerted_at").time(t.dead_letters.alerted());
  }
  if (call.caller.is_maintainer()) {
    out.key("newest").array();
    size_t listed = 0;
    for (auto at = t.dead_letters.all().rbegin(); at != t.dead_letters.all().rend() && listed < 10;
         ++at, ++listed) {
      render_dead_letter(t, at->second, out);
    }
    out.end_array();
  }
  out.end_object();
  if (call.context->view != nullptr) {
    view::Feed& feed = call.context->view->feed();
    out.key("history").object();
    if (oversees) {
      out.key("seq").number(feed.position().n).key("behind").number(feed.lag().entries);
    }
    if (const auto trouble = feed.trouble()) {
      out.key("trouble").text(trouble->detail);
    }
    out.end_object();
  }
  out.end_object();
  call.respond(json_response(200, std::move(text)));
}

// The figures are of all workspaces, so they are for those who look after the broker.
void show_metrics(Call& call) {
  net::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body =
      call.context->metrics.text(call.broker().machine(), call.context->gauges, call.now());
  call.respond(std::move(response));
}

void describe(Call& call) { call.respond(json_response(200, std::string(openapi()))); }

void alive(Call& call) { call.respond(json_response(200, R"({"status":"alive"})")); }

void ready(Call& call) {
  const node::Node& node = call.broker().node();
  if (const auto& trouble = node.trouble() ? node.trouble() : node.warnings().room) {
    call.refuse(*trouble);
  } else {
    call.respond(json_response(200, R"({"status":"ready"})"));
  }
}

}  // namespace

std::span<const Route> health_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET", .pattern = "/v1/health", .handler = health, .who = Who::principal},
      {.method = "GET", .pattern = "/metrics", .handler = show_metrics, .who = Who::overseer},
      {.method = "GET", .pattern = "/openapi.json", .handler = describe, .who = Who::anyone},
      {.method = "GET", .pattern = "/livez", .handler = alive, .who = Who::anyone},
      {.method = "GET", .pattern = "/readyz", .handler = ready, .who = Who::anyone},
  };
  return routes;
}

}  // namespace parley::edge
