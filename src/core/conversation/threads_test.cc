// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

Thread a_thread(std::string name, uint64_t root, bool ages = true) {
  Thread thread;
  thread.name = std::move(name);
  thread.root = Seq{root};
  thread.closed = base::time_max;
  thread.ages = ages;
  return thread;
}

std::vector<std::string> names_in(const Threads& threads, Threads::Standing standing) {
  std::vector<std::string> names;
  for (ThreadRef ref = threads.first(standing); ref != none; ref = threads.next(ref)) {
    names.push_back(threads[ref].name);
  }
  EXPECT_EQ(names.size(), threads.count(standing));
  return names;
}

std::vector<std::string> aging_in(const Threads& threads) {
  std::vector<std::string> names;
  for (ThreadRef ref = threads.oldest(); ref != none; ref = threads.younger(ref)) {
    names.push_back(threads[ref].name);
  }
  return names;
}

// FL-17
TEST(Threads, StandAsTheirRequestsDo) {
  Threads threads(1);
  const ThreadRef ref = threads.add(a_thread("t", 1));
  EXPECT_EQ(threads[ref].state(), ThreadState::created);
  threads.open_request(ref);
  threads.open_request(ref);
  threads.end_request(ref, Time{1});
  EXPECT_EQ(threads[ref].state(), ThreadState::active);
  threads.end_request(ref, Time{2});
  EXPECT_EQ(threads[ref].state(), ThreadState::resolved);
  threads.close(ref, "ana", Time{3});
  EXPECT_EQ(threads[ref].state(), ThreadState::closed);
  EXPECT_EQ(threads[ref].changed, Time{3});
}

// Two names that share a hash are told apart: the table compares names.
TEST(Threads, AreFoundByTheWholeName) {
  Threads threads(7);
  std::vector<ThreadRef> refs;
  for (int n = 0; n < 5'000; ++n) {
    refs.push_back(threads.add(a_thread("thread " + std::to_string(n), static_cast<uint64_t>(n))));
  }
  for (int n = 0; n < 5'000; ++n) {
    EXPECT_EQ(threads.find("thread " + std::to_string(n)), refs[static_cast<size_t>(n)]);
  }
  EXPECT_EQ(threads.find("thread 5000"), none);
  EXPECT_EQ(threads.find(""), none);
}

TEST(Threads, OneThatIsOverdueOrClosedAgesNoMore) {
  Threads threads(1);
  const ThreadRef a = threads.add(a_thread("a", 1));
  const ThreadRef b = threads.add(a_thread("b", 2));
  threads.add(a_thread("c", 3, false));
  threads.add(a_thread("d", 4));
  EXPECT_EQ(aging_in(threads), (std::vector<std::string>{"a", "b", "d"}));
  threads.set_overdue(b);
  threads.close(a, "", Time{1});
  EXPECT_EQ(aging_in(threads), (std::vector<std::string>{"d"}));
  threads.remove(a);
  threads.remove(b);
  EXPECT_EQ(aging_in(threads), (std::vector<std::string>{"d"}));
}

// Against plain lists of names.
TEST(Threads, KeepTheirOrderInEachStanding) {
  struct Model {
    std::string name;
    int pending = 0;
    bool closed = false;
  };
  const uint64_t seed = 20'261'116;
  testing::Random random(seed);
  Threads threads(seed);
  std::list<Model> order;  // the one that was moved last is last
  const auto standing = [](const Model& model) {
    return model.pending > 0 ? Threads::Standing::active
           : model.closed    ? Threads::Standing::closed
                             : Threads::Standing::idle;
  };
  for (uint64_t step = 1; step <= 20'000; ++step) {
    const std::string name = "t" + std::to_string(random.below(40));
    const auto at = std::ranges::find(order, name, &Model::name);
    const ThreadRef ref = threads.find(name);
    ASSERT_EQ(ref == none, at == order.end()) << "seed " << seed << " step " << step;
    if (at == order.end()) {
      threads.add(a_thread(name, step));
      order.push_back({name});
      continue;
    }
    const uint32_t dice = random.below(10);
    if (dice < 3) {
      threads.touch(ref, Time{static_cast<int64_t>(step)});
    } else if (dice < 6) {
      threads.open_request(ref);
      ++at->pending;
    } else if (dice < 8 && at->pending > 0) {
      threads.end_request(ref, Time{static_cast<int64_t>(step)});
      --at->pending;
    } else if (dice == 8 && !at->closed) {
      threads.close(ref, "", Time{static_cast<int64_t>(step)});
      at->closed = true;
    } else if (dice == 9 && at->pending == 0) {
      threads.remove(ref);
      order.erase(at);
      continue;
    } else {
      continue;
    }
    order.splice(order.end(), order, at);
    for (const auto each :
         {Threads::Standing::closed, Threads::Standing::idle, Threads::Standing::active}) {
      std::vector<std::string> wanted;
      for (const Model& model : order) {
        if (standing(model) == each) {
          wanted.push_back(model.name);
        }
      }
      ASSERT_EQ(names_in(threads, each), wanted) << "seed " << seed << " step " << step;
    }
  }
}

std::vector<std::string> names_of(const Threads& threads, AgentRef agent,
                                  Seq before = Threads::newest, size_t max = SIZE_MAX) {
  std::vector<std::string> names;
  threads.each_of(agent, before, [&](ThreadRef ref) {
    names.push_back(threads[ref].name);
    return names.size() < max;
  });
  return names;
}

// Against a walk over all of them: who takes part finds its own, newest first, in pages too.
TEST(Threads, EachPrincipalFindsTheThreadsInWhichItTakesPart) {
  const uint64_t seed = 20'261'118;
  testing::Random random(seed);
  Threads threads(seed);
  std::map<uint64_t, std::string, std::greater<>> by_root;  // newest first
  for (uint64_t step = 1; step <= 8'000; ++step) {
    const std::string name = "t" + std::to_string(random.below(300));
    const AgentRef agent = random.below(12);
    const ThreadRef ref = threads.find(name);
    if (ref == none) {
      Thread begun = a_thread(name, step);
      if (random.below(2) == 0) {  // as a snapshot has it: with all who take part
        begun.participants = {agent, agent + 1};
      }
      threads.add(std::move(begun));
      by_root.emplace(step, name);
    } else if (random.below(4) == 0) {
      by_root.erase(threads[ref].root.n);
      threads.remove(ref);
    } else if (std::ranges::find(threads[ref].participants, agent) ==
               threads[ref].participants.end()) {
      threads.join(ref, agent);
    }
    const AgentRef asked = random.below(14);
    std::vector<std::string> wanted;
    std::vector<std::string> page;
    const uint64_t before = 1 + random.below(static_cast<uint32_t>(step));
    for (const auto& [root, each] : by_root) {
      const std::vector<AgentRef>& in = threads[threads.find(each)].participants;
      if (std::ranges::find(in, asked) == in.end()) {
        continue;
      }
      wanted.push_back(each);
      if (root < before && page.size() < 3) {
        page.push_back(each);
      }
    }
    ASSERT_EQ(names_of(threads, asked), wanted) << "seed " << seed << " step " << step;
    ASSERT_EQ(names_of(threads, asked, Seq{before}, 3), page) << "seed " << seed;
  }
  std::vector<std::string> all;
  for (const auto& [root, name] : by_root) {
    all.push_back(name);
  }
  EXPECT_EQ(names_of(threads, none), all);
}

}  // namespace
}  // namespace parley::core
