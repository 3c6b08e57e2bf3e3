// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <gtest/gtest.h>

namespace parley::base {
namespace {

constexpr std::string_view example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// CO-12
TEST(Trace, ParentIsReadAndWrittenAsTheStandardHasIt) {
  const auto parent = parse_traceparent(example);
  ASSERT_TRUE(parent);
  EXPECT_EQ(format_trace_id(parent->trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(format_span_id(parent->span_id), "00f067aa0ba902b7");
  EXPECT_TRUE(parent->sampled);
  EXPECT_EQ(format_traceparent(*parent), example);
  const auto unsampled =
      parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  ASSERT_TRUE(unsampled);
  EXPECT_FALSE(unsampled->sampled);
}

TEST(Trace, WhatIsNoParentIsNone) {
  for (const std::string_view text : {
           "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bg-01",
           "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x"}) {
    EXPECT_FALSE(parse_traceparent(text)) << text;
  }
}

TEST(Trace, LaterVersionIsReadAsFarAsItAgrees) {
  const auto parent =
      parse_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-more");
  ASSERT_TRUE(parent);
  EXPECT_EQ(format_traceparent(*parent), example);
}

TEST(Trace, TraceIdIsReadOrNone) {
  EXPECT_TRUE(parse_trace_id("4bf92f3577b34da6a3ce929d0e0e4736"));
  EXPECT_FALSE(parse_trace_id("4bf92f3577b34da6a3ce929d0e0e473"));
  EXPECT_FALSE(parse_trace_id("00000000000000000000000000000000"));
}

TEST(Trace, StateIsPrintableAndShort) {
  EXPECT_TRUE(is_tracestate("vendor=a,other=b"));
  EXPECT_FALSE(is_tracestate(""));
  EXPECT_FALSE(is_tracestate("a=b\r\nX: y"));
  EXPECT_TRUE(is_tracestate(std::string(tracestate_bytes_max, 'a')));
  EXPECT_FALSE(is_tracestate(std::string(tracestate_bytes_max + 1, 'a')));
}

TEST(Trace, SpansOfMessagesDifferBySenderAndPart) {
  const MessageId id = *parse_trace_id("4bf92f3577b34da6a3ce929d0e0e4736");
  const uint64_t span = message_span(id, "ana");
  EXPECT_EQ(span, message_span(id, "ana"));
  EXPECT_NE(span, message_span(id, "bo"));
  EXPECT_NE(part_span(span, "bo", "queue"), part_span(span, "bo", "process"));
  EXPECT_NE(part_span(span, "bo", "queue"), part_span(span, "cy", "queue"));
}

}  // namespace
}  // namespace parley::base
