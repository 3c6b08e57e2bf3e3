// SPDX-License-Identifier: Apache-2.0
// What several subcommands share on the command line.

#include "app/commands/commands.h"
#include "base/time.h"

namespace parley::app {

void add_broker_options(Command& command, ClientOptions& options, Speaker speaker) {
  constexpr const char* group = "The broker";
  command.add_option("--url", options.url, "Its address; else PARLEY_URL, else the local one")
      ->type_name("URL")
      ->group(group);
  const char* meaning = speaker == Speaker::agent
                            ? "The agent's token, or @FILE; else what is kept for --agent"
                            : "Your token, @FILE, or agent:NAME for one that is kept; else "
                              "PARLEY_TOKEN, else the local broker's admin.token";
  Option* token = command.add_option("--token", options.token, meaning);
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

}  // namespace parley::app
