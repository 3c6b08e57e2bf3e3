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

#include "edge/mcp/records.h"

namespace parley::edge::mcp {

// Who wants to hear of which resource, and what they are still to be told. A subscriber is the
// number of a session or of a stream that listens.
class Subscriptions {
 public:
  // `spelling` is the URI as the client wrote it and will hear it, `uri` the one way to write it.
  void add(uint64_t subscriber, const Principal& owner, std::string_view uri,
           std::string_view spelling);
  void remove(uint64_t subscriber, std::string_view spelling);
  void forget(uint64_t subscriber);

  // To be told, when there is a way.
  void note(uint64_t subscriber, Notice notice);
  // A resource changed for one agent or, where that is empty, for all. Whether anyone is to be
  // told.
  bool updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri);

  // Those of one subscriber, in the client's spelling.
  size_t count(uint64_t subscriber) const;
  bool has(uint64_t subscriber, std::string_view spelling) const;
  std::vector<std::string> of(uint64_t subscriber) const;
  bool is_empty() const { return topics_.empty(); }

  // Shows all that is to be told; what `tell` returns true for is told.
  using Tell = std::function<bool(uint64_t subscriber, const Notice& notice)>;
  void flush(const Tell& tell);

 private:
  using Topic = std::pair<core::WorkspaceId, std::string>;
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

  std::map<Topic, std::map<std::string, std::set<Listener>, std::less<>>> topics_;  // by agent
  std::map<uint64_t, Subscriber> subscribers_;
  std::map<uint64_t, std::set<Notice>> notices_;
};

}  // namespace parley::edge::mcp
