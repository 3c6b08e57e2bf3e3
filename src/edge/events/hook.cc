// SPDX-License-Identifier: Apache-2.0
#include "edge/events/hook.h"

#include <algorithm>

#include "base/secrets/secrets.h"
#include "base/size.h"
#include "base/text.h"
#include "edge/answers/receipt.h"
#include "edge/api/context.h"
#include "edge/events/delegating.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge::events {

namespace {

using base::Code;

constexpr std::string_view path = "/hooks/github";
constexpr std::string_view signature_begin = "sha256=";
constexpr size_t signature_digits = 64;
constexpr size_t header_bytes_max = 128;  // of the names of an event and of a delivery

bool has_signature_form(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  return text.size() == signature_begin.size() + signature_digits &&
         text.starts_with(signature_begin) &&
         text.find_first_not_of(digits, signature_begin.size()) == text.npos;
}

// Of a request that says its length; one of an unknown length is too long.
bool is_short(const net::Request& request, size_t bytes_max) {
  const auto length = base::parse_number(request.header("content-length"));
  return length && *length <= bytes_max;
}

// A name in a header: visible characters of ASCII.
bool is_header_name(std::string_view text) {
  return !text.empty() && text.size() <= header_bytes_max &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

void reply_ignored(const Asker& asker, std::string_view reason) {
  std::string text;
  lib::JsonWriter(text)
      .object()
      .key("state")
      .plain("ignored")
      .key("reason")
      .text(reason)
      .end_object();
  asker.respond(json_response(202, std::move(text)));
}

// The answer to a hook that has no right to be told more.
Error bad_signature() {
  return {Code::unauthorized,
          "X-Hub-Signature-256 must be the HMAC-SHA256 of the body with the secret of this hook",
          {}};
}

}  // namespace

bool is_signed(std::string_view secret, std::string_view signature, std::string_view body) {
  if (secret.empty() || !has_signature_form(signature)) {
    return false;
  }
  const std::string right =
      std::string(signature_begin) + base::hex(lib::hmac_sha256(secret, body));
  return lib::are_equal_secrets(right, signature);
}

bool GithubHook::takes(const net::Request& head) const {
  return !options_.secret.empty() && head.path == path && head.method == "POST" &&
         has_signature_form(head.header("x-hub-signature-256")) &&
         is_short(head, options_.body_bytes_max);
}

void GithubHook::on_request(const Asker& asker, const net::Request& request) const {
  if (options_.secret.empty()) {
    asker.refuse(Error{Code::not_found, "there is nothing at this path; see /openapi.json", {}});
    return;
  }
  const std::string_view signature = request.header("x-hub-signature-256");
  if (has_signature_form(signature) && !is_short(request, options_.body_bytes_max)) {
    asker.refuse(Error{Code::payload_too_large,
                       "the body of a hook has a Content-Length of at most " +
                           base::format_size(options_.body_bytes_max) + " (github.body_bytes_max)",
                       {}});
    return;
  }
  if (!is_signed(options_.secret, signature, request.body)) {
    asker.refuse(bad_signature());
    return;
  }
  take(asker, request);
}

void GithubHook::take(const Asker& asker, const net::Request& request) const {
  const Delivery delivery{request.header("x-github-event"), request.header("x-github-delivery")};
  if (!is_header_name(delivery.event) || !is_header_name(delivery.id)) {
    asker.refuse(Error{
        Code::bad_request, "a hook has the headers X-GitHub-Event and X-GitHub-Delivery", {}});
    return;
  }
  if (delivery.event == "ping") {
    asker.respond(json_response(200, R"({"state":"pong"})"));
    return;
  }
  const auto payload = asker.context->document.parse(request.body);
  if (!payload) {
    asker.refuse(
        Error{Code::bad_request,
              payload.error().detail + "; the content type of the webhook must be application/json",
              {}});
    return;
  }
  const auto event = read_event(delivery, *payload);
  if (!event && event.error().is_malformed) {
    asker.refuse(Error{Code::bad_request, event.error().reason, {}});
    return;
  }
  if (!event) {
    reply_ignored(asker, event.error().reason);
    return;
  }
  if (event->user.is_bot && !options_.bots) {
    reply_ignored(asker, "a bot did it; github.bots says whether that is delegated");
    return;
  }
  const EventRoute* const route = find_route(options_.tables.routes_in_use(), *event);
  if (route == nullptr) {
    reply_ignored(asker, "no [[github.route]] fits " + event->type + " of " + event->repository);
    return;
  }
  delegate(asker, *event, *route);
}

void GithubHook::delegate(const Asker& asker, const Event& event, const EventRoute& route) const {
  const auto supervisor = find_supervisor(*asker.context, options_.supervisor);
  const auto warn = [&event, warn = options_.warn](const Error& error) {
    if (warn) {
      base::Looks looks;
      warn("the event " + event.type + " " +
           base::without_secrets(event.id, header_bytes_max, looks) +
           " of GitHub is not delegated: " + error.detail);
    }
  };
  if (!supervisor) {
    warn(supervisor.error());
    asker.refuse(supervisor.error());
    return;
  }
  const Delegation delegation =
      delegation_of(event, route.terms, {.name = supervisor->name, .now = asker.now()});
  Asker sender = asker;
  sender.caller = *supervisor;
  send_delegation(*asker.context, *supervisor, delegation,
                  reply_receipt(sender, core::Dialect::superprompt));
}

}  // namespace parley::edge::events
