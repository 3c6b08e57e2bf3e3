// SPDX-License-Identifier: Apache-2.0
#include "journal/follower.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "journal/file/file.h"

namespace parley::journal {
namespace {

// A journal on the real disk, with small segments.
struct Live {
  std::string path = ::testing::TempDir() + "parley-follower-XXXXXX";
  base::SystemClock clock;
  std::unique_ptr<FileJournal> journal;

  explicit Live(bool background = false) {
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    auto opened = FileJournal::open({path, 16 << 10, background, nullptr}, clock);
    EXPECT_TRUE(opened) << opened.error().detail;
    journal = std::move(*opened);
  }
  ~Live() {
    journal.reset();
    std::filesystem::remove_all(path);
  }

  static std::string payload(Seq seq) {
    return std::to_string(seq.n) + std::string(seq.n * 37 % 600, 'p');
  }
  void append(size_t count, Sync sync = Sync::no) const {
    std::vector<std::string> payloads;
    for (size_t n = 1; n <= count; ++n) {
      payloads.push_back(payload(Seq{journal->last().n + n}));
    }
    const std::vector<std::string_view> views(payloads.begin(), payloads.end());
    const auto done = journal->append(views, sync);
    EXPECT_TRUE(done) << done.error().detail;
  }
  void trim(Seq upto) const {
    EXPECT_TRUE(journal->save({upto, "state"}));
    journal->settle();
    journal->trim(upto, {});
    journal->settle();
  }
};

// Reads and checks that all came, in order and unaltered.
std::expected<void, Error> follow(Follower& follower, Seq after, Seq upto) {
  Seq next = after.next();
  auto done = follower.read(after, upto, [&](const Record& record) {
    EXPECT_EQ(record.seq, next);
    EXPECT_EQ(record.payload, Live::payload(record.seq));
    EXPECT_GT(record.time.us, 0);
    next = next.next();
  });
  if (done) {
    EXPECT_EQ(next, upto.next());
  }
  return done;
}

TEST(Follower, GoesOnWhereItWasAcrossSegments) {
  const Live live;
  Follower follower(live.path);
  Seq position;
  for (int n = 0; n < 60; ++n) {
    live.append(7);
    const auto done = follow(follower, position, live.journal->last());
    ASSERT_TRUE(done) << done.error().detail;
    position = live.journal->last();
  }
}

TEST(Follower, StartsAnywhereAndPassesOver) {
  const Live live;
  for (int n = 0; n < 50; ++n) {
    live.append(5);
  }
  for (uint64_t after = 0; after < 250; after += 13) {
    Follower follower(live.path);
    ASSERT_TRUE(follow(follower, Seq{after}, Seq{250}));
    ASSERT_TRUE(follow(follower, Seq{after}, Seq{std::min<uint64_t>(after + 3, 250)}));
    ASSERT_TRUE(follow(follower, Seq{std::min<uint64_t>(after + 90, 249)}, Seq{250}));
  }
}

TEST(Follower, FollowsWhenAnEmptySegmentIsReplacedForALargeBatch) {
  const Live live;
  Follower follower(live.path);
  // The first segment is open while it is empty; the batch does not fit and gets its own.
  EXPECT_FALSE(follower.read(Seq{0}, Seq{1}, [](const Record&) { FAIL(); }));
  live.append(200);
  ASSERT_TRUE(follow(follower, Seq{0}, Seq{200}));
  live.append(1);
  live.append(200);
  ASSERT_TRUE(follow(follower, Seq{200}, Seq{401}));
}

TEST(Follower, GoesOnAfterTheSegmentsBehindItWereRecycled) {
  const Live live;
  Follower follower(live.path);
  Seq position;
  for (int n = 0; n < 40; ++n) {
    live.append(20, Sync::yes);
    ASSERT_TRUE(follow(follower, position, live.journal->last()));
    position = live.journal->last();
    live.trim(position);
  }
  const auto gone = follow(follower, Seq{0}, Seq{1});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, base::Code::not_found);
}

TEST(Follower, SaysWhichRecordIsMissingAndRecovers) {
  const Live live;
  live.append(3);
  Follower follower(live.path);
  const auto early = follow(follower, Seq{0}, Seq{5});
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().detail.find("record 4"), std::string::npos) << early.error().detail;
  live.append(2);
  EXPECT_TRUE(follow(follower, Seq{3}, Seq{5}));
}

TEST(Follower, NeverHandsOutADamagedRecord) {
  const Live live;
  live.append(10, Sync::yes);
  {
    std::fstream file(live.path + "/" + log_name(Seq{1}),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(block_bytes + 300);
    file.put('!');
  }
  Follower follower(live.path);
  EXPECT_FALSE(follow(follower, Seq{0}, Seq{10}));
}

// The writer's thread appends, rolls and trims; the reader's thread follows. For the thread
// sanitizer as well.
TEST(Follower, FollowsAWriterOnAnotherThread) {
  const Live live(true);
  std::atomic<uint64_t> applied = 0;
  std::atomic<uint64_t> position = 0;
  constexpr uint64_t last = 6'000;
  std::thread writer([&] {
    while (applied < last) {
      live.append(30);
      applied = live.journal->last().n;
      if (applied % 900 == 0) {
        const Seq upto{position.load()};
        if (upto.n > 0 && live.journal->save({upto, "state"})) {
          live.journal->settle();
          live.journal->trim(live.journal->snapshot_seq(), {});
        }
      }
    }
  });
  Follower follower(live.path);
  bool good = true;
  while (good && position < last) {
    const Seq upto{applied.load()};
    good = follow(follower, Seq{position}, upto).has_value();
    position = upto.n;
  }
  EXPECT_TRUE(good);
  writer.join();
}

// Snapshots are made by a follower, beside the appending.
TEST(Snapshots, AreMadeWhileTheJournalGoesOn) {
  Live live(true);
  live.append(400);
  std::binary_semaphore begun(0);
  std::binary_semaphore goes_on(0);
  Snapshot snapshot{.seq = Seq{400}, .state = {}};
  snapshot.make = [&](std::optional<Snapshot> older,
                      const ReadRecords& read) -> std::expected<std::string, Error> {
    EXPECT_FALSE(older);
    begun.release();
    goes_on.acquire();
    uint64_t count = 0;
    EXPECT_TRUE(read(Seq{}, Seq{400}, [&](const Record& record) {
      EXPECT_EQ(record.seq.n, ++count);
      EXPECT_EQ(record.payload, Live::payload(record.seq));
    }));
    return std::to_string(count);
  };
  ASSERT_TRUE(live.journal->save(std::move(snapshot)));
  begun.acquire();
  live.append(400);  // more than one segment: the housekeeper makes spares meanwhile
  EXPECT_EQ(live.journal->last(), Seq{800});
  EXPECT_EQ(live.journal->snapshot_seq(), Seq{});
  goes_on.release();
  live.journal->settle();
  EXPECT_EQ(live.journal->load().value()->state, "400");
}

TEST(Snapshots, AreNotWaitedForWhenTheJournalIsClosed) {
  Live live(true);
  live.append(1);
  std::binary_semaphore begun(0);
  Snapshot snapshot{.seq = Seq{1}, .state = {}};
  snapshot.make = [&](const auto&, const ReadRecords& read) -> std::expected<std::string, Error> {
    begun.release();
    while (true) {  // until the journal says that it has no time for this
      if (auto done = read(Seq{}, Seq{1}, [](const Record&) {}); !done) {
        return std::unexpected(done.error());
      }
    }
  };
  ASSERT_TRUE(live.journal->save(std::move(snapshot)));
  begun.acquire();
  live.journal.reset();
  auto opened = FileJournal::open({live.path, 16 << 10, false, nullptr}, live.clock);
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->last(), Seq{1});
  EXPECT_EQ((*opened)->snapshot_seq(), Seq{});
}

}  // namespace
}  // namespace parley::journal
