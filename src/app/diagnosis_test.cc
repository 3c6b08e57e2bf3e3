// SPDX-License-Identifier: Apache-2.0
#include "app/diagnosis.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/scripted_broker_test.h"
#include "journal/file/file.h"

namespace parley::app {
namespace {

using Status = Finding::Status;

constexpr base::Time now{1'800'000'000'000'000};

class Doctor : public testing::Test {
 protected:
  Doctor() {
    // A free port: nothing here listens on a fixed one.
    sources_.environment = {{"PARLEY_DATA", surroundings_.data()},
                            {"PARLEY_LISTEN", "127.0.0.1:0"}};
    client_.data = surroundings_.data();
  }

  // The worst of the findings of one check; a check that said nothing fails the test.
  Finding found(const std::string& check) {
    const auto findings = examine(sources_, client_, now);
    const Finding* worst = nullptr;
    for (const Finding& finding : findings) {
      if (finding.check == check && (worst == nullptr || finding.status > worst->status)) {
        worst = &finding;
      }
    }
    EXPECT_NE(worst, nullptr) << check;
    return worst == nullptr ? Finding{} : *worst;
  }

  std::unique_ptr<journal::FileJournal> open_journal(base::Duration ahead = {}) {
    clock_.advance(ahead);
    auto journal = journal::FileJournal::open(
        {.directory = surroundings_.data() + "/journal", .segment_bytes = 64 * 1024}, clock_);
    EXPECT_TRUE(journal.has_value());
    const std::string_view payload = "xxxxxxxx";
    EXPECT_TRUE((*journal)->append({&payload, 1}, journal::Sync::yes).has_value());
    EXPECT_TRUE((*journal)->append({&payload, 1}, journal::Sync::yes).has_value());
    return std::move(*journal);
  }

  // Changes a byte of the first record's payload, or of the last one's.
  enum class Which : uint8_t { first, last };
  void damage(Which which) const {
    for (const auto& file :
         std::filesystem::directory_iterator(surroundings_.data() + "/journal")) {
      if (file.path().filename().string().find("log") == std::string::npos) {
        continue;
      }
      std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      const size_t at = which == Which::first ? bytes.find("xxxx") : bytes.rfind("xxxx");
      if (at != bytes.npos) {
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put('y');
      }
    }
  }

  void run_broker(const std::string& url) const {
    surroundings_.write("broker.json",
                        R"({"url":")" + url + R"(","pid":)" + std::to_string(::getpid()) + "}");
    surroundings_.write("admin.token", "prl_admin\n");
    ::chmod((surroundings_.data() + "/admin.token").c_str(), 0600);
  }

  base::ManualClock clock_{now};  // outlives the journals
  Surroundings surroundings_;
  ConfigSources sources_;
  ClientOptions client_;
};

TEST_F(Doctor, ADirectoryThatIsNotThereYetIsNoFailure) {
  client_.data = surroundings_.data() + "/none";
  sources_.environment[0].second = client_.data;
  EXPECT_EQ(found("data").status, Status::warn);
  EXPECT_NE(found("data").advice.find("parley serve"), std::string::npos);
  EXPECT_EQ(found("port").status, Status::ok);
}

TEST_F(Doctor, AFileInPlaceOfTheDirectoryFails) {
  sources_.environment[0].second = surroundings_.write("file", "");
  EXPECT_EQ(found("data").status, Status::fail);
}

TEST_F(Doctor, AnErrorOfTheConfigurationFailsAndTheRestIsLookedAt) {
  surroundings_.write("parley.toml", "lissten = 1\n");
  EXPECT_EQ(found("config").status, Status::fail);
  EXPECT_NE(found("config").detail.find("nearest is \"listen\""), std::string::npos);
  EXPECT_EQ(found("data").status, Status::ok);
}

TEST_F(Doctor, AnAdminTokenThatOthersCanReadFails) {
  EXPECT_EQ(found("token").status, Status::warn);
  const std::string path = surroundings_.write("admin.token", "prl_admin\n");
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(found("token").status, Status::fail);
  EXPECT_NE(found("token").advice.find("chmod 600"), std::string::npos);
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(found("token").status, Status::ok);
}

TEST_F(Doctor, ASoundJournalIsSaidSo) {
  open_journal();
  EXPECT_EQ(found("journal").status, Status::ok);
  EXPECT_EQ(found("clock").status, Status::ok);
  EXPECT_EQ(found("in use").status, Status::ok);
}

TEST_F(Doctor, ADamagedJournalFailsWithTheFileToRestore) {
  open_journal();
  damage(Which::first);  // a later record proves that it was stored
  const Finding finding = found("journal");
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_NE(finding.advice.find("backup"), std::string::npos);
}

TEST_F(Doctor, ATornTailIsOnlyAWarning) {
  open_journal();
  damage(Which::last);
  const Finding finding = found("journal");
  EXPECT_EQ(finding.status, Status::warn) << finding.detail;
  EXPECT_NE(finding.detail.find("never acknowledged"), std::string::npos) << finding.detail;
}

TEST_F(Doctor, AClockBehindTheJournalIsSeen) {
  open_journal(base::seconds(30));
  EXPECT_EQ(found("clock").status, Status::warn);
  EXPECT_NE(found("clock").detail.find("30s ahead"), std::string::npos) << found("clock").detail;
}

TEST_F(Doctor, AClockFarBehindTheJournalFails) {
  open_journal(base::hours(1));
  EXPECT_EQ(found("clock").status, Status::fail);
}

TEST_F(Doctor, ADirectoryInUseNamesTheProcess) {
  const auto journal = open_journal();
  const Finding finding = found("in use");
  EXPECT_EQ(finding.status, Status::warn);
  EXPECT_NE(finding.detail.find("process " + std::to_string(::getpid())), std::string::npos);
  EXPECT_NE(found("journal").detail.find("in use"), std::string::npos);
}

TEST_F(Doctor, ABrokerThatWasKilledIsExplained) {
  open_journal();
  surroundings_.write("broker.json", R"({"url":"http://127.0.0.1:1","pid":999999999})");
  EXPECT_EQ(found("in use").status, Status::warn);
  EXPECT_NE(found("in use").detail.find("did not stop cleanly"), std::string::npos);
}

TEST_F(Doctor, APortThatIsTakenFails) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket, 1), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  sources_.environment[1].second = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(found("port").status, Status::fail);
  EXPECT_NE(found("port").advice.find("--listen"), std::string::npos);
  ::close(socket);
}

TEST_F(Doctor, ARunningBrokerIsAsked) {
  ScriptedBroker broker;
  broker.answer("GET /v1/health", 200, R"({"status":"healthy","version":")" PARLEY_VERSION R"("})");
  const auto journal = open_journal();
  run_broker(broker.url());
  EXPECT_EQ(found("in use").status, Status::ok);
  EXPECT_EQ(found("broker").status, Status::ok);
}

TEST_F(Doctor, ABrokerOfAnotherVersionIsAWarning) {
  ScriptedBroker broker;
  broker.answer("GET /v1/health", 200, R"({"status":"healthy","version":"0.0.0"})");
  const auto journal = open_journal();
  run_broker(broker.url());
  EXPECT_EQ(found("broker").status, Status::warn);
  EXPECT_NE(found("broker").detail.find("version 0.0.0"), std::string::npos);
}

TEST_F(Doctor, ATokenThatIsNotTakenFails) {
  ScriptedBroker broker;
  broker.answer("GET /v1/health", 401, R"({"code":"UNAUTHORIZED","detail":"no"})");
  const auto journal = open_journal();
  run_broker(broker.url());
  EXPECT_EQ(found("broker").status, Status::fail);
}

TEST_F(Doctor, ABrokerThatCannotBeReachedFails) {
  const auto journal = open_journal();
  std::string url;
  {
    const ScriptedBroker broker;
    url = broker.url();  // nobody listens there afterwards
  }
  run_broker(url);
  EXPECT_EQ(found("broker").status, Status::fail);
}

TEST_F(Doctor, TheCommandPrintsOneLineForEachCheckAndEndsWithOneOnFailure) {
  ::setenv("PARLEY_LISTEN", "127.0.0.1:0", 1);
  const Ran good = run_captured({"doctor"});
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_NE(good.out.find("ok    config"), std::string::npos) << good.out;
  surroundings_.write("parley.toml", "nonsense = 1\n");
  const Ran bad = run_captured({"doctor", "--json"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(bad.out.starts_with(R"({"ok":false,"checks":[{"check":"config","status":"fail")"))
      << bad.out;
  ::unsetenv("PARLEY_LISTEN");
}

TEST(ParseHttpDate, ReadsTheOneForm) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), base::Time{784'111'777'000'000});
  for (const char* text : {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT",
                           "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT"}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace parley::app
