// SPDX-License-Identifier: Apache-2.0
#include "app/config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <variant>

#include "app/posix.h"
#include "app/text/terminal.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/size.h"
#include "base/text.h"
#include "core/model/rules.h"
#include "lib/toml.h"
#include "net/client/dial.h"

namespace parley::app {

namespace {

using base::Code;
using base::Duration;
using edge::OtlpLimits;
using FileLimits = edge::files::Limits;
using edge::WebhookLimits;
using McpLimits = edge::mcp::Limits;
using ServerLimits = net::Server::Limits;

constexpr size_t file_bytes_max = size_t{1} << 20;
constexpr std::array<std::string_view, 4> log_levels = {"error", "warning", "info", "debug"};

// Where a Config has the value of a key.
template <class Value>
using Place = const Value& (*)(const Config&);

template <auto First, auto... Rest>
const auto& at(const Config& config) {
  return ((config.*First).*....*Rest);
}
template <auto Member>
constexpr auto server = &at<&Config::server, Member>;
template <auto Member>
constexpr auto mcp = &at<&Config::mcp, Member>;
template <auto Member>
constexpr auto otlp = &at<&Config::otlp, Member>;
template <auto Member>
constexpr auto files = &at<&Config::files, Member>;
template <auto Member>
constexpr auto webhook = &at<&Config::webhook, Member>;

// The kinds of values.
struct Path {
  Place<std::string> place;
};
struct Name {
  Place<std::string> place;
};
// Shown to nobody.
struct Secret {
  Place<std::string> place;
};
struct Link {
  Place<std::string> place;
};
struct Switch {
  Place<bool> place;
};
struct HostAndPort {
  Place<Address> place;
};
struct Level {
  Place<LogLevel> place;
};
struct Names {
  Place<std::vector<std::string>> place;
};
// NAME=VALUE, whose values are shown to nobody.
struct Secrets {
  Place<std::vector<std::string>> place;
};
struct Bytes {
  Place<size_t> place;
};
struct Count {
  Place<uint64_t> place;
};
struct Span {
  Place<Duration> place;
};
using Kind = std::variant<Path, Name, Secret, Link, Switch, HostAndPort, Level, Names, Secrets,
                          Bytes, Count, Span>;

struct Key {
  std::string_view name;
  Kind kind;
  uint64_t min;  // durations: microseconds
  uint64_t max;
  std::string_view help;
};

constexpr uint64_t second = 1'000'000;
constexpr uint64_t day = 86'400 * second;
constexpr uint64_t year = 365 * day;
constexpr uint64_t gigabyte = uint64_t{1} << 30;

static_assert(WebhookLimits{}.retry_max == base::minutes(5), "a help text below says so");

// The broker's own keys; the rules have their table in core.
constexpr std::array<Key, 64> table = {{
    {"allowed_hosts", Names{at<&Config::allowed_hosts>}, 0, 0,
     "names that a request may give in Host and Origin, beside the loopback ones and that of "
     "`listen`; on 0.0.0.0 all names and addresses by which the broker is reached"},
    {"data", Path{at<&Config::data>}, 0, 0, "the data directory: journal, views, tokens"},
    {"disk.reserve", Bytes{at<&Config::disk_reserve>}, 0, 1'024 * gigabyte,
     "what stays free on the disk of the data directory: below it nothing new is taken "
     "(STORAGE_FULL), while messages can be settled and old records go; 0B: nothing"},
    {"github.as", Name{at<&Config::github_as>}, 0, 0,
     "the agent of superprompt, or the human, in whose name events are delegated"},
    {"github.body_bytes_max", Bytes{at<&Config::github_body_bytes_max>}, 1'024, 25 << 20,
     "the body of one webhook of GitHub; also at most server.body_bytes_max"},
    {"github.bots", Switch{at<&Config::github_bots>}, 0, 0,
     "whether what bots do is delegated too: agents that comment would give themselves work"},
    {"github.secret", Secret{at<&Config::github_secret>}, 0, 0,
     "the secret of the webhook at /hooks/github, best by PARLEY_GITHUB_SECRET; shown to nobody"},
    {"github.secret_file", Path{at<&Config::github_secret_file>}, 0, 0,
     "the file that has the secret; with neither, /hooks/github does not exist"},
    {"history.feed_bytes_max", Bytes{at<&Config::history_feed_bytes_max>}, 1'048'576, 64 * gigabyte,
     "what the history may have to catch up with. Who has more in it than is left is answered "
     "OVERLOADED, and beyond it everybody"},
    {"history.keep", Span{at<&Config::history_keep>}, 0, 100 * year,
     "how long messages can be found after they left the engine; 0s: for ever"},
    {"history.questions_per_principal_max", Count{at<&Config::history_questions_max>}, 1, 100'000,
     "questions to the history of one principal that wait; one more gets 429. Principals take "
     "turns"},
    {"insecure", Switch{at<&Config::insecure>}, 0, 0,
     "allows listening beyond this machine without TLS: tokens travel in the clear"},
    {"listen", HostAndPort{at<&Config::listen>}, 0, 0,
     "where the broker listens; port 0 takes a free one"},
    {"log.level", Level{at<&Config::log_level>}, 0, 0, "what is logged: this and what is worse"},
    {"mcp.held_bytes_max", Bytes{mcp<&McpLimits::held_bytes_max>}, 65'536, gigabyte,
     "what the MCP calls of one principal keep until they are answered"},
    {"mcp.kept_events_max", Count{mcp<&McpLimits::kept_events_max>}, 1, 100'000,
     "events of one MCP session that are kept for a client that lost its connection"},
    {"mcp.resume_within", Span{mcp<&McpLimits::resume_within>}, second, day,
     "how long a call goes on whose MCP client hung up and may come back for the answer"},
    {"mcp.runs_per_principal_max", Count{mcp<&McpLimits::runs_per_principal_max>}, 1, 100'000,
     "MCP calls of one principal that are not answered yet"},
    {"mcp.session_idle", Span{mcp<&McpLimits::session_idle>}, second, 30 * day,
     "after how long without a request an MCP session leaves memory, until it is used again"},
    {"mcp.sessions_max", Count{mcp<&McpLimits::sessions_max>}, 1, 1'000'000,
     "MCP sessions in memory; one more takes the place of the one that was idle for longest"},
    {"mcp.sessions_per_principal_max", Count{mcp<&McpLimits::sessions_per_principal_max>}, 1,
     100'000, "those of one principal; one more takes the place of its longest idle one"},
    {"mcp.state_ttl", Span{mcp<&McpLimits::state_ttl>}, second, 30 * day,
     "how long an MCP client may take to answer what a tool asks of it"},
    {"mcp.streams_max", Count{mcp<&McpLimits::streams_max>}, 1, 1'000'000,
     "MCP streams of all: those that listen and calls without an answer, with their client or "
     "without"},
    {"mcp.streams_per_principal_max", Count{mcp<&McpLimits::streams_per_principal_max>}, 1, 100'000,
     "MCP streams of one principal that listen for what changes"},
    {"mcp.subscriptions_max", Count{mcp<&McpLimits::subscriptions_max>}, 1, 100'000,
     "resources that one MCP session or stream subscribes to"},
    {"otlp.batch_spans", Count{otlp<&OtlpLimits::batch_spans>}, 1, 100'000,
     "spans in one request to the collector"},
    {"otlp.ca", Path{at<&Config::otlp_ca>}, 0, 0,
     "certificates to trust in the collector, PEM; empty: what the system trusts"},
    {"otlp.endpoint", Link{at<&Config::otlp_endpoint>}, 0, 0,
     "where the spans of messages go, as OTLP/HTTP JSON; empty: nowhere. Without a path it is "
     "/v1/traces"},
    {"otlp.headers", Secrets{at<&Config::otlp_headers>}, 0, 0,
     "headers of each request to the collector, such as Authorization=Bearer TOKEN; shown to "
     "nobody"},
    {"otlp.interval", Span{otlp<&OtlpLimits::interval>}, second / 100, day,
     "how long spans gather before they go to the collector, if no batch is full before"},
    {"otlp.queue_max", Count{otlp<&OtlpLimits::queue_max>}, 1, 10'000'000,
     "messages whose spans wait for the collector; beyond it they are dropped and counted"},
    {"server.body_bytes_max", Bytes{server<&ServerLimits::body_bytes_max>}, 1'024, gigabyte,
     "the body of one request"},
    {"server.buffered_max", Bytes{server<&ServerLimits::buffered_max>}, 65'536, gigabyte,
     "output that waits for one slow reader; at twice that its connection ends"},
    {"server.connections_max", Count{server<&ServerLimits::connections_max>}, 1, 1'000'000,
     "open connections; when all are taken, one that has shown no token makes room"},
    {"server.connections_per_principal_max",
     Count{server<&ServerLimits::connections_per_principal_max>}, 1, 1'000'000,
     "those of one principal; one more gets 429"},
    {"server.header_bytes_max", Bytes{server<&ServerLimits::header_bytes_max>}, 1'024, 1'048'576,
     "the headers of one request"},
    {"server.idle_timeout", Span{server<&ServerLimits::idle_timeout>}, second, day,
     "how long a connection may rest between requests"},
    {"server.message_bytes_max", Bytes{server<&ServerLimits::message_bytes_max>}, 1'024, gigabyte,
     "one WebSocket message"},
    {"server.ping_interval", Span{server<&ServerLimits::ping_interval>}, second, day,
     "how often a WebSocket is asked whether it lives; two unanswered end it"},
    {"server.pipelined_max", Count{server<&ServerLimits::pipelined_max>}, 1, 1'000'000,
     "unanswered requests of one connection; then reading pauses"},
    {"server.request_timeout", Span{server<&ServerLimits::request_timeout>}, second, day,
     "from the first byte of a request to its last"},
    {"server.unauthenticated_bytes_max", Bytes{server<&ServerLimits::unauthenticated_bytes_max>},
     65'536, gigabyte,
     "bytes held for all connections together that have shown no token; beyond it those that hold "
     "most get 503"},
    {"server.unfinished_bytes_per_principal_max",
     Bytes{server<&ServerLimits::unfinished_bytes_per_principal_max>}, 65'536, gigabyte,
     "bytes held of one principal's requests and WebSocket messages that are not whole; beyond it "
     "the one that grows gets 429, unless it is the only one"},
    {"server.unread_bytes_per_principal_max",
     Bytes{server<&ServerLimits::unread_bytes_per_principal_max>}, 65'536, gigabyte,
     "answers and pushed messages that one principal has not read, on all its connections; beyond "
     "it those that hold more than an even share wait, and large answers are 429"},
    {"server.waits_per_connection_max", Count{server<&ServerLimits::waits_per_connection_max>}, 1,
     1'000'000, "calls on one connection that wait; one more gets 429"},
    {"server.waits_per_principal_max", Count{server<&ServerLimits::waits_per_principal_max>}, 1,
     1'000'000,
     "calls of one principal that wait: for mail, an answer, a lock, or behind its other lists; "
     "one more gets 429"},
    {"squad.archive_keep", Span{files<&FileLimits::keep>}, second, 10 * year,
     "how long a file stays in an archive of the tree of files"},
    {"squad.archived_files_max", Count{files<&FileLimits::archived_max>}, 1, 1'000'000,
     "files in one archive; the oldest go"},
    {"squad.ended_keep", Span{files<&FileLimits::keep_ended>}, 0, year,
     "how long the directory of a subagent stays after its end"},
    {"squad.file_bytes_max", Bytes{files<&FileLimits::file_bytes_max>}, 1'024, 4 * 1'048'576,
     "a file that is to be a message; a larger one is refused"},
    {"squad.file_senders", Names{at<&Config::squad_file_senders>}, 0, 0,
     "UID=NAME: files of this user may be messages of that agent, or of all agents whose names "
     "begin as it does before a `*`. Of a user that is not named: the broker's own may be any "
     "agent, another none"},
    {"squad.files", Switch{at<&Config::squad_files>}, 0, 0,
     "whether there is a tree of files; it begins with the first agent of squad"},
    {"squad.files_look_every", Span{files<&FileLimits::look_every>}, second / 100, 600 * second,
     "how often the directories are looked through, whatever the kernel tells"},
    {"squad.files_root", Path{at<&Config::squad_files_root>}, 0, 0,
     "where the tree is: agent-inbox, active-thread.md; empty: DATA/memory"},
    {"squad.pending_files_max", Count{files<&FileLimits::pending_max>}, 1, 100'000,
     "files in one pending; what else waits comes when some are done with"},
    {"tls.certificate", Path{at<&Config::tls_certificate>}, 0, 0,
     "the server's certificate chain, PEM"},
    {"tls.key", Path{at<&Config::tls_key>}, 0, 0, "its private key, PEM"},
    {"webhook.again_after", Span{webhook<&WebhookLimits::again_after>}, second, day,
     "how long an agent that does not read its mail is left alone before more mail wakes it again"},
    {"webhook.allowed_networks", Names{at<&Config::webhook_allowed_networks>}, 0, 0,
     "networks such as 127.0.0.0/8 that webhooks may be in, beside the whole Internet; http is for "
     "loopback only, and only if it is here"},
    {"webhook.ca", Path{at<&Config::webhook_ca>}, 0, 0,
     "certificates to trust in webhooks, PEM; empty: what the system trusts"},
    {"webhook.failures_max", Count{webhook<&WebhookLimits::failures_max>}, 1, 1'000,
     "failures in a row; then a webhook rests until its agent is heard of, or sets it again"},
    {"webhook.retry_first", Span{webhook<&WebhookLimits::retry_first>}, second / 1'000, day,
     "the pause after a failure; doubles with each in a row, up to 5m"},
    {"webhook.secret_overlap", Span{webhook<&WebhookLimits::secret_overlap>}, 0, 30 * day,
     "how long a secret that was replaced signs too"},
    {"webhook.timeout", Span{webhook<&WebhookLimits::timeout>}, second / 100, 600 * second,
     "how long a webhook may take to answer"},
}};

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

Error bad_value(std::string detail) { return {Code::bad_rule_value, std::move(detail), {}}; }

std::string range(const std::string& what, const std::string& min, const std::string& max) {
  return what + " from " + min + " to " + max;
}

std::string duration_text(uint64_t us) {
  return base::format_duration(Duration{static_cast<int64_t>(us)});
}

// What a key takes, in words.
std::string type_of(const Key& key) {
  return std::visit(
      Overloaded{
          [](Path) -> std::string { return "a path"; },
          [](Name) -> std::string { return "a name"; },
          [](Secret) -> std::string { return "a text"; },
          [](Link) -> std::string { return "a URL of http or https"; },
          [](Switch) -> std::string { return "true or false"; },
          [](HostAndPort) -> std::string { return "HOST:PORT"; },
          [](Level) -> std::string { return "error, warning, info or debug"; },
          [](Names) -> std::string { return "a list of names"; },
          [](Secrets) -> std::string { return "a list of NAME=VALUE"; },
          [&](Bytes) {
            return range("a size", base::format_size(key.min), base::format_size(key.max));
          },
          [&](Count) {
            return range("a whole number", std::to_string(key.min), std::to_string(key.max));
          },
          [&](Span) { return range("a duration", duration_text(key.min), duration_text(key.max)); },
      },
      key.kind);
}

std::string type_of(const core::RuleInfo& rule) {
  if (!rule.words.empty()) {
    std::string words;
    for (const std::string_view word : rule.words) {
      words.append(words.empty() ? "" : ", ").append(word);
    }
    return "one of " + words;
  }
  if (std::holds_alternative<core::Delays core::Rules::*>(rule.member)) {
    return range("a list of durations", duration_text(rule.min), duration_text(rule.max));
  }
  if (std::holds_alternative<Duration core::Rules::*>(rule.member)) {
    return range("a duration", duration_text(rule.min), duration_text(rule.max));
  }
  if (rule.unit == core::RuleInfo::Unit::bytes) {
    return range("a size", base::format_size(rule.min), base::format_size(rule.max));
  }
  return range("a whole number", std::to_string(rule.min), std::to_string(rule.max));
}

std::string default_of(const core::RuleInfo& rule) { return core::rule_value(core::Rules{}, rule); }

std::string joined(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) {
    all += (all.empty() ? "" : ",") + item;
  }
  return all;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    item = item.substr(0, item.find_last_not_of(' ') + 1);
    if (!item.empty()) {
      items.emplace_back(item);
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::string value_text(const Config& config, const Key& key) {
  return std::visit(
      Overloaded{
          [&](Path at) { return at.place(config); },
          [&](Name at) { return at.place(config); },
          [&](Secret at) -> std::string { return at.place(config).empty() ? "" : "(secret)"; },
          [&](Link at) { return at.place(config); },
          [&](Switch at) -> std::string { return at.place(config) ? "true" : "false"; },
          [&](HostAndPort at) { return format_address(at.place(config)); },
          [&](Level at) { return std::string(log_levels[static_cast<size_t>(at.place(config))]); },
          [&](Names at) { return joined(at.place(config)); },
          [&](Secrets at) -> std::string { return at.place(config).empty() ? "" : "(secret)"; },
          [&](Bytes at) { return base::format_size(at.place(config)); },
          [&](Count at) { return std::to_string(at.place(config)); },
          [&](Span at) { return base::format_duration(at.place(config)); },
      },
      key.kind);
}

std::optional<uint64_t> within(const Key& key, std::optional<uint64_t> value) {
  return value && *value >= key.min && *value <= key.max ? value : std::nullopt;
}

bool is_web_address(std::string_view text) {
  return (text.starts_with("http://") || text.starts_with("https://")) &&
         net::Url::parse(text).has_value();
}

// `Name=value`, with a name and a value that a header can have.
bool is_header(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  return equals != text.npos && !name.empty() &&
         std::ranges::all_of(name,
                             [&](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                      (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
                             }) &&
         std::ranges::all_of(text.substr(equals + 1), [](char c) { return c >= ' ' && c <= '~'; });
}

// The value, to be changed: `config` itself is not const.
template <class Value>
Value& value_in(Config& config, Place<Value> place) {
  return const_cast<Value&>(place(config));
}

// Stores a value that was read from text; false, and nothing is stored, where none was read.
template <class Value, class Read>
bool put(Value& to, std::optional<Read> read) {
  if (read) {
    to = static_cast<Value>(*std::move(read));
  }
  return read.has_value();
}

std::optional<Duration> read_duration(const Key& key, std::string_view text) {
  const auto parsed = base::parse_duration(text);
  const auto us = within(key, parsed ? std::optional<uint64_t>(parsed->us) : std::nullopt);
  return us ? std::optional(Duration{static_cast<int64_t>(*us)}) : std::nullopt;
}

std::optional<LogLevel> read_level(std::string_view text) {
  const auto* const found = std::ranges::find(log_levels, text);
  return found == log_levels.end()
             ? std::nullopt
             : std::optional(static_cast<LogLevel>(found - log_levels.begin()));
}

// False when the text is not what the key takes; the config is then as it was.
bool store(Config& config, const Key& key, std::string_view text) {
  const auto value = [&](auto kind) -> auto& { return value_in(config, kind.place); };
  return std::visit(
      Overloaded{
          [&](Path at) { return put(value(at), std::optional(text)); },
          [&](Name at) {
            return put(value(at), base::is_plain_name(text) ? std::optional(text) : std::nullopt);
          },
          [&](Secret at) { return put(value(at), std::optional(text)); },
          [&](Link at) {
            const bool good = text.empty() || is_web_address(text);
            return put(value(at), good ? std::optional(text) : std::nullopt);
          },
          [&](Switch at) {
            const bool good = text == "true" || text == "false";
            return put(value(at), good ? std::optional(text == "true") : std::nullopt);
          },
          [&](HostAndPort at) {
            auto address = parse_address(text);
            return put(value(at), address ? std::optional(*address) : std::nullopt);
          },
          [&](Level at) { return put(value(at), read_level(text)); },
          [&](Names at) { return put(value(at), std::optional(split(text))); },
          // The error must not quote a secret, so check_whole() checks them.
          [&](Secrets at) { return put(value(at), std::optional(split(text))); },
          [&](Bytes at) { return put(value(at), within(key, base::parse_size(text))); },
          [&](Count at) { return put(value(at), within(key, base::parse_number(text))); },
          [&](Span at) { return put(value(at), read_duration(key, text)); },
      },
      key.kind);
}

const Key* find_key(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &Key::name);
  return found == table.end() ? nullptr : found;
}

const core::RuleInfo* find_rule(std::string_view name) {
  const auto rules = core::all_rules();
  const auto found = std::ranges::find(rules, name, &core::RuleInfo::name);
  return found == rules.end() ? nullptr : &*found;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Key& key : table) {
    names.emplace_back(key.name);
  }
  for (const core::RuleInfo& rule : core::all_rules()) {
    names.emplace_back(rule.name);
  }
  return names;
}

Error wrong_value(std::string_view name, const std::string& type, std::string_view value) {
  return bad_value(std::string(name) + " takes " + type + ", not \"" +
                   printable(value.substr(0, 64)) + "\"");
}

// The machine knows counts only, so that `1MB` becomes 1048576 here.
std::expected<void, Error> set_rule(Config& config, const core::RuleInfo& rule,
                                    std::string_view value) {
  std::string text(value);
  if (rule.unit == core::RuleInfo::Unit::bytes) {
    if (const auto bytes = base::parse_size(value)) {
      text = std::to_string(*bytes);
    }
  }
  core::Rules scratch;
  if (!core::set_rule(scratch, rule.name, text)) {
    return std::unexpected(wrong_value(rule.name, type_of(rule), value));
  }
  // In one form, so that `300s` and `5m` are not taken for a change.
  config.rules[std::string(rule.name)] = core::rule_value(scratch, rule);
  return {};
}

std::expected<void, Error> set(Config& config, std::string_view name, std::string_view value) {
  if (const core::RuleInfo* rule = find_rule(name)) {
    return set_rule(config, *rule, value);
  }
  const Key* key = find_key(name);
  if (key == nullptr) {
    return std::unexpected(Error{Code::unknown_rule,
                                 "there is no key \"" + printable(name.substr(0, 64)) +
                                     "\"; the nearest is \"" +
                                     std::string(base::nearest(name, all_names())) + "\"",
                                 {}});
  }
  if (!store(config, *key, value)) {
    return std::unexpected(wrong_value(name, type_of(*key), value));
  }
  return {};
}

struct Setting {
  std::string_view name;
  std::string_view value;
  std::string origin;
};

// Sets the key and remembers from where; an error names the place.
std::expected<void, Error> set_from(Config& config, const Setting& setting) {
  if (auto done = set(config, setting.name, setting.value); !done) {
    done.error().detail = setting.origin + ": " + done.error().detail;
    return done;
  }
  config.origins[std::string(setting.name)] = setting.origin;
  return {};
}

std::optional<std::string> look_up(const Pairs& environment, std::string_view name) {
  for (const auto& [key, value] : environment) {
    if (key == name && !value.empty()) {
      return value;
    }
  }
  return std::nullopt;
}

std::expected<std::string, Error> read_whole(const std::string& path) {
  const auto fail = [&](std::string_view why) {
    return std::unexpected(Error{Code::bad_request,
                                 "the configuration " + path + " cannot be read: " +
                                     std::string(why) + "; name another with --config",
                                 {}});
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return fail("it is a directory");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(std::generic_category().message(errno));
  }
  std::string text(file_bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > file_bytes_max) {
    return fail("it is larger than " + base::format_size(file_bytes_max));
  }
  return text;
}

struct File {
  std::string path;
  bool in_data;  // found in the data directory, not named
};

std::expected<void, Error> take_file(Config& config, const File& file) {
  const auto text = read_whole(file.path);
  if (!text) {
    return std::unexpected(text.error());
  }
  auto entries = lib::read_toml(*text);
  if (!entries) {
    entries.error().detail = file.path + ": " + entries.error().detail;
    return std::unexpected(entries.error());
  }
  // In the order of the lines, so that the first mistake is told first.
  std::ranges::stable_sort(*entries, {}, &lib::TomlEntry::line);
  const auto in_line = [&](auto fault) {
    fault.error.detail =
        file.path + ":" + std::to_string(fault.line) + ": " + printable(fault.error.detail);
    return std::unexpected(fault.error);
  };
  auto tables = edge::events::read_tables(*entries);
  if (!tables) {
    return in_line(tables.error());
  }
  config.events = std::move(*tables);
  auto targets = edge::notify::read_targets(*entries);
  if (!targets) {
    return in_line(targets.error());
  }
  config.notify = std::move(*targets);
  for (const lib::TomlEntry& entry : *entries) {
    if (edge::events::is_of_tables(entry.name) || edge::notify::is_of_table(entry.name)) {
      continue;
    }
    const std::string place = file.path + ":" + std::to_string(entry.line);
    if (file.in_data && entry.name == "data") {
      return std::unexpected(Error{Code::bad_request,
                                   place + ": data cannot be set in the file that was found in the "
                                           "data directory; use --data or PARLEY_DATA",
                                   {}});
    }
    if (auto done = set_from(config, {entry.name, entry.value, place}); !done) {
      return done;
    }
  }
  return {};
}

// Variables that are read elsewhere, and those that Kubernetes makes for a service named `parley`.
bool is_foreign(std::string_view variable) {
  constexpr std::array<std::string_view, 6> others = {"PARLEY_URL",    "PARLEY_TOKEN",
                                                      "PARLEY_CONFIG", "PARLEY_PORT",
                                                      "PARLEY_CA",     "PARLEY_UPDATE_DOCS"};
  return std::ranges::find(others, variable) != others.end() || variable == "PARLEY_AGENT" ||
         variable.starts_with("PARLEY_MESSAGE_") || variable.starts_with("PARLEY_PORT_") ||
         variable.starts_with("PARLEY_SERVICE_");
}

std::expected<void, Error> take_environment(Config& config, const Pairs& environment) {
  std::map<std::string, std::string, std::less<>> names;
  std::vector<std::string> variables;
  for (const std::string& name : all_names()) {
    names[variable_of(name)] = name;
    variables.push_back(variable_of(name));
  }
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with("PARLEY_") || is_foreign(variable)) {
      continue;
    }
    const auto found = names.find(variable);
    if (found == names.end()) {
      return std::unexpected(Error{Code::unknown_rule,
                                   "the environment has " + printable(variable) +
                                       ", which is no key; the nearest is " +
                                       std::string(base::nearest(variable, variables)),
                                   {}});
    }
    if (auto done = set_from(config, {found->second, value, variable}); !done) {
      return done;
    }
  }
  return {};
}

std::expected<void, Error> check_whole(const Config& config) {
  if (config.tls_certificate.empty() != config.tls_key.empty()) {
    return std::unexpected(
        bad_value("tls.certificate and tls.key belong together; only one is set"));
  }
  if (!config.github_secret.empty() && !config.github_secret_file.empty()) {
    return std::unexpected(
        bad_value("github.secret and github.secret_file are both set; one has "
                  "the secret"));
  }
  if (!std::ranges::all_of(config.otlp_headers, is_header)) {
    return std::unexpected(
        bad_value("otlp.headers takes a list of NAME=VALUE, separated by commas; one of them is "
                  "not that, and is not shown here because it may be a secret"));
  }
  for (const std::string& network : config.webhook_allowed_networks) {
    if (!net::Network::parse(network)) {
      return std::unexpected(
          bad_value("webhook.allowed_networks takes networks such as "
                    "10.0.0.0/8 or ::1, not \"" +
                    printable(network.substr(0, 64)) + "\""));
    }
  }
  for (const std::string& sender : config.squad_file_senders) {
    if (!edge::files::parse_file_sender(sender)) {
      return std::unexpected(
          bad_value("squad.file_senders takes UID=NAME such as 1000=agent:main:main, not \"" +
                    printable(sender.substr(0, 64)) + "\""));
    }
  }
  if (!is_loopback(config.listen.host) && config.tls_certificate.empty() && !config.insecure) {
    return std::unexpected(Error{
        Code::bad_request,
        "listening on " + format_address(config.listen) +
            " without TLS would send tokens in the clear; set tls.certificate and tls.key, or give "
            "--insecure if the network is trusted",
        {}});
  }
  return {};
}

}  // namespace

std::vector<KeyInfo> all_keys() {
  std::vector<KeyInfo> keys;
  for (const Key& key : table) {
    keys.push_back(
        {std::string(key.name), type_of(key), value_text(Config{}, key), std::string(key.help)});
    if (key.name == "data") {
      keys.back().default_value = "$XDG_STATE_HOME/parley or ~/.local/state/parley";
    }
  }
  for (const core::RuleInfo& rule : core::all_rules()) {
    keys.push_back(
        {std::string(rule.name), type_of(rule), default_of(rule), std::string(rule.help), true});
  }
  std::ranges::sort(keys, {}, &KeyInfo::name);
  return keys;
}

std::string value_of(const Config& config, std::string_view key) {
  if (const core::RuleInfo* rule = find_rule(key)) {
    const auto found = config.rules.find(std::string(key));
    return found == config.rules.end() ? default_of(*rule) : found->second;
  }
  const Key* found = find_key(key);
  CHECK(found != nullptr);
  return value_text(config, *found);
}

std::string variable_of(std::string_view key) {
  std::string variable = "PARLEY_";
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    variable.push_back(is_lower ? static_cast<char>(c - 'a' + 'A') : c == '.' ? '_' : c);
  }
  return variable;
}

std::expected<Config, Error> load_config(const ConfigSources& sources) {
  Config config;
  std::string data_flag;
  for (const Flag& flag : sources.flags) {
    data_flag = flag.key == "data" ? flag.value : data_flag;
  }
  File file{sources.file, false};
  if (file.path.empty()) {
    file.path = look_up(sources.environment, "PARLEY_CONFIG").value_or("");
  }
  const auto data = data_directory(data_flag, sources.environment);
  config.data = data.value_or("");
  if (file.path.empty() && data) {
    const auto found = std::filesystem::path(*data) / "parley.toml";
    std::error_code error;
    // A file that exists and cannot be looked at is an error of reading, not a missing file.
    if (std::filesystem::exists(found, error) || error) {
      file = {found.string(), true};
    }
  }
  if (!file.path.empty()) {
    if (auto done = take_file(config, file); !done) {
      return std::unexpected(done.error());
    }
  }
  if (auto done = take_environment(config, sources.environment); !done) {
    return std::unexpected(done.error());
  }
  for (const Flag& flag : sources.flags) {
    if (auto done = set_from(config, {flag.key, flag.value, flag.flag}); !done) {
      return std::unexpected(done.error());
    }
  }
  if (config.data.empty()) {
    return std::unexpected(data.error());
  }
  if (auto done = check_whole(config); !done) {
    return std::unexpected(done.error());
  }
  return config;
}

std::expected<std::string, Error> data_directory(std::string_view flag, const Pairs& environment) {
  if (!flag.empty()) {
    return std::string(flag);
  }
  if (const auto data = look_up(environment, "PARLEY_DATA")) {
    return *data;
  }
  // The XDG specification says that a relative path is to be ignored.
  const auto state = look_up(environment, "XDG_STATE_HOME");
  if (state && state->starts_with('/')) {
    return *state + "/parley";
  }
  auto home = look_up(environment, "HOME");
  home = home ? home : home_of_user();
  if (!home) {
    return std::unexpected(Error{Code::bad_request,
                                 "there is no data directory: neither --data nor PARLEY_DATA, "
                                 "XDG_STATE_HOME or HOME is set; give --data DIR",
                                 {}});
  }
  return *home + "/.local/state/parley";
}

}  // namespace parley::app
