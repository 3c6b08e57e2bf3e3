// SPDX-License-Identifier: Apache-2.0

// What every journal must do. A new implementation joins by one more line at the end of this file.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "journal/file/file.h"
#include "journal/journal.h"
#include "journal/memory.h"

namespace parley::journal {
namespace {

constexpr size_t no_limit = size_t{1} << 40;

// A clock that a test may also turn back.
class TurnableClock final : public base::Clock {
 public:
  Time now() override { return now_; }
  void set(int64_t us) { now_ = Time{us}; }

 private:
  Time now_{1'000'000};
};

// A journal under test, and what the interface leaves to the implementation.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Journal& journal() = 0;
  virtual void reopen() = 0;  // does nothing where nothing outlives the journal
  virtual void settle() = 0;  // returns once what was started is done
  TurnableClock clock;
};

class MemorySubject final : public Subject {
 public:
  Journal& journal() override { return journal_; }
  void reopen() override {}
  void settle() override {}

 private:
  MemoryLog log_{clock};
  MemoryJournal journal_{log_};
};

class FileSubject final : public Subject {
 public:
  // With `behind` every batch that is synced at all is synced behind its append.
  explicit FileSubject(bool behind) : behind_(behind) {
    std::string name = (std::filesystem::temp_directory_path() / "parley-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      ADD_FAILURE() << "cannot make a directory like " << name;
    }
    directory_ = name;
    open();
  }
  ~FileSubject() override {
    journal_.reset();
    std::filesystem::remove_all(directory_);
  }
  Journal& journal() override { return *journal_; }
  void reopen() override {
    journal_.reset();
    open();
  }
  void settle() override { journal_->settle(); }

 private:
  void open() {
    auto opened = FileJournal::open({directory_, size_t{64} << 10, true, nullptr}, clock);
    ASSERT_TRUE(opened) << opened.error().detail;
    journal_ = std::move(*opened);
    if (behind_) {
      journal_->sync_behind(1, [] {});
    }
  }

  const bool behind_;
  std::filesystem::path directory_;
  std::unique_ptr<FileJournal> journal_;
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Subject>()> make;
};

struct Copy {
  uint64_t seq;
  int64_t time_us;
  std::string payload;
};

class Conformance : public testing::TestWithParam<Kind> {
 protected:
  Journal& journal() { return subject_->journal(); }

  void append(const std::vector<std::string>& payloads, Sync sync = Sync::yes) {
    const std::vector<std::string_view> views(payloads.begin(), payloads.end());
    const auto appended = journal().append(views, sync);
    ASSERT_TRUE(appended) << appended.error().detail;
    subject_->settle();
    ASSERT_EQ(journal().appending(), Appending::idle);
  }

  std::vector<Copy> read(uint64_t after, size_t bytes_max = no_limit) {
    std::vector<Copy> copies;
    const auto done = journal().read(Seq{after}, bytes_max, [&](const Record& record) {
      copies.push_back({record.seq.n, record.time.us, std::string(record.payload)});
    });
    EXPECT_TRUE(done) << done.error().detail;
    return copies;
  }

  void save(uint64_t seq, std::string state) {
    ASSERT_TRUE(journal().save({Seq{seq}, std::move(state)}));
    subject_->settle();
    ASSERT_EQ(journal().snapshot_seq(), Seq{seq});
  }

  void trim(uint64_t upto, std::vector<Seq> keep) {
    journal().trim(Seq{upto}, std::move(keep));
    subject_->settle();
  }

  std::unique_ptr<Subject> subject_ = GetParam().make();
};

TEST_P(Conformance, NewJournalIsEmpty) {
  EXPECT_EQ(journal().last(), Seq{});
  EXPECT_EQ(journal().snapshot_seq(), Seq{});
  EXPECT_EQ(journal().appending(), Appending::idle);
  EXPECT_TRUE(read(0).empty());
  EXPECT_EQ(journal().load().value(), std::nullopt);
  EXPECT_EQ(journal().fetch(Seq{1}).error().code, base::Code::not_found);
}

TEST_P(Conformance, RecordsComeBackInOrderWithoutGap) {
  append({"a", "b"});
  append({"c"});
  append({"d", "e", "f"});
  const auto records = read(0);
  ASSERT_EQ(records.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(records[i].seq, i + 1);
    EXPECT_EQ(records[i].payload, std::string(1, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(journal().last(), Seq{6});
}

TEST_P(Conformance, TimesNeverGoBackWhenTheClockDoes) {
  subject_->clock.set(5'000);
  append({"a"});
  subject_->clock.set(3'000);
  append({"b"});
  subject_->reopen();
  append({"c"});
  subject_->clock.set(9'000);
  append({"d"});
  const auto records = read(0);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].time_us, 5'000);
  EXPECT_EQ(records[1].time_us, 5'000);
  EXPECT_EQ(records[2].time_us, 5'000);
  EXPECT_EQ(records[3].time_us, 9'000);
}

TEST_P(Conformance, ReadsFromAnyPlace) {
  for (int i = 1; i <= 300; ++i) {
    append({"record " + std::to_string(i), std::string(500, 'x')}, Sync::no);
  }
  for (uint64_t after = 0; after <= 600; after += 7) {
    const auto records = read(after);
    ASSERT_EQ(records.size(), 600 - after);
    if (!records.empty()) {
      EXPECT_EQ(records.front().seq, after + 1);
      EXPECT_EQ(records.back().seq, 600u);
    }
  }
  EXPECT_TRUE(read(600).empty());
  EXPECT_TRUE(read(9'000).empty());
}

TEST_P(Conformance, ReadStopsAboutAtTheLimitAndHandsOutAtLeastOne) {
  append({std::string(1'000, 'a'), std::string(1'000, 'b'), std::string(1'000, 'c')});
  append({std::string(1'000, 'd')});
  EXPECT_EQ(read(0, 0).size(), 1u);
  EXPECT_EQ(read(0, 1).size(), 1u);
  EXPECT_EQ(read(3, 1).size(), 1u);
  const size_t some = read(0, 1'500).size();
  EXPECT_GE(some, 1u);
  EXPECT_LE(some, 2u);
  EXPECT_EQ(read(0, 100'000).size(), 4u);
}

TEST_P(Conformance, FetchFindsEveryRecord) {
  for (int i = 1; i <= 200; ++i) {
    append({"one " + std::to_string(i), std::string(static_cast<size_t>(i) * 7, 'y')});
  }
  for (uint64_t seq = 1; seq <= 400; ++seq) {
    const uint64_t i = (seq + 1) / 2;
    const std::string wanted = seq % 2 == 1 ? "one " + std::to_string(i) : std::string(i * 7, 'y');
    EXPECT_EQ(journal().fetch(Seq{seq}).value(), wanted);
  }
  EXPECT_EQ(journal().fetch(Seq{401}).error().code, base::Code::not_found);
  EXPECT_EQ(journal().fetch(Seq{0}).error().code, base::Code::not_found);
}

TEST_P(Conformance, EmptyBatchAppendsNothing) {
  append({});
  EXPECT_EQ(journal().last(), Seq{});
  append({"a"});
  append({});
  EXPECT_EQ(journal().last(), Seq{1});
}

TEST_P(Conformance, EmptyPayloadIsARecord) {
  append({"", "", "x", ""});
  subject_->reopen();
  const auto records = read(0);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1].payload, "");
  EXPECT_EQ(records[2].payload, "x");
  EXPECT_EQ(journal().fetch(Seq{4}).value(), "");
}

TEST_P(Conformance, PayloadMayHoldAnyBytes) {
  std::string bytes(512, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i);
  }
  append({bytes, std::string(64, '\0')});
  subject_->reopen();
  EXPECT_EQ(journal().fetch(Seq{1}).value(), bytes);
  EXPECT_EQ(journal().fetch(Seq{2}).value(), std::string(64, '\0'));
}

TEST_P(Conformance, LargePayloadsFit) {
  const std::string large(size_t{1} << 20, 'L');
  append({"before", large, "after"});
  append({large, large});
  append({"end"});
  subject_->reopen();
  EXPECT_EQ(journal().fetch(Seq{2}).value(), large);
  EXPECT_EQ(journal().fetch(Seq{5}).value(), large);
  const auto records = read(0);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[2].payload, "after");
  EXPECT_EQ(records[5].payload, "end");
}

TEST_P(Conformance, UnsyncedBatchCanBeReadAtOnceAndALaterSyncCoversIt) {
  append({"a", "b"}, Sync::no);
  EXPECT_EQ(read(0).size(), 2u);
  append({"c"}, Sync::yes);
  subject_->reopen();
  const auto records = read(0);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].payload, "a");
}

TEST_P(Conformance, RecordsOutliveReopening) {
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 40; ++i) {
      append({std::string(1'000, static_cast<char>('a' + round))});
    }
    subject_->reopen();
    EXPECT_EQ(journal().last().n, static_cast<uint64_t>(round + 1) * 40);
  }
  const auto records = read(0);
  ASSERT_EQ(records.size(), 200u);
  EXPECT_EQ(records[199].payload, std::string(1'000, 'e'));
}

TEST_P(Conformance, NewestSnapshotIsLoaded) {
  append({"a", "b", "c"});
  save(1, "state one");
  save(2, std::string(100'000, 's'));
  save(3, "state three");
  subject_->reopen();
  EXPECT_EQ(journal().snapshot_seq(), Seq{3});
  const auto loaded = journal().load().value();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->seq, Seq{3});
  EXPECT_EQ(loaded->state, "state three");
}

TEST_P(Conformance, SnapshotThatFailsItsCheckIsNotStored) {
  append({"a", "b"});
  save(1, "good");
  Snapshot bad{Seq{2}, "bad"};
  bad.check = [](const Snapshot& snapshot) -> std::expected<void, Error> {
    EXPECT_EQ(snapshot.seq, Seq{2});
    EXPECT_EQ(snapshot.state, "bad");
    return std::unexpected(Error{base::Code::malformed_record, "it is bad", {}});
  };
  ASSERT_TRUE(journal().save(bad));
  subject_->settle();
  EXPECT_EQ(journal().take_save_failure().value().detail, "it is bad");
  EXPECT_FALSE(journal().take_save_failure());
  EXPECT_EQ(journal().snapshot_seq(), Seq{1});
  subject_->reopen();
  EXPECT_EQ(journal().load().value()->state, "good");
  bad.check = [](const Snapshot&) -> std::expected<void, Error> { return {}; };
  ASSERT_TRUE(journal().save(bad));
  subject_->settle();
  EXPECT_EQ(journal().snapshot_seq(), Seq{2});
}

TEST_P(Conformance, SnapshotIsMadeOfTheOlderOneAndTheRecordsSince) {
  append({"a", "b", "c", "d"});
  const auto make = [](uint64_t upto) {
    return [upto](std::optional<Snapshot> older,
                  const ReadRecords& read) -> std::expected<std::string, Error> {
      std::string state = older ? older->state : "none";
      const auto done = read(older ? older->seq : Seq{}, Seq{upto}, [&](const Record& record) {
        state += " " + std::to_string(record.seq.n) + std::string(record.payload);
      });
      return done ? std::expected<std::string, Error>(state) : std::unexpected(done.error());
    };
  };
  ASSERT_TRUE(journal().save({.seq = Seq{2}, .state = {}, .make = make(2)}));
  subject_->settle();
  EXPECT_EQ(journal().load().value()->state, "none 1a 2b");
  ASSERT_TRUE(journal().save({.seq = Seq{4}, .state = {}, .make = make(4)}));
  subject_->settle();
  subject_->reopen();
  EXPECT_EQ(journal().load().value()->state, "none 1a 2b 3c 4d");
  append({"e"});
  Snapshot unmade{.seq = Seq{5}, .state = {}};
  unmade.make = [](const auto&, const auto&) -> std::expected<std::string, Error> {
    return std::unexpected(Error{base::Code::malformed_record, "it cannot be made", {}});
  };
  ASSERT_TRUE(journal().save(unmade));
  subject_->settle();
  EXPECT_EQ(journal().take_save_failure().value().detail, "it cannot be made");
  EXPECT_EQ(journal().snapshot_seq(), Seq{4});
}

TEST_P(Conformance, SnapshotCoversUnsyncedRecords) {
  append({"a", "b", "c"}, Sync::no);
  save(3, "");
  subject_->reopen();
  EXPECT_EQ(journal().last(), Seq{3});
  EXPECT_EQ(journal().load().value()->state, "");
}

TEST_P(Conformance, TrimKeepsWhatIsKeptAndWhatFollows) {
  for (int i = 1; i <= 500; ++i) {
    append({"body " + std::to_string(i) + std::string(1'000, '.')}, Sync::no);
  }
  save(450, "state");
  std::vector<Seq> keep;
  for (uint64_t n = 10; n <= 450; n += 10) {
    keep.push_back(Seq{n});
  }
  trim(450, keep);
  EXPECT_FALSE(journal().read(Seq{449}, no_limit, [](const Record&) {}));
  EXPECT_FALSE(journal().read(Seq{0}, no_limit, [](const Record&) {}));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(read(450).size(), 50u);
    for (const Seq seq : keep) {
      EXPECT_TRUE(journal().fetch(seq).value().starts_with("body " + std::to_string(seq.n) + "."));
    }
    EXPECT_EQ(journal().fetch(Seq{11}).error().code, base::Code::not_found);
    subject_->reopen();
  }
  EXPECT_EQ(journal().last(), Seq{500});
}

TEST_P(Conformance, TrimmedAgainWithLessGivesMoreBack) {
  for (int i = 1; i <= 400; ++i) {
    append({std::to_string(i) + std::string(1'000, '.')}, Sync::no);
  }
  save(300, "");
  trim(100, {Seq{5}, Seq{50}, Seq{99}});
  save(400, "");
  trim(350, {Seq{50}, Seq{200}});
  EXPECT_TRUE(journal().fetch(Seq{50}).value().starts_with("50."));
  EXPECT_TRUE(journal().fetch(Seq{200}).value().starts_with("200."));
  EXPECT_EQ(read(350).size(), 50u);
}

INSTANTIATE_TEST_SUITE_P(
    Journals, Conformance,
    testing::Values(Kind{"Memory", [] { return std::make_unique<MemorySubject>(); }},
                    Kind{"File", [] { return std::make_unique<FileSubject>(false); }},
                    Kind{"FileSyncedBehind", [] { return std::make_unique<FileSubject>(true); }}),
    [](const auto& instance) { return instance.param.name; });

// Only for a journal that is shared.
TEST(MemoryJournal, HandlesReadTheSameRecordsAndTheLogFreesWhatAllHaveTrimmed) {
  TurnableClock clock;
  MemoryLog log(clock);
  MemoryJournal one(log);
  MemoryJournal two(log);
  const std::vector<std::string_view> payloads = {"a", "b", "c"};
  ASSERT_TRUE(one.append(payloads, Sync::yes));
  ASSERT_TRUE(two.append(payloads, Sync::yes));
  EXPECT_EQ(one.last(), Seq{6});
  EXPECT_EQ(two.last(), Seq{6});
  ASSERT_TRUE(one.save({Seq{5}, ""}));
  one.trim(Seq{5}, {Seq{2}});
  EXPECT_EQ(two.fetch(Seq{1}).value(), "a");
  EXPECT_FALSE(one.fetch(Seq{1}));
  EXPECT_EQ(log.records_held(), 6u);
  ASSERT_TRUE(two.save({Seq{4}, ""}));
  two.trim(Seq{4}, {Seq{3}});
  EXPECT_EQ(log.records_held(), 4u);
  EXPECT_EQ(one.fetch(Seq{2}).value(), "b");
  EXPECT_EQ(two.fetch(Seq{3}).value(), "c");
  EXPECT_EQ(two.fetch(Seq{5}).value(), "b");
}

}  // namespace
}  // namespace parley::journal
