// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edge/mcp/tables/records.h"

namespace parley::edge::mcp {

// Who subscribes to which resource, and the notices that were not sent yet. A subscriber is the
// number of a session or of a stream that listens.
class Subscriptions {
 public:
  // A URI can be written in several ways: `spelling` is that of the client, which its notices have
  // too, and `uri` is the canonical one.
  // Of one URI a subscriber has two spellings at most: a third is not added, and false returned.
  bool add(uint64_t subscriber, const Principal& owner, std::string_view uri,
           std::string_view spelling);
  void remove(uint64_t subscriber, std::string_view spelling);
  // Removes all subscriptions and notices of the subscriber.
  void forget(uint64_t subscriber);

  // The notice is sent when the subscriber has a stream with room for it.
  void add_notice(uint64_t subscriber, ChangeNotice notice);
  // A resource changed for one agent or, where that is empty, for all. Returns whether that made
  // notices.
  bool updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri);

  // The subscriptions of one subscriber, in the client's spelling.
  size_t count(uint64_t subscriber) const;
  bool has(uint64_t subscriber, std::string_view spelling) const;
  std::vector<std::string> of(uint64_t subscriber) const;
  bool is_empty() const { return listeners_.empty(); }

  // Gives `send` some of the notices, those of each subscriber in turn, and drops those for which
  // it returns true. Whether there are more that it was not asked about since it last took one.
  using Send = std::function<bool(uint64_t subscriber, const ChangeNotice& notice)>;
  bool flush(const Send& send);

 private:
  using ResourceKey = std::pair<core::WorkspaceId, std::string>;
  struct Subscriber {
    core::WorkspaceId workspace{};
    std::string agent;
    std::map<std::string, std::string, std::less<>> uris;  // by spelling
  };
  struct Listener {
    uint64_t subscriber;
    std::string spelling;
    auto operator<=>(const Listener&) const = default;
  };

  void unlist(uint64_t subscriber, const Subscriber& who, const std::string& spelling,
              const std::string& uri);

  // By resource and agent.
  std::map<ResourceKey, std::map<std::string, std::set<Listener>, std::less<>>> listeners_;
  std::map<uint64_t, Subscriber> subscribers_;
  std::map<uint64_t, std::set<ChangeNotice>> notices_;
  uint64_t flushed_ = 0;  // the subscriber whose turn it was last
  size_t refused_ = 0;    // of those in a row for whom nothing could be sent
};

}  // namespace parley::edge::mcp
