// SPDX-License-Identifier: Apache-2.0
#include "app/config.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace parley::app {
namespace {

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "parley-config-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    data_ = path;
    sources_.environment = {{"HOME", "/home/ana"}, {"PARLEY_DATA", data_}};
  }
  void TearDown() override { std::filesystem::remove_all(data_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(data_ + "/" + name) << text;
    return data_ + "/" + name;
  }
  Config load() const {
    auto config = load_config(sources_);
    EXPECT_TRUE(config.has_value()) << config.error().detail;
    return config.value_or(Config{});
  }
  std::string refusal() const {
    const auto config = load_config(sources_);
    EXPECT_FALSE(config.has_value());
    return config ? "" : config.error().detail;
  }

  std::string data_;
  ConfigSources sources_;
};

TEST_F(ConfigTest, WithoutAnySourceEverythingHasItsDefault) {
  const Config config = load();
  EXPECT_EQ(config.data, data_);
  EXPECT_EQ(config.listen, (Address{"127.0.0.1", 7455}));
  EXPECT_FALSE(config.insecure);
  EXPECT_EQ(config.log_level, LogLevel::info);
  EXPECT_EQ(config.server.connections_max, net::Server::Limits{}.connections_max);
  EXPECT_TRUE(config.rules.empty());
}

TEST_F(ConfigTest, TheFileInTheDataDirectoryIsRead) {
  write("parley.toml",
        "listen = \"127.0.0.1:1\"\nallowed_hosts = [\"a.example\", \"b.example\"]\n"
        "[server]\nbody_bytes_max = \"1MB\"\nidle_timeout = \"2m\"\nconnections_max = 12\n"
        "[flow.ttl]\ncritical = \"300s\"\n");
  const Config config = load();
  EXPECT_EQ(config.listen.port, 1);
  EXPECT_EQ(config.allowed_hosts, (std::vector<std::string>{"a.example", "b.example"}));
  EXPECT_EQ(config.server.body_bytes_max, 1'048'576);
  EXPECT_EQ(config.server.idle_timeout, base::minutes(2));
  EXPECT_EQ(config.server.connections_max, 12);
  EXPECT_EQ(config.rules, (std::map<std::string, std::string>{{"flow.ttl.critical", "5m"}}));
  EXPECT_EQ(config.origins.at("listen"), data_ + "/parley.toml:1");
}

TEST_F(ConfigTest, ANamedFileIsReadInstead) {
  write("parley.toml", "listen = \"127.0.0.1:1\"\n");
  sources_.file = write("other.toml", "listen = \"127.0.0.1:2\"\n");
  EXPECT_EQ(load().listen.port, 2);
  sources_.file.clear();
  sources_.environment.emplace_back("PARLEY_CONFIG", data_ + "/other.toml");
  EXPECT_EQ(load().listen.port, 2);
}

TEST_F(ConfigTest, TheEnvironmentGoesBeforeTheFileAndAFlagBeforeBoth) {
  write("parley.toml", "listen = \"127.0.0.1:1\"\nlog.level = \"debug\"\nqueue_max = 5\n");
  sources_.environment.emplace_back("PARLEY_LISTEN", "127.0.0.1:2");
  sources_.environment.emplace_back("PARLEY_QUEUE_MAX", "6");
  sources_.flags = {{"--listen", "listen", "127.0.0.1:3"}};
  const Config config = load();
  EXPECT_EQ(config.listen.port, 3);
  EXPECT_EQ(config.rules.at("queue_max"), "6");
  EXPECT_EQ(config.log_level, LogLevel::debug);
  EXPECT_EQ(config.origins.at("listen"), "--listen");
  EXPECT_EQ(config.origins.at("queue_max"), "PARLEY_QUEUE_MAX");
}

TEST_F(ConfigTest, EveryKeyHasAVariableOfItsOwn) {
  std::set<std::string> variables;
  for (const KeyInfo& key : all_keys()) {
    EXPECT_TRUE(variables.insert(variable_of(key.name)).second) << key.name;
  }
  EXPECT_EQ(variable_of("flow.ttl.critical"), "PARLEY_FLOW_TTL_CRITICAL");
  EXPECT_EQ(variable_of("server.body_bytes_max"), "PARLEY_SERVER_BODY_BYTES_MAX");
}

TEST_F(ConfigTest, EveryDefaultIsWhatItsKeyTakes) {
  for (const KeyInfo& key : all_keys()) {
    if (key.name != "data") {
      sources_.flags = {{"--set", key.name, key.default_value}};
      EXPECT_EQ(value_of(load(), key.name), key.default_value) << key.name;
    }
  }
}

TEST_F(ConfigTest, AnUnknownKeyIsRefusedWithItsPlaceAndTheNearest) {
  write("parley.toml", "\n[flow.ttl]\ncritcal = \"5m\"\n");
  EXPECT_EQ(refusal(), data_ +
                           "/parley.toml:3: there is no key \"flow.ttl.critcal\"; the nearest "
                           "is \"flow.ttl.critical\"");
  sources_.file = write("own.toml", "lissten = \"x\"\n");
  EXPECT_EQ(refusal(),
            data_ + "/own.toml:1: there is no key \"lissten\"; the nearest is \"listen\"");
}

TEST_F(ConfigTest, TheFirstMistakeOfAFileIsTold) {
  write("parley.toml", "zzz = 1\naaa = 2\n");
  EXPECT_NE(refusal().find("parley.toml:1: there is no key \"zzz\""), std::string::npos);
}

TEST_F(ConfigTest, AnUnknownVariableIsRefusedWithTheNearest) {
  sources_.environment.emplace_back("PARLEY_LISTN", "x");
  EXPECT_EQ(refusal(),
            "the environment has PARLEY_LISTN, which is no key; the nearest is PARLEY_LISTEN");
}

TEST_F(ConfigTest, VariablesOfTheClientAndOfKubernetesAreLeftAlone) {
  for (const char* name : {"PARLEY_URL", "PARLEY_TOKEN", "PARLEY_PORT", "PARLEY_PORT_7455_TCP",
                           "PARLEY_SERVICE_HOST", "OTHER"}) {
    sources_.environment.emplace_back(name, "x");
  }
  load();
}

TEST_F(ConfigTest, ABadValueIsRefusedWithWhatTheKeyTakes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"server.connections_max = 0",
       "server.connections_max takes a whole number from 1 to 1000000, not \"0\""},
      {"server.body_bytes_max = \"1 MB\"",
       "server.body_bytes_max takes a size from 1KB to 1GB, not \"1 MB\""},
      {"server.idle_timeout = 30",
       "server.idle_timeout takes a duration from 1s to 24h, not \"30\""},
      {"log.level = \"loud\"", "log.level takes error, warning, info or debug, not \"loud\""},
      {"insecure = \"yes\"", "insecure takes true or false, not \"yes\""},
      {"listen = \"7455\"", "listen takes HOST:PORT, not \"7455\""},
      {"flow.lease = \"0s\"", "flow.lease takes a duration from 1ms to 8784h, not \"0s\""},
      {"message_bytes_max = \"1GB\"",
       "message_bytes_max takes a size from 1KB to 64MB, not \"1GB\""},
      {"queue_max = 1.5", "queue_max takes a whole number from 1 to 100000000, not \"1.5\""},
  };
  for (const auto& [line, wanted] : cases) {
    sources_.file = write("case.toml", line + "\n");
    const std::string found = refusal();
    EXPECT_NE(found.find(wanted), std::string::npos) << found;
    EXPECT_TRUE(found.find("case.toml:1: ") != found.npos || found.find("line 1: ") != found.npos)
        << found;
  }
}

TEST_F(ConfigTest, ARuleInBytesTakesASize) {
  sources_.flags = {{"--set", "message_bytes_max", "2MB"}};
  EXPECT_EQ(load().rules.at("message_bytes_max"), "2097152");
}

TEST_F(ConfigTest, AFileThatCannotBeReadIsOneClearLine) {
  sources_.file = data_ + "/none.toml";
  EXPECT_EQ(refusal(), "the configuration " + data_ +
                           "/none.toml cannot be read: No such file or directory; name another "
                           "with --config");
  sources_.file = data_;
  EXPECT_NE(refusal().find("it is a directory"), std::string::npos);
  sources_.file = write("bad.toml", "a = \n");
  EXPECT_NE(refusal().find("bad.toml: line 1: "), std::string::npos);
}

TEST_F(ConfigTest, TheFileInTheDataDirectoryCannotMoveIt) {
  write("parley.toml", "data = \"/elsewhere\"\n");
  EXPECT_NE(refusal().find("parley.toml:1: data cannot be set"), std::string::npos);
}

TEST_F(ConfigTest, ListeningElsewhereWantsTlsOrInsecure) {
  sources_.flags = {{"--listen", "listen", "0.0.0.0:7455"}};
  EXPECT_NE(refusal().find("0.0.0.0:7455 without TLS"), std::string::npos);
  sources_.flags.push_back({"--insecure", "insecure", "true"});
  load();
  sources_.flags.back() = {"--tls-certificate", "tls.certificate", "cert.pem"};
  EXPECT_NE(refusal().find("belong together"), std::string::npos);
  sources_.flags.push_back({"--tls-key", "tls.key", "key.pem"});
  load();
}

TEST(DataDirectory, FollowsTheFlagThenTheVariableThenTheStateHomeThenTheHome) {
  Pairs environment = {{"HOME", "/h"}, {"PARLEY_DATA", "/p"}, {"XDG_STATE_HOME", "/x"}};
  EXPECT_EQ(data_directory("/f", environment), "/f");
  EXPECT_EQ(data_directory("", environment), "/p");
  environment.erase(environment.begin() + 1);
  EXPECT_EQ(data_directory("", environment), "/x/parley");
  environment[1].second = "relative";
  EXPECT_EQ(data_directory("", environment), "/h/.local/state/parley");
}

TEST(ParseAddress, ReadsHostAndPort) {
  EXPECT_EQ(parse_address("127.0.0.1:0"), (Address{"127.0.0.1", 0}));
  EXPECT_EQ(parse_address("[::1]:7455"), (Address{"::1", 7455}));
  EXPECT_EQ(format_address({"::1", 7455}), "[::1]:7455");
  for (const char* text : {"", ":", ":80", "host", "host:", "host:x", "host:65536", "::1:80"}) {
    EXPECT_FALSE(parse_address(text).has_value()) << text;
  }
}

TEST(IsLoopback, TakesOnlyThisMachine) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback("127.evil.example"));
}

// SP-13
TEST_F(ConfigTest, RoutesAndSchedulesAreTablesOfTheFile) {
  write("parley.toml",
        "[github]\nas = \"human:kim\"\n[[github.route]]\nlabel = \"bug\"\nworker = \"triage\"\n"
        "confidence_threshold = 0.9\n[[schedule]]\nat = \"03:00\"\nworker = \"scribe\"\n"
        "description = \"Look\"\nrepository = \"o/r\"\n");
  const Config config = load();
  EXPECT_EQ(config.github_as, "human:kim");
  ASSERT_EQ(config.events.routes.size(), 1U);
  EXPECT_EQ(config.events.routes[0].label, "bug");
  ASSERT_EQ(config.events.schedules.size(), 1U);
  EXPECT_EQ(config.events.schedules[0].offset, base::hours(3));
}

TEST_F(ConfigTest, AMistakeInARouteIsToldWithItsLine) {
  const std::string path = write("parley.toml", "\n[[github.route]]\nwroker = \"triage\"\n");
  EXPECT_EQ(refusal(),
            path + ":3: [[github.route]] has no key \"wroker\"; the nearest is \"worker\"");
  write("parley.toml", "[[github.routes]]\nworker = \"triage\"\n");
  EXPECT_TRUE(refusal().starts_with(path + ":1: there is no key \"github.routes[0]\"; "))
      << refusal();
}

// SP-13: never printed, neither by `config show` nor by an error.
TEST_F(ConfigTest, TheSecretOfTheHookIsShownToNobody) {
  sources_.environment.emplace_back("PARLEY_GITHUB_SECRET", "hush-hush");
  const Config config = load();
  EXPECT_EQ(config.github_secret, "hush-hush");
  EXPECT_EQ(value_of(config, "github.secret"), "(secret)");
  EXPECT_EQ(value_of(Config{}, "github.secret"), "");
  sources_.flags.push_back({"--set", "github.secret_file", "/tmp/secret"});
  EXPECT_EQ(refusal(), "github.secret and github.secret_file are both set; one has the secret");
}

}  // namespace
}  // namespace parley::app
