// SPDX-License-Identifier: Apache-2.0
#include "lib/json.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "lib/json_fault.h"
#include "lib/json_writer.h"

namespace parley::lib {
namespace {

using base::Code;

std::string detail_of(std::string_view text, const JsonLimits& limits = {}) {
  JsonDocument document;
  const auto parsed = document.parse(text, limits);
  return parsed ? "" : parsed.error().detail;
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, ReadsValuesOfEachKind) {
  JsonDocument document;
  const auto root = document.parse(
      R"({"n":null,"t":true,"i":-5,"u":18446744073709551615,"d":1.5,"s":"a\u00e9\n",)"
      R"("a":[],"o":{}})");
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->find("n").is_null());
  EXPECT_EQ(root->find("t").as_bool(), true);
  EXPECT_EQ(root->find("i").as_int64(), -5);
  EXPECT_EQ(root->find("i").as_uint64(), std::nullopt);
  EXPECT_EQ(root->find("u").as_uint64(), 18446744073709551615ull);
  EXPECT_EQ(root->find("u").as_int64(), std::nullopt);
  EXPECT_EQ(root->find("d").as_double(), 1.5);
  EXPECT_EQ(root->find("d").as_int64(), std::nullopt);
  EXPECT_EQ(root->find("i").as_double(), -5.0);
  EXPECT_EQ(root->find("s").as_string(), "a\xc3\xa9\n");
  EXPECT_EQ(root->find("s").as_bool(), std::nullopt);
  EXPECT_EQ(root->find("a").kind(), JsonKind::array);
  EXPECT_EQ(root->find("o").kind(), JsonKind::object);
  EXPECT_FALSE(root->find("missing"));
  EXPECT_FALSE(root->find("a").find("x"));
}

TEST(Json, RawIsTheExactSource) {
  JsonDocument document;
  const auto root = document.parse(
      " {\"a\" : 1e2 ,\n\"b\":{ \"c\" : [1, {\"d\":\"]}\\\"\"} ] } , \"e\" "
      ": \"x\\u0041\"\t, \"f\":true } ");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("a").raw(), "1e2");
  EXPECT_EQ(root->find("b").raw(), R"({ "c" : [1, {"d":"]}\""} ] })");
  EXPECT_EQ(root->find("b").find("c").raw(), R"([1, {"d":"]}\""} ])");
  EXPECT_EQ(root->find("e").raw(), R"("x\u0041")");
  EXPECT_EQ(root->find("f").raw(), "true");
  const auto number = document.parse("  42 \n");
  ASSERT_TRUE(number);
  EXPECT_EQ(number->raw(), "42");
}

TEST(Json, IteratesInTheOrderOfTheSource) {
  JsonDocument document;
  const auto root = document.parse(R"({"b":[1,[2,{}],"x",2.5],"a":{},"b":3})");
  ASSERT_TRUE(root);
  std::string keys;
  std::string raws;
  for (const auto& [key, value] : root->members()) {
    keys += key;
    raws.append(value.raw()).append(";");
  }
  EXPECT_EQ(keys, "bab");
  EXPECT_EQ(raws, R"([1,[2,{}],"x",2.5];{};3;)");
  std::string elements;
  for (const Json element : root->find("b").elements()) {
    elements.append(element.raw()).append(";");
  }
  EXPECT_EQ(elements, R"(1;[2,{}];"x";2.5;)");
  for (const Json element : root->elements()) {
    ADD_FAILURE() << element.raw() << " is no element: the root is an object";
  }
}

TEST(Json, NoValueMayBeAskedEverything) {
  JsonDocument document;
  const auto parsed = document.parse(R"({"a":{"b":1}})");
  ASSERT_TRUE(parsed);
  for (const Json none : {Json(), parsed->find("x"), parsed->find("x").find("y"),
                          parsed->find("a").find("b").find("c")}) {
    EXPECT_FALSE(none);
    EXPECT_EQ(none.kind(), JsonKind::none);
    EXPECT_FALSE(none.is_object());
    EXPECT_FALSE(none.is_null());
    EXPECT_EQ(none.as_bool(), std::nullopt);
    EXPECT_EQ(none.as_int64(), std::nullopt);
    EXPECT_EQ(none.as_uint64(), std::nullopt);
    EXPECT_EQ(none.as_double(), std::nullopt);
    EXPECT_EQ(none.as_string(), std::nullopt);
    EXPECT_EQ(none.raw(), "");
    EXPECT_TRUE(none.empty());
    for (const JsonMember& member : none.members()) {
      ADD_FAILURE() << member.key;
    }
    for (const Json element : none.elements()) {
      ADD_FAILURE() << element.raw();
    }
  }
}

TEST(Json, CountsWhatItHolds) {
  JsonDocument document;
  const auto parsed =
      document.parse(R"({"a":[1,[2,3],{"b":4}],"none":[],"nothing":{},"text":"x"})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->size(), 4u);
  EXPECT_EQ(parsed->find("a").size(), 3u);
  EXPECT_EQ(parsed->find("a").size(2), 2u);
  EXPECT_FALSE(parsed->find("a").empty());
  for (const std::string_view key : {"none", "nothing", "text", "missing"}) {
    EXPECT_EQ(parsed->find(key).size(), 0u) << key;
    EXPECT_TRUE(parsed->find(key).empty()) << key;
  }
}

TEST(Json, FindsTheFirstOfDuplicates) {
  JsonDocument document;
  const auto root = document.parse(R"({"a":1,"a":2})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("a").as_int64(), 1);
}

TEST(Json, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1, column 1: a value was wanted, found the end of the text"},
      {"{\"a\":\n  1", "line 2, column 4: ',' or '}' was wanted after a member, found the end"},
      {"{\"a\" 1}", "column 6: ':' was wanted after a name, found '1'"},
      {"{a:1}", "column 2: a name in quotes was wanted, found 'a'"},
      {"[1,]", "column 4: a value was wanted, found ']'"},
      {"[1 2]", "column 4: ',' or ']' was wanted"},
      {"{} x", "column 4: nothing more was wanted after the value, found 'x'"},
      {"\"abc", "the string is not closed"},
      {"\"a\nb\"", "a control character in a string must be escaped, found the byte 0x0a"},
      {"\"\\x\"", "the escape is unknown"},
      {"\"\\ud800\"", "half of a surrogate pair"},
      {"\"\xff\"", "column 2: UTF-8 was wanted, found the byte 0xff"},
      {"\"\xed\xa0\x80\"", "UTF-8 was wanted"},
      {"nul", "'null' was wanted"},
      {"01", "no leading zeros"},
      {"-", "digits were wanted after '-'"},
      {"1.", "digits were wanted after '.'"},
      {"123456789012345678901234567890", "the number does not fit"},
      {"-9223372036854775809", "the number does not fit"},
      {"1e999", "the number does not fit"},
  };
  for (const auto& [text, wanted] : cases) {
    EXPECT_NE(detail_of(text).find(wanted), std::string::npos) << text << ": " << detail_of(text);
  }
}

// A megabyte of `1,` takes ten times as long as a megabyte of words.
TEST(Json, TokensAreLimitedAndWordsAreNotTokens) {
  JsonDocument document;
  std::string many = "[1";
  std::string words = "[\"";
  for (int n = 0; n < 270'000; ++n) {
    many += ",1";
    words += ",1";
  }
  const auto refused = document.parse(many + "]");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::payload_too_large);
  EXPECT_TRUE(document.parse(words + "\"]"));
  EXPECT_TRUE(document.parse("[1,1]"));
}

TEST(Json, DepthAndSizeAreLimited) {
  EXPECT_EQ(detail_of(nested(64)), "");
  EXPECT_NE(detail_of(nested(65)).find("at most 64 objects and arrays"), std::string::npos);
  EXPECT_EQ(detail_of(nested(3), {.depth_max = 3}), "");
  EXPECT_NE(detail_of(nested(4), {.depth_max = 3}), "");
  EXPECT_NE(detail_of(std::string(2'000'000, '[')), "");
  JsonDocument document;
  const auto parsed = document.parse("[1,2,3]", {.bytes_max = 6});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::payload_too_large);
}

TEST(Json, DocumentIsUsedAgainAfterLargeTextsAndErrors) {
  JsonDocument document;
  const std::string large = "[\"" + std::string(1'000'000, 'x') + "\"]";
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(document.parse("{\"a\":1}"));
    EXPECT_FALSE(document.parse("{\"a\":"));
    const auto parsed = document.parse(large);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->raw().size(), large.size());
  }
  const auto small = document.parse("[{\"a\":[]}]");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->raw(), "[{\"a\":[]}]");
}

// The slow reader that explains errors accepts exactly what the fast one does.
TEST(Json, BothReadersAgreeOnMutatedTexts) {
  const std::string seed_text =
      R"( {"a":[1,-2.5e+3,true,null,"x\u00e9\ud83d\ude00\n"],"b":{"c":"é"},"d":0.0,"e":false} )";
  const std::string alphabet = "{}[]\",:\\u0123456789eE+-.tfn \x01\xff\xc3\xa9";
  constexpr unsigned seed = 20260715;
  std::mt19937 random(seed);
  JsonDocument document;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = seed_text;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        default:
          text.erase(at, 1 + random() % 3);
      }
    }
    const bool good = document.parse(text).has_value();
    ASSERT_EQ(good, !find_json_fault(text, 64).found) << "seed " << seed << ": " << text;
  }
}

TEST(JsonWriter, WritesCommasAndEscapes) {
  std::string out;
  JsonWriter writer(out);
  writer.object().key("a").number(1).key("b\"").array().text("x\n\x01\"\\").boolean(true).null();
  writer.number(uint64_t{18446744073709551615ull}).real(0.5).object().end_object().end_array();
  writer.key("t").time(base::Time{}).key("d").duration(base::minutes(5));
  writer.raw_key("\"r\"").raw("[ 1 ]").end_object();
  EXPECT_EQ(out,
            "{\"a\":1,\"b\\\"\":[\"x\\n\\u0001\\\"\\\\\",true,null,18446744073709551615,0.5,{}],"
            "\"t\":\"1970-01-01T00:00:00.000Z\",\"d\":\"5m\",\"r\":[ 1 ]}");
}

TEST(JsonWriter, AnyBytesComeOutAsJson) {
  constexpr unsigned seed = 7;
  std::mt19937 random(seed);
  JsonDocument document;
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes(random() % 12, ' ');
    for (char& c : bytes) {
      c = static_cast<char>(random());
    }
    std::string out;
    append_json_string(out, bytes);
    ASSERT_TRUE(document.parse(out)) << "seed " << seed << ": " << out;
  }
  std::string out;
  append_json_string(out, "\xc3\xa9\xff\xf0\x9f\x98\x80");
  EXPECT_EQ(out, "\"\xc3\xa9\xef\xbf\xbd\xf0\x9f\x98\x80\"");
}

// What looks like another text, and means the same as the text that it is.
TEST(JsonWriter, VisibleStringsHideNothing) {
  const std::string text =
      "gr\xc3\xbcn \"a\\b\"\n\x7f\xc2\xa0\xe2\x80\x8b\xe2\x80\xae\xe3\x85\xa4\xf3\xa0\x80\x81.";
  std::string out;
  append_visible_json_string(out, text);
  EXPECT_EQ(out,
            "\"gr\xc3\xbcn \\\"a\\\\b\\\"\\n\\u007f\\u00a0\\u200b\\u202e\\u3164\\udb40\\udc01.\"");
  JsonDocument document;
  const auto json = document.parse(out);
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->as_string(), text);
  out.clear();
  append_visible_json_string(out, "a\xff");
  EXPECT_EQ(out, "\"a\\ufffd\"");
}

TEST(JsonSlices, FindMembersOfATextAsTheyAre) {
  JsonSlices slices(R"( {"a\"b" : [1,{"x":"]}"}] , "c":"d,\"" ,"e": 12 } )");
  JsonSlice slice;
  ASSERT_TRUE(slices.next(slice));
  EXPECT_EQ(slice.key, R"("a\"b")");
  EXPECT_EQ(slice.value, R"([1,{"x":"]}"}])");
  ASSERT_TRUE(slices.next(slice));
  EXPECT_EQ(slice.value, R"("d,\"")");
  ASSERT_TRUE(slices.next(slice));
  EXPECT_EQ(slice.value, "12");
  EXPECT_FALSE(slices.next(slice));
}

TEST(JsonSlices, AreSafeOnAnyBytes) {
  for (const std::string_view text :
       {"", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":,", "{\"a\":[", "{\"a\":\"",
        "{\"a\":\"\\", "{\"a\":}", "[1]", "{\"a\":1", "{:1}"}) {
    JsonSlices slices(text);
    JsonSlice slice;
    EXPECT_FALSE(slices.next(slice)) << text;
  }
}

}  // namespace
}  // namespace parley::lib
