// SPDX-License-Identifier: Apache-2.0
#include "edge/operation.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::edge {
namespace {

class OperationTest : public testing::Test {
 protected:
  std::expected<Operation, BadOperation> read(std::string_view text) {
    const auto parsed = document_.parse(text);
    EXPECT_TRUE(parsed) << text;
    return read_operation(*parsed);
  }
  // What is wrong, with the ref in front.
  std::string fault(std::string_view text) {
    const auto operation = read(text);
    EXPECT_FALSE(operation) << text;
    return operation ? ""
                     : std::string(operation.error().ref) + " " + operation.error().error.field;
  }

  lib::JsonDocument document_;
};

TEST_F(OperationTest, IsReadByItsName) {
  const auto nack = read(R"({"op":"nack","ref":"a\"b","seq":7})");
  ASSERT_TRUE(nack);
  EXPECT_EQ(nack->kind, Operation::Kind::settle);
  EXPECT_EQ(nack->name, "nack");
  EXPECT_EQ(nack->ref, R"("a\"b")") << "as it was written";
  EXPECT_EQ(nack->members.find("seq").as_uint64(), 7u);
  EXPECT_EQ(read(R"({"op":"send"})")->kind, Operation::Kind::send);
  EXPECT_EQ(read(R"({"op":"send"})")->ref, "");
  EXPECT_EQ(read(R"({"op":"unsubscribe"})")->kind, Operation::Kind::subscribe);
  EXPECT_EQ(read(R"({"op":"heartbeat"})")->kind, Operation::Kind::heartbeat);
}

TEST_F(OperationTest, IsRefusedWhereItIsNone) {
  for (const std::string_view text : {"1", "[]", "null", R"("send")"}) {
    EXPECT_EQ(fault(text), " ") << text;
  }
  EXPECT_EQ(fault(R"({"op":"shout","ref":3})"), "3 /op");
  EXPECT_EQ(fault(R"({"op":5})"), " /op");
  EXPECT_EQ(fault("{}"), " /op");
}

// As in the body of a request: a typing error would change what is done.
TEST_F(OperationTest, RefusesAMemberThatIsUnknownAndNamesTheNearest) {
  const auto wrong = read(R"({"op":"nack","ref":9,"seq":7,"retryafter":"2s"})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().ref, "9");
  EXPECT_EQ(wrong.error().error.code, base::Code::bad_request);
  EXPECT_EQ(wrong.error().error.field, "/retryafter");
  EXPECT_EQ(wrong.error().error.detail,
            R"(there is no member "retryafter" here; the nearest is "retry_after")");
  EXPECT_EQ(fault(R"({"op":"ack","seq":7,"reason":"x"})"), " /reason");
  EXPECT_EQ(fault(R"({"op":"subscribe","topic":"a.b","seq":7})"), " /seq");
  EXPECT_EQ(fault(R"({"op":"heartbeat","Ref":1})"), " /Ref");
}

TEST_F(OperationTest, TakesAllThatItsDocumentNames) {
  for (const std::string_view text :
       {R"({"op":"send","ref":1,"message":{"any":1},"lenient":true,"idempotency_key":"k",
            "on_unavailable":"fail","session":"s","traceparent":"t","tracestate":"u"})",
        R"({"op":"ack","ref":1,"id":"m","seq":1,"upto":"1-1"})",
        R"({"op":"nack","ref":1,"id":"m","seq":1,"reason":"r","retry_after":"1s","failed":true})",
        R"({"op":"reject","ref":1,"id":"m","seq":1,"reason":"r"})",
        R"({"op":"extend","ref":1,"id":"m","seq":1,"lease":"1m"})",
        R"({"op":"subscribe","ref":1,"topic":"t"})", R"({"op":"unsubscribe","ref":1,"topic":"t"})",
        R"({"op":"heartbeat","ref":1,"status":"s","currentTask":"t","tokens":1})"}) {
    EXPECT_TRUE(read(text)) << text;
  }
}

TEST_F(OperationTest, TakesARefOf64BytesAnd64Members) {
  const auto with_ref = [](size_t bytes) {
    return R"({"op":"ack","ref":")" + std::string(bytes - 2, 'r') + "\"}";
  };
  EXPECT_EQ(read(with_ref(64))->ref.size(), 64u);
  EXPECT_EQ(read(with_ref(65))->ref, "");
  const auto with_members = [](size_t count) {
    std::string text = R"({"op":"heartbeat","ref":1)";
    for (size_t n = 2; n < count; ++n) {
      text += R"(,"tokens":0)";
    }
    return text + "}";
  };
  EXPECT_TRUE(read(with_members(64)));
  EXPECT_EQ(fault(with_members(65)), " ");
}

}  // namespace
}  // namespace parley::edge
