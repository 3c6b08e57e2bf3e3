// SPDX-License-Identifier: Apache-2.0
#include "app/client/client.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/client/agent_token.h"
#include "app/config.h"
#include "app/text/terminal.h"
#include "base/size.h"
#include "net/client/client.h"
#include "net/uri.h"

namespace parley::app {

namespace {

using base::Code;
using lib::Json;

constexpr size_t small_file_bytes_max = 64 * 1'024;
constexpr lib::JsonLimits answer_limits{.bytes_max = size_t{256} << 20, .depth_max = 128};
constexpr std::string_view default_url = "http://127.0.0.1:7455";

std::string first_of(std::string a, std::string b) {
  return a.empty() ? std::move(b) : std::move(a);
}

// The contents without the space around them; none when the file cannot be read.
std::optional<std::string> read_small(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(small_file_bytes_max, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(file.gcount()));
  constexpr std::string_view space = " \t\r\n";
  text.erase(text.find_last_not_of(space) + 1);
  text.erase(0, std::min(text.find_first_not_of(space), text.size()));
  return text;
}

std::expected<std::string, Failure> token_given(const ClientOptions& options) {
  auto given = options.token.empty() ? token_variable() : options.token;
  if (!given) {
    return given;
  }
  std::string token = std::move(*given);
  if (token.starts_with('@')) {
    const auto text = read_small(token.substr(1));
    if (!text || text->empty()) {
      return std::unexpected(Failure{"BAD_REQUEST",
                                     "the token file " + token.substr(1) + " cannot be read",
                                     "Name a file that holds one token and that you may read."});
    }
    token = *text;
  }
  if (token.starts_with(agent_token_prefix)) {
    auto kept = kept_agent_token(std::string_view(token).substr(agent_token_prefix.size()));
    if (!kept) {
      return kept;
    }
    token = std::move(*kept);
  }
  // A line end in a header would be a header of its own.
  const bool good = std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!good) {
    return std::unexpected(Failure{"BAD_REQUEST", "the token has characters that no token has",
                                   "Copy it again, or ask an admin for a new one."});
  }
  return token;
}

Failure no_broker(const std::string& data, const std::optional<LocalBroker>& local) {
  std::string why;
  if (local) {
    why = ": process " + std::to_string(local->pid) + ", which left broker.json, is gone";
  }
  return {"UNAVAILABLE", "no broker is running on " + data + why,
          "Start it with `parley serve`, or name one with --url or PARLEY_URL."};
}

std::string_view advice_for(std::string_view code) {
  for (const base::CodeInfo& info : base::all_codes()) {
    if (info.name == code) {
      return info.advice;
    }
  }
  return {};
}

}  // namespace

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::expected<std::string, Failure> token_variable() {
  const char* value = std::getenv("PARLEY_TOKEN");
  if (value != nullptr && *value == '\0') {
    return std::unexpected(Failure{
        "BAD_REQUEST", "PARLEY_TOKEN is set but empty, so it does not say who you are",
        "Give it a token, or agent:NAME for one that is kept; `unset PARLEY_TOKEN` to be the "
        "local broker's admin. An agent is told its token only when it is first registered."});
  }
  return value == nullptr ? std::string() : std::string(value);
}

Failure failure_of(const base::Error& error) {
  const base::CodeInfo& info = base::info(error.code);
  return {std::string(info.name), base::whole_detail(error), std::string(info.advice),
          error.has_lost_connection};
}

int complain(const Failure& failure) {
  std::string line = "parley: " + printable(failure.detail);
  if (!failure.code.empty()) {
    line += " (" + printable(failure.code) + ")";
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  if (!failure.advice.empty()) {
    std::fprintf(stderr, "%s\n", printable(failure.advice).c_str());
  }
  return 1;
}

Failure refusal(const HttpReply& reply) {
  lib::JsonDocument document;
  const auto problem = document.parse(reply.body, answer_limits);
  if (problem && problem->is_object()) {
    const std::string code = text_of(*problem, "code");
    std::string detail = first_of(text_of(*problem, "detail"), text_of(*problem, "title"));
    if (const std::string field = text_of(*problem, "field"); !field.empty()) {
      detail += " (field " + field + ")";
    }
    if (!code.empty() || !detail.empty()) {
      return {code, detail, std::string(advice_for(code))};
    }
  }
  return {"HTTP_" + std::to_string(reply.status),
          "the answer is HTTP " + std::to_string(reply.status) + " and no answer of a broker",
          "Check that --url names a Parley broker."};
}

std::optional<LocalBroker> local_broker(const std::string& data) {
  const auto text = read_small(std::filesystem::path(data) / "broker.json");
  lib::JsonDocument document;
  const auto json = text ? document.parse(*text) : std::unexpected(base::Error{});
  if (!json || !json->is_object()) {
    return std::nullopt;
  }
  LocalBroker local{.url = text_of(*json, "url")};
  const Json pid = json->find("pid");
  local.pid = static_cast<pid_t>(pid ? pid.as_int64().value_or(0) : 0);
  if (local.url.empty() || local.pid <= 0) {
    return std::nullopt;
  }
  local.alive = ::kill(local.pid, 0) == 0 || errno == EPERM;
  return local;
}

std::expected<std::string, Failure> find_broker_url(const ClientOptions& options) {
  std::string url = first_of(options.url, variable("PARLEY_URL"));
  while (url.ends_with('/')) {
    url.pop_back();
  }
  if (!url.empty()) {
    return url;
  }
  const auto data = data_directory(options.data, environment());
  if (!data) {
    return std::unexpected(failure_of(data.error()));
  }
  const auto local = local_broker(*data);
  if (local && local->alive) {
    return local->url;
  }
  if (!options.data.empty() || !variable("PARLEY_DATA").empty()) {
    return std::unexpected(no_broker(*data, local));
  }
  return std::string(default_url);
}

std::expected<BrokerAddress, Failure> find_broker(const ClientOptions& options) {
  auto token = token_given(options);
  if (!token) {
    return std::unexpected(token.error());
  }
  auto url = find_broker_url(options);
  if (!url) {
    return std::unexpected(url.error());
  }
  BrokerAddress address{std::move(*url), std::move(*token),
                        first_of(options.ca, variable("PARLEY_CA"))};
  if (!address.token.empty()) {
    return address;
  }
  const auto data = data_directory(options.data, environment());
  if (!data) {
    return std::unexpected(failure_of(data.error()));
  }
  const auto local = local_broker(*data);
  const bool is_alive = local && local->alive;
  if (is_alive && address.url == local->url) {
    address.token = read_small(std::filesystem::path(*data) / "admin.token").value_or("");
  } else if (!is_alive && options.url.empty() && variable("PARLEY_URL").empty()) {
    return std::unexpected(no_broker(*data, local));
  }
  if (address.token.empty()) {
    return std::unexpected(Failure{"UNAUTHORIZED", "there is no token for " + address.url,
                                   "Give one with PARLEY_TOKEN or --token @FILE; `parley agent "
                                   "add` prints an agent's."});
  }
  return address;
}

std::expected<HttpReply, Failure> exchange(const BrokerAddress& address, const HttpCall& call) {
  net::Client client(
      net::Place{.url = address.url, .token = address.token, .trusted_file = address.ca});
  net::Headers headers = call.headers;
  if (!call.body.empty()) {
    headers.emplace_back("Content-Type", "application/json");
  }
  auto response = client.request(call.method, call.path, call.body, headers, call.patience);
  if (!response) {
    Failure failure = failure_of(response.error());
    if (response.error().code == Code::unavailable) {
      failure.advice = "Look with `parley doctor`; `parley serve` starts a broker.";
    }
    return std::unexpected(std::move(failure));
  }
  std::string date(response->header("date"));
  std::string provenance(response->header("parley-provenance"));
  return HttpReply{response->status, std::move(response->body), std::move(date),
                   std::move(provenance)};
}

std::expected<HttpReply, Failure> ask(const ClientOptions& options, const HttpCall& call) {
  const auto address = find_broker(options);
  if (!address) {
    return std::unexpected(address.error());
  }
  auto reply = exchange(*address, call);
  if (reply && (reply->status < 200 || reply->status > 299)) {
    return std::unexpected(refusal(*reply));
  }
  return reply;
}

int ask_and_show(const ClientOptions& options, const HttpCall& call,
                 const std::function<int(Json)>& show) {
  const auto reply = ask(options, call);
  if (!reply) {
    return complain(reply.error());
  }
  if (options.json) {
    print_json(reply->body);
    return 0;
  }
  lib::JsonDocument document;
  const auto json = document.parse(reply->body.empty() ? "{}" : reply->body, answer_limits);
  if (!json) {
    return complain({"BAD_ANSWER", "the answer is no JSON: " + json.error().detail,
                     "Check that --url names a Parley broker."});
  }
  return show(*json);
}

void print_json(std::string_view json) {
  const std::string text = printable_json(json);
  std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

std::string encoded(std::string_view text) { return net::percent_encoded(text); }

std::string text_of(Json object, std::string_view key) {
  const Json value = object ? object.find(key) : Json();
  if (!value || value.is_null()) {
    return {};
  }
  const auto text = value.as_string();
  return std::string(text ? *text : value.raw());
}

}  // namespace parley::app
