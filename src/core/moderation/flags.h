// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/moderation/commands.h"
#include "core/state/cases.h"

namespace parley::core {

class Reader;
class Writer;

// What an agent put before the moderators. Its words are in the record.
struct Flag {
  uint64_t id = 0;
  base::Seq record;
  base::MessageId message;  // the sender's id for it
  std::string sender;
  std::string summary;
  base::Time since{};
  FlagHash digest{};
  FlagHash previous{};
  FlagHash hash{};
  std::string resolution{};
  std::string resolved_by{};
  base::Time resolved_at{};

  bool is_open() const { return resolved_by.empty(); }
  const std::string& owner() const { return sender; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("record", self.record);
    field("message", self.message);
    field("sender", self.sender);
    field("summary", self.summary);
    field("since", self.since);
    field("digest", self.digest);
    field("previous", self.previous);
    field("hash", self.hash);
    field("resolution", self.resolution);
    field("resolved_by", self.resolved_by);
    field("resolved_at", self.resolved_at);
  }
  bool operator==(const Flag&) const = default;
};

// The flags of a workspace, by id: oldest first. Each names the hash of the one before it.
class Flags {
 public:
  // Gives it its id, and returns that. Beyond `max` a resolved one goes.
  uint64_t add(Flag flag, uint64_t max);
  void resolve(uint64_t id, std::string_view resolution, std::string_view by, base::Time at);

  const Flag* find(uint64_t id) const { return cases_.find(id); }
  // The newest that the sender gave this id; nullptr when there is none.
  const Flag* find_sent(std::string_view sender, const base::MessageId& message) const;
  // The one with this record; nullptr when there is none. Looks at the newest first.
  const Flag* find(base::Seq record) const;
  const std::map<uint64_t, Flag>& all() const { return cases_.all(); }
  size_t open() const { return cases_.open(); }
  size_t open_of(std::string_view sender) const { return cases_.open_of(sender); }
  // Of the newest there ever was; zeros before the first.
  const FlagHash& head() const { return head_; }

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<base::Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  FlagHash head_{};
  Cases<Flag> cases_;  // by sender
  std::map<std::pair<std::string, base::MessageId>, uint64_t> by_message_;
};

}  // namespace parley::core
