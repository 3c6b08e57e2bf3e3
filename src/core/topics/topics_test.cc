// SPDX-License-Identifier: Apache-2.0
#include "core/topics/topics.h"

#include <gtest/gtest.h>

namespace parley::core {
namespace {

MessageRef add_message(Messages& messages, uint64_t seq, int64_t time) {
  Message message;
  message.seq = Seq{seq};
  message.time = Time{time};
  return messages.add(message);
}

TEST(Topics, TopicStaysWhileAnythingNeedsIt) {
  Topics topics;
  Messages messages(1);
  const TopicRef topic = topics.intern("a.b");
  EXPECT_EQ(topics.intern("a.b"), topic);
  topics.subscribe(topic, 1);
  topics.use(topic);
  topics.retain(messages, topic, add_message(messages, 1, 10));
  topics.unsubscribe(topic, 1);
  EXPECT_EQ(topics.find("a.b"), topic);
  topics.pop(messages, topic);
  EXPECT_EQ(topics.find("a.b"), topic);
  topics.release(topic);
  EXPECT_EQ(topics.find("a.b"), none);
  EXPECT_EQ(topics.size(), 0u);
}

TEST(Topics, OldestOfAllTopicsComesFirst) {
  Topics topics;
  Messages messages(1);
  const TopicRef one = topics.intern("a.1");
  const TopicRef two = topics.intern("a.2");
  const MessageRef m1 = add_message(messages, 1, 10);
  const MessageRef m2 = add_message(messages, 2, 10);
  const MessageRef m3 = add_message(messages, 3, 30);
  EXPECT_EQ(topics.oldest(), none);
  EXPECT_EQ(topics.oldest_time(), base::time_max);
  topics.retain(messages, two, m1);
  topics.retain(messages, one, m2);
  topics.retain(messages, two, m3);
  EXPECT_EQ(topics.oldest(), two);
  EXPECT_EQ(topics.pop(messages, two), m1);
  EXPECT_EQ(topics.oldest(), one);
  EXPECT_EQ(topics.pop(messages, one), m2);
  EXPECT_EQ(topics.oldest_time(), Time{30});
  EXPECT_EQ(topics.pop(messages, two), m3);
  EXPECT_EQ(topics.oldest(), none);
}

TEST(Topics, CollabPrefixIsNotPartOfTheName) {
  EXPECT_EQ(topic_name("topic:news"), "news");
  EXPECT_EQ(topic_name("a.b"), "a.b");
  EXPECT_EQ(topic_name("topic:"), "");
}

}  // namespace
}  // namespace parley::core
