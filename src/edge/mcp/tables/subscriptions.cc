// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/tables/subscriptions.h"

#include <algorithm>
#include <ranges>

namespace parley::edge::mcp {

bool Subscriptions::add(uint64_t subscriber, const Principal& owner, std::string_view uri,
                        std::string_view spelling) {
  constexpr ptrdiff_t spellings_max = 2;
  Subscriber& who = subscribers_[subscriber];
  if (!who.uris.contains(spelling) &&
      std::ranges::count(who.uris | std::views::values, uri) >= spellings_max) {
    return false;
  }
  who.workspace = owner.workspace;
  who.agent = owner.name;
  // Two spellings of one URI are two subscriptions: the client unsubscribes from each.
  if (who.uris.emplace(spelling, uri).second) {
    listeners_[{owner.workspace, std::string(uri)}][owner.name].insert(
        {subscriber, std::string(spelling)});
  }
  return true;
}

void Subscriptions::unlist(uint64_t subscriber, const Subscriber& who, const std::string& spelling,
                           const std::string& uri) {
  const auto resource = listeners_.find({who.workspace, uri});
  const auto listeners = resource->second.find(who.agent);
  listeners->second.erase({subscriber, spelling});
  if (listeners->second.empty()) {
    resource->second.erase(listeners);
  }
  if (resource->second.empty()) {
    listeners_.erase(resource);
  }
}

void Subscriptions::remove(uint64_t subscriber, std::string_view spelling) {
  const auto at = subscribers_.find(subscriber);
  if (at == subscribers_.end()) {
    return;
  }
  Subscriber& who = at->second;
  if (const auto uri = who.uris.find(spelling); uri != who.uris.end()) {
    unlist(subscriber, who, uri->first, uri->second);
    who.uris.erase(uri);
  }
  if (who.uris.empty()) {
    subscribers_.erase(at);
  }
}

void Subscriptions::forget(uint64_t subscriber) {
  if (const auto who = subscribers_.extract(subscriber)) {
    for (const auto& [spelling, uri] : who.mapped().uris) {
      unlist(subscriber, who.mapped(), spelling, uri);
    }
  }
  notices_.erase(subscriber);
}

void Subscriptions::add_notice(uint64_t subscriber, ChangeNotice notice) {
  notices_[subscriber].insert(std::move(notice));
}

bool Subscriptions::updated(core::WorkspaceId workspace, std::string_view agent,
                            std::string_view uri) {
  const auto resource = listeners_.find({workspace, std::string(uri)});
  if (resource == listeners_.end()) {
    return false;
  }
  const auto notify = [this](const std::set<Listener>& listeners) {
    for (const Listener& each : listeners) {
      add_notice(each.subscriber, {ChangeNotice::Kind::updated, each.spelling});
    }
  };
  if (!agent.empty()) {
    const auto listeners = resource->second.find(agent);
    if (listeners == resource->second.end()) {
      return false;
    }
    notify(listeners->second);
    return true;
  }
  for (const auto& [name, listeners] : resource->second) {
    notify(listeners);
  }
  return true;
}

size_t Subscriptions::count(uint64_t subscriber) const {
  const auto at = subscribers_.find(subscriber);
  return at == subscribers_.end() ? 0 : at->second.uris.size();
}

bool Subscriptions::has(uint64_t subscriber, std::string_view spelling) const {
  const auto at = subscribers_.find(subscriber);
  return at != subscribers_.end() && at->second.uris.contains(spelling);
}

std::vector<std::string> Subscriptions::of(uint64_t subscriber) const {
  std::vector<std::string> uris;
  if (const auto at = subscribers_.find(subscriber); at != subscribers_.end()) {
    for (const auto& [spelling, uri] : at->second.uris) {
      uris.push_back(spelling);
    }
  }
  return uris;
}

bool Subscriptions::flush(const Send& send) {
  constexpr size_t turns_max = 256;
  constexpr size_t sent_in_turn_max = 8;
  if (refused_ >= notices_.size()) {
    refused_ = 0;  // something changed since
  }
  size_t sent = 0;
  for (size_t turns = 0;
       turns < turns_max && sent < turns_max && refused_ < notices_.size(); ++turns) {
    auto at = notices_.upper_bound(flushed_);
    at = at == notices_.end() ? notices_.begin() : at;
    flushed_ = at->first;
    std::set<ChangeNotice>& notices = at->second;
    size_t now = 0;
    // A notice that cannot be sent now stays for the next time.
    while (now < sent_in_turn_max && !notices.empty() && send(flushed_, *notices.begin())) {
      notices.erase(notices.begin());
      ++now;
    }
    sent += now;
    refused_ = now == 0 ? refused_ + 1 : 0;
    if (notices.empty()) {
      notices_.erase(at);
    }
  }
  return refused_ < notices_.size();
}

}  // namespace parley::edge::mcp
