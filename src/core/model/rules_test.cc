// SPDX-License-Identifier: Apache-2.0
#include "core/model/rules.h"
#include "core/model/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace parley::core {
namespace {

using base::Code;

uint64_t number_of(const Rules& rules, const RuleInfo& info) {
  if (const auto* duration = std::get_if<Duration Rules::*>(&info.member)) {
    return static_cast<uint64_t>((rules.*(*duration)).us);
  }
  if (const auto* delays = std::get_if<Delays Rules::*>(&info.member)) {
    return static_cast<uint64_t>((rules.*(*delays)).pauses.front().us);
  }
  return rules.*std::get<uint64_t Rules::*>(info.member);
}

std::string text_of(const RuleInfo& info, uint64_t value) {
  if (!info.words.empty()) {
    return value < info.words.size() ? std::string(info.words[value]) : "nonsense";
  }
  return !std::holds_alternative<uint64_t Rules::*>(info.member)
             ? base::format_duration(Duration{static_cast<int64_t>(value)})
             : std::to_string(value);
}

TEST(Rules, TableIsSortedAndNamesAreUnique) {
  EXPECT_TRUE(std::ranges::is_sorted(all_rules(), std::less_equal<>{}, &RuleInfo::name));
}

TEST(Rules, EveryValueOfTheStructHasOneRow) {
  Rules rules;
  std::set<const void*> members;
  size_t bytes = 0;
  for (const RuleInfo& info : all_rules()) {
    std::visit(
        [&](auto member) {
          members.insert(&(rules.*member));
          bytes += sizeof(rules.*member);
        },
        info.member);
  }
  EXPECT_EQ(members.size(), all_rules().size());
  EXPECT_EQ(bytes, sizeof(Rules)) << "a value without a row";
}

TEST(Rules, DefaultsLieWithinTheBounds) {
  const Rules rules;
  for (const RuleInfo& info : all_rules()) {
    EXPECT_LE(info.min, number_of(rules, info)) << info.name;
    EXPECT_GE(info.max, number_of(rules, info)) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
  }
}

TEST(Rules, EachIsSetToItsBoundsAndNoFurther) {
  for (const RuleInfo& info : all_rules()) {
    for (const uint64_t value : {info.min, info.max}) {
      Rules rules;
      ASSERT_TRUE(set_rule(rules, info.name, text_of(info, value)).has_value()) << info.name;
      EXPECT_EQ(number_of(rules, info), value) << info.name;
      EXPECT_EQ(rule_value(rules, info), text_of(info, value));
    }
    Rules rules;
    const auto above = set_rule(rules, info.name, text_of(info, info.max + 1));
    ASSERT_FALSE(above.has_value()) << info.name;
    EXPECT_EQ(above.error().code, Code::bad_rule_value);
    if (info.min > 0) {
      EXPECT_FALSE(set_rule(rules, info.name, text_of(info, info.min - 1)).has_value())
          << info.name;
    }
    EXPECT_EQ(rules, Rules{}) << info.name;
  }
}

TEST(Rules, PrintedValuesSetTheSame) {
  Rules copy;
  copy.queue_max = 1;
  copy.flow_lease = base::seconds(1);
  for (const RuleInfo& info : all_rules()) {
    ASSERT_TRUE(set_rule(copy, info.name, rule_value(Rules{}, info)).has_value()) << info.name;
  }
  EXPECT_EQ(copy, Rules{});
}

TEST(Rules, NonsenseIsRefused) {
  Rules rules;
  for (const std::string_view value :
       {"", " ", "5 ", " 5", "+5", "-5", "0x5", "5.0", "5s", "1e3", "18446744073709551616"}) {
    const auto set = set_rule(rules, "queue_max", value);
    ASSERT_FALSE(set.has_value()) << '"' << value << '"';
    EXPECT_EQ(set.error().code, Code::bad_rule_value);
  }
  for (const std::string_view value : {"", "5", "s", "5 s", "-5s", "5.5s", "5d", "5S",
                                       "9223372036854775807h", "99999999999999999999s"}) {
    EXPECT_FALSE(set_rule(rules, "flow.lease", value).has_value()) << '"' << value << '"';
  }
  EXPECT_EQ(rules, Rules{});
}

// CO-08
TEST(Rules, DelaysAreAList) {
  Rules rules;
  const auto value = [&] {
    const auto infos = all_rules();
    return rule_value(rules, *std::ranges::find(infos, "collab.retry_delays", &RuleInfo::name));
  };
  EXPECT_EQ(value(), "1s,2s,4s");
  ASSERT_TRUE(set_rule(rules, "collab.retry_delays", "500ms, 1m"));
  EXPECT_EQ(value(), "500ms,1m");
  EXPECT_EQ(retry_pause(rules, Dialect::collab, false, 1), base::minutes(1));
  EXPECT_EQ(retry_pause(rules, Dialect::collab, false, 2), std::nullopt);
  EXPECT_EQ(retry_pause(rules, Dialect::collab, true, 0), std::nullopt);
  ASSERT_TRUE(set_rule(rules, "collab.retry_delays", "none"));
  EXPECT_EQ(value(), "none");
  for (const std::string_view text :
       {"", ",", "1s,", ",1s", "1s,,2s", "1", "0s", "1s 2s", "1s,2s,3s,4s,5s,6s,7s,8s"}) {
    EXPECT_FALSE(set_rule(rules, "collab.retry_delays", text)) << text;
  }
}

TEST(Rules, UnknownNameNamesTheNearest) {
  Rules rules;
  const auto set = set_rule(rules, "flow.leese", "5s");
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, Code::unknown_rule);
  EXPECT_NE(set.error().detail.find("\"flow.lease\""), std::string::npos);
  // A client's input, however long, is neither searched nor repeated in full.
  const std::string huge(1'000'000, 'x');
  EXPECT_LT(set_rule(rules, huge, "5").error().detail.size(), 300u);
  EXPECT_LT(set_rule(rules, "queue_max", huge).error().detail.size(), 300u);
}

// FL-15 and the numbers of requirements.md that hold when nothing is configured.
TEST(Rules, DefaultsAreThoseOfTheProtocols) {
  const Rules rules;
  EXPECT_EQ(default_ttl(rules, Dialect::flow, Priority::critical), base::minutes(5));
  EXPECT_EQ(default_ttl(rules, Dialect::flow, Priority::high), base::hours(1));
  EXPECT_EQ(default_ttl(rules, Dialect::flow, Priority::normal), base::hours(24));
  EXPECT_EQ(default_ttl(rules, Dialect::flow, Priority::low), base::hours(72));
  EXPECT_EQ(default_ttl(rules, Dialect::squad, Priority::critical), base::hours(24));
  for (const Dialect dialect : {Dialect::collab, Dialect::inbox, Dialect::superprompt}) {
    EXPECT_EQ(default_ttl(rules, dialect, Priority::normal), Duration{});
  }
  EXPECT_EQ(default_lease(rules, Dialect::flow), base::seconds(60));
  EXPECT_EQ(default_lease(rules, Dialect::collab), base::seconds(60));
  for (const Dialect dialect : {Dialect::inbox, Dialect::superprompt, Dialect::squad}) {
    EXPECT_EQ(default_lease(rules, dialect), base::minutes(30));
  }
  // CO-04
  EXPECT_EQ(default_timeout(rules, Dialect::collab, Kind::request, false), base::seconds(30));
  EXPECT_EQ(default_timeout(rules, Dialect::collab, Kind::query, false), base::seconds(5));
  EXPECT_EQ(default_timeout(rules, Dialect::collab, Kind::query, true), base::seconds(1));
  EXPECT_EQ(rules.attempts_max, 5u);
  EXPECT_EQ(rules.queue_max, 10'000u);
  EXPECT_EQ(rules.topic_retention, base::hours(1));
}

// SP-11: the audit trail of superprompt has no secrets unless someone says so.
TEST(Rules, SecretsOfSuperpromptAreRedactedAndOthersWarnedOf) {
  Rules rules;
  EXPECT_EQ(secrets_policy(rules, Dialect::superprompt), SecretsPolicy::redact);
  EXPECT_EQ(secrets_policy(rules, Dialect::flow), SecretsPolicy::warn);
  EXPECT_EQ(secrets_policy(rules, Dialect::squad), SecretsPolicy::warn);
  ASSERT_TRUE(set_rule(rules, "secrets.policy", "refuse"));
  ASSERT_TRUE(set_rule(rules, "superprompt.secrets_policy", "off"));
  EXPECT_EQ(secrets_policy(rules, Dialect::inbox), SecretsPolicy::refuse);
  EXPECT_EQ(secrets_policy(rules, Dialect::superprompt), SecretsPolicy::off);
  EXPECT_FALSE(set_rule(rules, "secrets.policy", "mask"));
}

// Whoever changes a rate begins all of them anew; one that is not compared would do nothing.
TEST(Rules, EveryRateIsCompared) {
  size_t rates = 0;
  for (const RuleInfo& info : all_rules()) {
    if (!info.name.starts_with("flow.rate.") || !info.name.ends_with("_per_min")) {
      continue;
    }
    Rules changed;
    ASSERT_TRUE(set_rule(changed, info.name, "7")) << info.name;
    EXPECT_FALSE(same_rates(Rules{}, changed)) << info.name;
    ++rates;
  }
  EXPECT_EQ(rates, 5u);
  EXPECT_TRUE(same_rates(Rules{}, Rules{}));
}

}  // namespace
}  // namespace parley::core
