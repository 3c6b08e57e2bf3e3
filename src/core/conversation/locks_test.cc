// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/locks.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::Random;
using testing::start_time;

std::string encoded(const Locks& locks) {
  std::string bytes;
  Writer out(bytes);
  locks.encode(out);
  return bytes;
}

// CO-09: whatever is done in the order that the workspace demands, no ring of waiters forms.
TEST(Locks, RandomUseMakesNoRingAndComesBackFromASnapshot) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Locks locks;
    const std::vector<std::string> agents = {"ana", "bo", "cy", "dee"};
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    std::map<std::string, Seq> newest;  // fence of each lock
    for (uint64_t n = 1; n <= 500; ++n) {
      const Time now = start_time + base::seconds(static_cast<int64_t>(n));
      const std::string& agent = random.pick(agents);
      const std::string& name = random.pick(names);
      const Lock* const lock = locks.find(name);
      const auto* const held = locks.held_by(agent);
      const bool in_order =
          locks.awaited_by(agent) == nullptr && (held == nullptr || *held->rbegin() < name);
      if (lock == nullptr && in_order) {
        locks.take(name, agent, Seq{n}, now, now + base::seconds(10));
      } else if (lock != nullptr && in_order && lock->owner != agent) {
        locks.wait(name, {.place = Seq{n},
                          .until = now + base::seconds(20),
                          .lease = base::seconds(10),
                          .agent = agent});
      } else if (lock != nullptr && random.below(3) == 0) {
        locks.pass_on(name, now);
      }
      // Who waits for whom: following it ends, with one who waits for none.
      std::map<std::string, std::string> waits;
      locks.each_wait([&](const std::string& who, const std::string& owner, const std::string&) {
        waits[who] = owner;
      });
      size_t steps = 0;
      for (std::string at = agent; waits.contains(at); at = waits[at]) {
        ASSERT_LE(++steps, agents.size()) << agent << " waits in a ring";
      }
      for (const auto& [each, one] : locks.all()) {
        EXPECT_GE(one.fence, newest[each]);
        newest[each] = one.fence;
      }
    }
    const std::string bytes = encoded(locks);
    Reader in(bytes);
    Locks restored;
    ASSERT_TRUE(restored.decode(in));
    EXPECT_EQ(encoded(restored), bytes);
    EXPECT_EQ(restored.next_due(), locks.next_due());
  }
}

}  // namespace
}  // namespace parley::core
