// SPDX-License-Identifier: Apache-2.0
#include "core/moderation/flags.h"

#include "base/check.h"
#include "core/model/wire.h"

namespace parley::core {

uint64_t Flags::add(Flag flag, uint64_t max) {
  while (flags_.size() >= max && resolved_.size() > 0) {
    const auto gone = flags_.find(*resolved_.first_of_most());
    const Flag& old = gone->second;
    resolved_.remove(old.sender, old.id);
    const auto named = by_message_.find({old.sender, old.message});
    if (named != by_message_.end() && named->second == old.id) {
      by_message_.erase(named);
    }
    flags_.erase(gone);
  }
  flag.id = next_id_++;
  head_ = flag.hash;
  index(flag);
  return flags_.emplace_hint(flags_.end(), flag.id, std::move(flag))->first;
}

void Flags::resolve(uint64_t id, std::string_view resolution, std::string_view by, base::Time at) {
  CHECK(!by.empty());
  Flag& flag = flags_.at(id);
  flag.resolution = resolution;
  flag.resolved_by = by;
  flag.resolved_at = at;
  open_.remove(flag.sender);
  resolved_.add(flag.sender, id);
}

const Flag* Flags::find(uint64_t id) const {
  const auto at = flags_.find(id);
  return at == flags_.end() ? nullptr : &at->second;
}

const Flag* Flags::find_sent(std::string_view sender, const base::MessageId& message) const {
  const auto at = by_message_.find({std::string(sender), message});
  return at == by_message_.end() ? nullptr : find(at->second);
}

const Flag* Flags::find(base::Seq record) const {
  for (auto at = flags_.rbegin(); at != flags_.rend() && at->second.record >= record; ++at) {
    if (at->second.record == record) {
      return &at->second;
    }
  }
  return nullptr;
}

void Flags::add_live(std::vector<base::Seq>& seqs) const {
  for (const auto& [id, flag] : flags_) {
    seqs.push_back(flag.record);
  }
}

void Flags::index(const Flag& flag) {
  by_message_[{flag.sender, flag.message}] = flag.id;
  if (flag.is_open()) {
    open_.add(flag.sender);
  } else {
    resolved_.add(flag.sender, flag.id);
  }
}

void Flags::encode(Writer& out) const {
  out.varint(next_id_);
  for (const uint8_t byte : head_) {
    out.u8(byte);
  }
  put_rows(flags_, out);
}

bool Flags::decode(Reader& in) {
  next_id_ = in.varint();
  for (uint8_t& byte : head_) {
    byte = in.u8();
  }
  get_rows<Flag>(in, [this](Flag flag) {
    const uint64_t id = flag.id;
    if (id == 0 || id >= next_id_ || (!flags_.empty() && flags_.rbegin()->first >= id)) {
      return false;
    }
    index(flag);
    return flags_.emplace(id, std::move(flag)).second;
  });
  return in.ok() && next_id_ > 0;
}

}  // namespace parley::core
