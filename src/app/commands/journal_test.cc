// SPDX-License-Identifier: Apache-2.0
#include "app/commands/journal.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/model/entry.h"
#include "journal/file/file.h"

namespace parley::app {
namespace {

// A data directory with a journal of three entries.
class JournalCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "parley-app-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    data_ = path;
    base::ManualClock clock(base::Time{1'800'000'000'000'000});
    auto journal = journal::FileJournal::open(
        {.directory = data_ + "/journal", .segment_bytes = 64 * 1024}, clock);
    ASSERT_TRUE(journal.has_value());
    append(**journal, core::broker_name, core::StartNode{.node = "one"}, 1);
    append(**journal, core::broker_name, core::Register{.name = "ana\x1b[2J"}, 2);
    core::Send send;
    send.envelope.sender = "ana";
    send.envelope.receivers = {"bo"};
    send.envelope.type = "request";
    send.envelope.body = "secret body";
    append(**journal, "ana", send, 3);
  }
  void TearDown() override { std::filesystem::remove_all(data_); }

  static void append(journal::Journal& journal, std::string_view actor, core::Command command,
                     uint64_t number) {
    core::Entry entry;
    entry.id = {1, number};
    entry.actor = actor;
    entry.command = std::move(command);
    std::string payload;
    core::encode(entry, payload);
    const std::string_view view = payload;
    ASSERT_TRUE(journal.append({&view, 1}, journal::Sync::yes).has_value());
  }

  // Changes a byte in the middle of the first record.
  void damage() const {
    for (const auto& file : std::filesystem::directory_iterator(data_ + "/journal")) {
      if (file.path().filename().string().find("log") == std::string::npos) {
        continue;
      }
      std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(4096 + 40);
      stream.put('X');
    }
  }

  std::string data_;
};

TEST_F(JournalCommand, DumpPrintsOneLinePerRecord) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(dump_journal(data_, {}), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("#1 2027-01-15T08:00:00.000Z broker start node node=\"one\"\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("#3 2027-01-15T08:00:00.000Z \"ana\" send "), std::string::npos) << out;
  EXPECT_NE(out.find(" receivers=\"bo\" "), std::string::npos) << out;
  EXPECT_NE(out.find(" type=\"request\" "), std::string::npos) << out;
  EXPECT_NE(out.find(" body=11 bytes\n"), std::string::npos) << out;
}

TEST_F(JournalCommand, DumpOfAnAgentPrintsWhatItAskedForAndWhatNamesIt) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(dump_journal(data_, {.agent = "bo"}), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find(" \"ana\" send "), std::string::npos) << out;
  EXPECT_EQ(out.find(" start node "), std::string::npos) << out;
}

TEST_F(JournalCommand, DumpShowsNoBodiesAndNoControlBytes) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(dump_journal(data_, {}), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(out.find("secret"), std::string::npos) << out;
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << out;
  EXPECT_NE(out.find("\"ana\\x1b[2J\""), std::string::npos) << out;
}

TEST_F(JournalCommand, DumpKeepsToTheRange) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(dump_journal(data_, {.from = 2, .to = 2}), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(out.starts_with("#2 ")) << out;
  EXPECT_EQ(std::ranges::count(out, '\n'), 1) << out;
}

TEST_F(JournalCommand, VerifyOfASoundJournalSaysSo) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(verify_journal(data_), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("\nsound\n"), std::string::npos);
}

TEST_F(JournalCommand, VerifyNamesTheDamagedPlace) {
  damage();
  testing::internal::CaptureStdout();
  EXPECT_EQ(verify_journal(data_), 1);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("4096"), std::string::npos) << out;
  EXPECT_NE(out.find("DAMAGED"), std::string::npos) << out;
}

TEST_F(JournalCommand, AMissingDirectoryIsAClearFailure) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(verify_journal(data_ + "/none"), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("none"), std::string::npos);
}

}  // namespace
}  // namespace parley::app
