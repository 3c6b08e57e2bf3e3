// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/flags.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "lib/json.h"

namespace parley::edge {
namespace {

core::Flags many_flags(uint64_t count) {
  core::Flags flags;
  for (uint64_t n = 1; n <= count; ++n) {
    flags.add({.record = base::Seq{n}, .sender = "community", .summary = "s"}, count);
  }
  return flags;
}

// The ids of all pages, and how many pages there were.
struct Pages {
  std::vector<uint64_t> ids{};
  size_t count = 0;
};

Pages pages_of(const core::Flags& flags, WantedFlags wanted) {
  Pages pages;
  for (bool has_more = true; has_more; ++pages.count) {
    const std::string text = flags_text(flags, wanted);
    lib::JsonDocument document;
    const auto page = document.parse(text);
    EXPECT_TRUE(page) << text;
    for (const lib::Json item : page->find("items").elements()) {
      pages.ids.push_back(item.find("id").as_uint64().value_or(0));
    }
    EXPECT_EQ(page->find("total").as_uint64(), wanted.count(flags));
    const auto next = page->find("next").as_string();
    has_more = next.has_value();
    wanted.before = base::parse_number(next.value_or("0")).value_or(0);
  }
  return pages;
}

TEST(FlagsText, ListsEachOnceTheNewestFirst) {
  core::Flags flags = many_flags(7);
  flags.resolve(3, "done", "human:mod", base::Time{1});
  flags.resolve(6, "done", "human:mod", base::Time{1});
  EXPECT_EQ(pages_of(flags, {.limit = 2}).ids, (std::vector<uint64_t>{7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(pages_of(flags, {.resolved = false, .limit = 2}).ids,
            (std::vector<uint64_t>{7, 5, 4, 2, 1}));
  const Pages resolved = pages_of(flags, {.open = false, .limit = 2});
  EXPECT_EQ(resolved.ids, (std::vector<uint64_t>{6, 3}));
  EXPECT_EQ(resolved.count, 1u) << "the first page has all that there are, and looks no further";
  EXPECT_EQ(pages_of(flags, {.limit = 7}).count, 1u);
  EXPECT_EQ(pages_of(core::Flags(), {.limit = 7}).count, 1u);
}

// SP-09: what a moderator's list costs has a bound, however few of very many flags it wants.
TEST(FlagsText, PassesOverSoManyAtOnce) {
  constexpr uint64_t count = 2 * flags_passed_max + 5;
  core::Flags flags = many_flags(count);
  flags.resolve(2, "done", "human:mod", base::Time{1});
  flags.resolve(count - 1, "done", "human:mod", base::Time{1});
  const Pages resolved = pages_of(flags, {.open = false, .limit = 100});
  EXPECT_EQ(resolved.ids, (std::vector<uint64_t>{count - 1, 2}));
  EXPECT_EQ(resolved.count, 3u);
  EXPECT_EQ(pages_of(flags, {.resolved = false, .limit = 1'000}).ids.size(), count - 2);
}

}  // namespace
}  // namespace parley::edge
