// SPDX-License-Identifier: Apache-2.0
#include "core/machine/snapshot_fields.h"

#include <algorithm>

#include "core/machine/tables.h"

namespace parley::core {

namespace {

std::vector<TopicRef> topics_by_name(const Tables& t) {
  std::vector<TopicRef> refs;
  for (const auto& [name, ref] : t.topics.by_name()) {
    refs.push_back(ref);
  }
  return refs;
}

std::vector<ThreadRef> threads_by_root(const Tables& t) {
  std::vector<ThreadRef> refs;
  refs.reserve(t.threads.size());
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    for (ThreadRef ref = t.threads.first(static_cast<Threads::Standing>(n)); ref != none;
         ref = t.threads.next(ref)) {
      refs.push_back(ref);
    }
  }
  std::ranges::sort(refs, {}, [&](ThreadRef ref) { return t.threads[ref].root; });
  return refs;
}

}  // namespace

Places::Places(std::vector<uint32_t> slots) : slots_(std::move(slots)) {
  for (size_t place = 0; place < slots_.size(); ++place) {
    if (slots_[place] >= places_.size()) {
      places_.resize(size_t{slots_[place]} + 1);
    }
    places_[slots_[place]] = place;
  }
}

SnapshotWriter::SnapshotWriter(const Tables& tables, Writer& writer)
    : FieldWriter(writer),
      out(writer),
      agents(tables.agents.sorted()),
      topics(topics_by_name(tables)),
      threads(threads_by_root(tables)) {}

void SnapshotWriter::operator()(std::string_view, uint32_t slot, SlotOf of) {
  const auto put_or_none = [&](const Places& places) {
    out.varint(slot == none ? 0 : places.of(slot) + 1);
  };
  switch (of) {
    case SlotOf::agent:
      return out.varint(agents.of(slot));
    case SlotOf::agent_or_none:
      return put_or_none(agents);
    case SlotOf::topic_or_none:
      return put_or_none(topics);
    case SlotOf::thread_or_none:
      return put_or_none(threads);
    case SlotOf::deadline:
      return out.boolean(slot != none);
  }
}

void SnapshotWriter::operator()(std::string_view name, const std::vector<uint32_t>& slots,
                                SlotOf of) {
  out.varint(slots.size());
  for (const uint32_t slot : slots) {
    (*this)(name, slot, of);
  }
}

uint32_t SnapshotReader::slot_at(const std::vector<uint32_t>& slots) {
  const uint64_t place = in.varint();
  if (place >= slots.size()) {
    in.fail();
    return none;
  }
  return slots[place];
}

uint32_t SnapshotReader::slot_or_none(const std::vector<uint32_t>& slots) {
  const uint64_t place = in.varint();
  if (place > slots.size()) {
    in.fail();
    return none;
  }
  return place == 0 ? none : slots[place - 1];
}

void SnapshotReader::operator()(std::string_view, uint32_t& slot, SlotOf of) {
  switch (of) {
    case SlotOf::agent:
      slot = slot_at(agents);
      return;
    case SlotOf::agent_or_none:
      slot = slot_or_none(agents);
      return;
    case SlotOf::topic_or_none:
      slot = slot_or_none(topics);
      return;
    case SlotOf::thread_or_none:
      slot = slot_or_none(threads);
      return;
    case SlotOf::deadline:
      // Any slot says that there is one; who starts it anew gets the right one.
      slot = in.boolean() ? 0 : none;
      return;
  }
}

void SnapshotReader::operator()(std::string_view name, std::vector<uint32_t>& slots, SlotOf of) {
  slots.resize(in.count());
  for (uint32_t& slot : slots) {
    (*this)(name, slot, of);
  }
}

}  // namespace parley::core
