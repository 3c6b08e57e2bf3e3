// SPDX-License-Identifier: Apache-2.0
#include "app/client/find_broker.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/client/agent_token.h"
#include "app/config.h"
#include "app/text/json.h"
#include "net/client/client.h"

namespace parley::app {

namespace {

constexpr size_t small_file_bytes_max = 64 * 1'024;
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

net::Place place_of(const BrokerAddress& address) {
  return {.url = address.url, .token = address.token, .trusted_file = address.ca};
}

std::optional<LocalBroker> local_broker(const std::string& data) {
  const auto text = read_small(std::filesystem::path(data) / "broker.json");
  lib::JsonDocument document;
  const auto json = text ? document.parse(*text) : std::unexpected(base::Error{});
  if (!json || !json->is_object()) {
    return std::nullopt;
  }
  LocalBroker local{.url = text_of(*json, "url")};
  local.pid = static_cast<pid_t>(json->find("pid").as_int64().value_or(0));
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

}  // namespace parley::app
