// SPDX-License-Identifier: Apache-2.0
#include "edge/api/call.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "base/nearest.h"
#include "base/text.h"
#include "dialect/iso8601.h"
#include "edge/api/context.h"
#include "edge/render.h"
#include "lib/json_writer.h"
#include "net/websocket.h"

namespace parley::edge {

namespace {

using base::Code;

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty()
             ? std::optional(value)
             : std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '+' && plus_is_space) {
      decoded.push_back(' ');
    } else if (text[n] != '%') {
      decoded.push_back(text[n]);
    } else {
      const bool complete = n + 2 < text.size();
      const int high = complete ? hex_value(text[n + 1]) : -1;
      const int low = complete ? hex_value(text[n + 2]) : -1;
      if (high < 0 || low < 0) {
        return std::nullopt;
      }
      decoded.push_back(static_cast<char>(high * 16 + low));
      n += 2;
    }
  }
  net::Utf8 utf8;
  return utf8.feed(decoded) && utf8.is_complete() ? std::optional(std::move(decoded))
                                                  : std::nullopt;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<uint8_t>(c);
      out.append("%").push_back(digits[byte >> 4]);
      out.push_back(digits[byte & 15]);
    }
  }
  return out;
}

std::vector<std::string_view> path_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  size_t at = path.starts_with('/') ? 1 : 0;
  while (at <= path.size()) {
    const size_t slash = std::min(path.find('/', at), path.size());
    segments.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return segments;
}

void Asker::respond(net::Response response) const {
  context->respond(exchange, std::move(response));
}

void Asker::refuse(const Error& error) const { context->refuse(exchange, error); }

bool Asker::is_still_good() const { return context->is_still_good(*this); }

void Asker::ask(core::Command command, node::Broker::Done done) const {
  context->broker.ask(caller.workspace, caller.name, std::move(command), std::move(done));
}

node::Broker::Done Asker::reply(std::string body) const {
  return context->reply(exchange, std::move(body));
}

const core::Tables& Asker::tables() const { return context->tables(caller.workspace); }

node::Broker& Asker::broker() const { return context->broker; }

base::Time Asker::now() const { return context->clock.now(); }

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  std::string_view rest = query;
  while (!rest.empty()) {
    const size_t ampersand = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, ampersand);
    rest.remove_prefix(std::min(ampersand + 1, rest.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals), true) == name) {
      return percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> Call::parameter(std::string_view name) const {
  CHECK(std::ranges::find(route.parameters, name, &Parameter::name) != route.parameters.end());
  const auto at = query.find(name);
  return at == query.end() ? std::nullopt : std::optional<std::string_view>(at->second);
}

std::string Call::text(std::string_view name, std::string_view fallback) const {
  return std::string(parameter(name).value_or(fallback));
}

bool Call::flag(std::string_view name) const { return parameter(name) == "true"; }

uint64_t Call::number(std::string_view name, uint64_t fallback) const {
  return parse_number(text(name)).value_or(fallback);
}

Duration Call::duration(std::string_view name) const {
  return base::parse_duration(text(name)).value_or(Duration{});
}

base::Time Call::time(std::string_view name, base::Time fallback) const {
  return dialect::parse_time(text(name)).value_or(fallback);
}

std::expected<dialect::Codec, Error> Call::codec() const {
  const std::string_view wanted = request.header("parley-dialect");
  const dialect::Codec* codec =
      wanted.empty() ? dialect::find_codec(caller.dialect) : dialect::find_codec(wanted);
  if (codec == nullptr) {
    return std::unexpected(Error{
        Code::unsupported_dialect,
        "the dialect " + std::string(wanted.empty() ? dialect::name_of(caller.dialect) : wanted) +
            " cannot be spoken yet; add the header `Parley-Dialect: flow`",
        {}});
  }
  return *codec;
}

std::expected<core::Dialect, Error> Call::wanted_dialect() const {
  const std::string_view header = request.header("parley-dialect");
  const std::string_view name = parameter("dialect").value_or(header);
  if (header.empty() && !parameter("dialect")) {
    return caller.dialect;
  }
  if (const dialect::Codec* codec = dialect::find_codec(name)) {
    return codec->dialect;
  }
  return std::unexpected(Error{Code::unsupported_dialect,
                               "no message can be written in the dialect " + std::string(name),
                               {}});
}

std::expected<core::Target, Error> Call::target(Names::First first) const {
  return Names(tables(), caller).target(arguments[0], first);
}

net::Response problem(const Error& error) {
  const base::CodeInfo& info = base::info(error.code);
  net::Response response;
  response.status = info.http_status;
  response.content_type = "application/problem+json";
  lib::JsonWriter out(response.body);
  out.object()
      .key("type")
      .text("urn:parley:error:" + std::string(info.name))
      .key("title")
      .text(info.title)
      .key("status")
      .number(info.http_status)
      .key("detail")
      .text(error.detail)
      .key("code")
      .text(info.name);
  if (!error.field.empty()) {
    out.key("field").text(error.field);
  }
  if (!error.cycle.empty()) {
    out.key("cycle").array();
    for (const std::string& name : error.cycle) {
      out.text(name);
    }
    out.end_array();
  }
  if (error.retry_after.us > 0) {
    constexpr int64_t second = 1'000'000;
    out.key("retry_after").text(rough_duration(error.retry_after));
    response.headers.emplace_back("Retry-After",
                                  std::to_string((error.retry_after.us + second - 1) / second));
  }
  out.key("advice").text(info.advice).end_object();
  return response;
}

net::Response problem(const Error& error, std::string_view key, uint64_t value) {
  net::Response response = problem(error);
  response.body.pop_back();  // the brace
  response.body.append(",\"").append(key).append("\":").append(std::to_string(value)).append("}");
  return response;
}

net::Response json_response(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

}  // namespace parley::edge
