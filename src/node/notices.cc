// SPDX-License-Identifier: Apache-2.0
#include "node/notices.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "base/hash.h"

namespace parley::node {

namespace {

constexpr size_t per_run_max = 256;

// The same in each life and on each node, and another on each broker: a UUID of version 4 made of
// the letter's number and time.
base::MessageId id_of(const Notices::Letter& letter, base::Time failed_at) {
  base::MessageId id;
  const uint64_t high = base::mix64(static_cast<uint64_t>(failed_at.us),
                                    static_cast<uint64_t>(letter.workspace) + 1);
  const uint64_t low = base::mix64(high, letter.id);
  std::memcpy(id.bytes.data(), &high, sizeof high);
  std::memcpy(id.bytes.data() + sizeof high, &low, sizeof low);
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

}  // namespace

void Notices::start(const core::Machine& machine) {
  for (const auto& [workspace, held] : machine.workspaces()) {
    for (const uint64_t id : held.tables().dead_letters.untold()) {
      waiting_.push_back({workspace, id});
    }
  }
}

void Notices::add(std::span<const core::Effect> effects) {
  for (const core::Effect& effect : effects) {
    if (const auto* dead = std::get_if<core::DeadLettered>(&effect)) {
      waiting_.push_back({dead->workspace, dead->id});
    }
  }
}

void Notices::put_off(const Letter& letter, base::Time now) {
  waiting_.push_back(letter);
  not_before_ = now + base::seconds(1);
}

void Notices::run(const core::Machine& machine, base::Time now, const Fetch& fetch,
                  const std::function<void(const Letter&, core::Send)>& tell) {
  if (now < not_before_) {
    return;
  }
  for (size_t left = std::min(waiting_.size(), per_run_max); left > 0; --left) {
    const Letter letter = waiting_.front();
    waiting_.pop_front();
    const core::DeadLetters& letters = machine.find(letter.workspace)->tables().dead_letters;
    const auto at = letters.all().find(letter.id);
    if (at == letters.all().end() || at->second.sender_told) {
      continue;
    }
    const std::string body = body_(at->second);
    core::Send send;
    core::Envelope& e = send.envelope;
    send.notice_of = letter.id;
    e.id = id_of(letter, at->second.failed_at);
    e.sender = core::broker_sender;
    e.receivers = {at->second.sender};
    e.type = "notification";
    e.created = now;
    e.subject = at->second.reason == core::Reason::malformed ? "a message was malformed"
                                                             : "delivery failed";
    e.body = body;
    // In the conversation of the message, as far as the journal still has it.
    std::string thread = base::format_uuid(e.id);
    if (const auto record = fetch(at->second.message)) {
      const auto entry = core::decode_entry(at->second.message, now, *record);
      if (const auto* sent = entry ? std::get_if<core::Send>(&entry->command) : nullptr) {
        e.in_reply_to = sent->envelope.id;
        thread = sent->envelope.thread.empty() ? thread : std::string(sent->envelope.thread);
      }
    }
    e.thread = thread;
    tell(letter, std::move(send));
  }
}

}  // namespace parley::node
