// SPDX-License-Identifier: Apache-2.0
#include "core/moderation/flags.h"

#include "base/check.h"
#include "core/model/wire.h"

namespace parley::core {

uint64_t Flags::add(Flag flag, uint64_t max) {
  head_ = flag.hash;
  const std::pair<std::string, base::MessageId> name(flag.sender, flag.message);
  const uint64_t id = cases_.add(std::move(flag), max, [this](const Flag& old) {
    const auto named = by_message_.find({old.sender, old.message});
    if (named != by_message_.end() && named->second == old.id) {
      by_message_.erase(named);
    }
  });
  by_message_[name] = id;
  return id;
}

void Flags::resolve(uint64_t id, std::string_view resolution, std::string_view by, base::Time at) {
  CHECK(!by.empty());
  cases_.change(id, [&](Flag& flag) {
    flag.resolution = resolution;
    flag.resolved_by = by;
    flag.resolved_at = at;
  });
}

const Flag* Flags::find_sent(std::string_view sender, const base::MessageId& message) const {
  const auto at = by_message_.find({std::string(sender), message});
  return at == by_message_.end() ? nullptr : find(at->second);
}

const Flag* Flags::find(base::Seq record) const {
  for (auto at = all().rbegin(); at != all().rend() && at->second.record >= record; ++at) {
    if (at->second.record == record) {
      return &at->second;
    }
  }
  return nullptr;
}

void Flags::add_live(std::vector<base::Seq>& seqs) const {
  for (const auto& [id, flag] : all()) {
    seqs.push_back(flag.record);
  }
}

void Flags::encode(Writer& out) const {
  for (const uint8_t byte : head_) {
    out.u8(byte);
  }
  cases_.encode(out);
}

bool Flags::decode(Reader& in) {
  for (uint8_t& byte : head_) {
    byte = in.u8();
  }
  return cases_.decode(in, [this](const Flag& flag) {
    by_message_[{flag.sender, flag.message}] = flag.id;
    return true;
  });
}

}  // namespace parley::core
