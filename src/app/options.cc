// SPDX-License-Identifier: Apache-2.0
#include "app/options.h"

#include <cstdio>

#include "base/time.h"
#include "lib/crypto.h"

namespace parley::app {

namespace {

const char* token_help(Speaker speaker) {
  switch (speaker) {
    case Speaker::agent:
      return "The agent's token, or @FILE; else what is kept for --agent";
    case Speaker::supervisor:
      return "The agent's token, or @FILE; else PARLEY_TOKEN, else what is kept for --agent";
    case Speaker::anyone:
      break;
  }
  return "Your token, @FILE, or agent:NAME for one that is kept; else PARLEY_TOKEN, else the local "
         "broker's admin.token";
}

}  // namespace

void add_broker_options(Command& command, ClientOptions& options, Speaker speaker) {
  constexpr const char* group = "The broker";
  command.add_option("--url", options.url, "Its address; else PARLEY_URL, else the local one")
      ->type_name("URL")
      ->group(group);
  Option* token = command.add_option("--token", options.token, token_help(speaker));
  takes_text(*token->type_name("TOKEN")->group(group));
  command.add_option("--ca", options.ca, "PEM file of certificates to trust; else PARLEY_CA")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--data", options.data, "Data directory of the local broker")
      ->type_name("DIR")
      ->group(group);
}

void add_client_options(Command& command, ClientOptions& options, Speaker speaker) {
  add_broker_options(command, options, speaker);
  command.add_flag("--json", options.json, "Print the broker's answer as JSON");
}

void add_example(Command& command, std::string_view example, const std::string& details) {
  command.footer(details + "\nExample:\n  " + std::string(example));
}

void takes_text(Option& option) {
  option.check([](const std::string& text) { return text.empty() ? "it is empty" : ""; });
}

void takes_duration(Option& option) {
  option.type_name("DURATION")->check([](const std::string& text) {
    return base::parse_duration(text)
               ? ""
               : "\"" + text + "\" is no duration; examples are 500ms, 30s, 5m";
  });
}

int show_token(const std::string& whose, lib::Json answer) {
  const std::string token = text_of(answer, "token");
  if (token.empty()) {
    std::fprintf(stderr,
                 "%s was registered before and is up to date. No token is printed: it has the one "
                 "that it was told then.\n",
                 whose.c_str());
    return 0;
  }
  std::fprintf(stderr, "%s is registered. This is its token; it is shown only this once:\n",
               whose.c_str());
  std::printf("%s\n", printable(token).c_str());
  std::fflush(stdout);
  std::fprintf(stderr,
               "Give it to whoever speaks for %s, as PARLEY_TOKEN:\n"
               "  PARLEY_TOKEN=... parley inbox\n",
               whose.c_str());
  return 0;
}

void ConfigFlags::add_to(Command& command) {
  command.add_option("--data", data, "The data directory")->type_name("DIR");
  command.add_option("--config", file, "The configuration; else DIR/parley.toml if it is there")
      ->type_name("FILE");
  command
      .add_option("--listen", listen, "Where to listen; 127.0.0.1:7455 if nothing says otherwise")
      ->type_name("HOST:PORT");
  command.add_option("--tls-certificate", tls_certificate, "Certificate chain, PEM")
      ->type_name("FILE");
  command.add_option("--tls-key", tls_key, "Private key, PEM")->type_name("FILE");
  command.add_flag("--insecure", insecure, "Allow listening beyond this machine without TLS");
  command.add_option("--allowed-hosts", allowed_hosts, "Names that requests may give as Host")
      ->type_name("A,B");
  command.add_option("--log-level", log_level, "error, warning, info or debug")->type_name("LEVEL");
  command
      .add_option("--otlp-endpoint", otlp_endpoint,
                  "Bring the spans of messages to this OTLP/HTTP collector")
      ->type_name("URL");
  command.add_option("--set", settings, "Set any key of `parley config show`; may be repeated")
      ->type_name("KEY=VALUE")
      ->takes_one()
      ->check([](const std::string& text) {
        return text.find('=') != std::string::npos ? "" : "\"" + text + "\" is no KEY=VALUE";
      });
}

ConfigSources ConfigFlags::sources() const {
  ConfigSources sources{.file = file, .environment = environment()};
  const auto add = [&](std::string_view flag, std::string_view key, const std::string& value) {
    if (!value.empty()) {
      sources.flags.push_back({std::string(flag), std::string(key), value});
    }
  };
  add("--data", "data", data);
  add("--listen", "listen", listen);
  add("--tls-certificate", "tls.certificate", tls_certificate);
  add("--tls-key", "tls.key", tls_key);
  add("--insecure", "insecure", insecure ? "true" : "");
  add("--allowed-hosts", "allowed_hosts", allowed_hosts);
  add("--log-level", "log.level", log_level);
  add("--otlp-endpoint", "otlp.endpoint", otlp_endpoint);
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    sources.flags.push_back({"--set", setting.substr(0, equals), setting.substr(equals + 1)});
  }
  return sources;
}

void add_pattern_draft(Command& command, PatternOptions& options) {
  command.add_option("BODY", options.draft.body, "The text, - for standard input, or @FILE")
      ->required();
  command.add_option("--as", options.draft.as, "text or json")->one_of({"text", "json"});
  command.add_option("--priority", options.draft.priority, "critical, high, normal or low")
      ->one_of({"critical", "high", "normal", "low"});
  command.add_option("--thread", options.draft.thread, "The conversation; else a new one");
  add_client_options(command, options.client);
}

void write_names(lib::JsonWriter& out, std::string_view key,
                 const std::vector<std::string>& names) {
  out.key(key).array();
  for (const std::string& name : names) {
    out.text(name);
  }
  out.end_array();
}

int post_pattern(const PatternOptions& options, const std::string& path, std::string members) {
  const auto body = read_body(options.draft);
  if (!body) {
    return complain(body.error());
  }
  Draft draft = options.draft;
  draft.to = options.agents.front();
  base::SystemClock clock;
  members += compose(draft, *body, lib::random_uuid(), clock.now()) + "}";
  return ask_and_show(options.client,
                      {"POST", path, std::move(members), {{"Parley-Dialect", "flow"}}},
                      [](lib::Json answer) {
                        std::printf("%s\n", printable(text_of(answer, "id")).c_str());
                        return 0;
                      });
}

Table::Cell response_of(lib::Json asked) {
  const lib::Json response = asked.find("response");
  const std::string id = text_of(response, "id");
  return {id.empty() ? text_of(response, "seq") : id, Colour::dim};
}

}  // namespace parley::app
