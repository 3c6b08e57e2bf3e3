// SPDX-License-Identifier: Apache-2.0
#include "core/dead_letters/dead_letters_snapshot.h"

#include <map>
#include <set>

#include "core/machine/tables.h"

namespace parley::core {

void encode_dead_letters(const Tables& t, Writer& out) {
  t.dead_letters.encode_counts(out);
  put_rows(t.dead_letters.all(), out);
}

void decode_dead_letters(Tables& t, Reader& in) {
  t.dead_letters.decode_counts(in);
  std::map<uint64_t, DeadLetter> letters;
  std::set<DeliveryRef> pending;  // each has one letter at most
  get_rows<DeadLetter>(in, [&](DeadLetter letter) {
    if (letter.is_open() && letter.reason != Reason::malformed) {
      const MessageRef message = t.messages.find(letter.message);
      const AgentRef receiver = t.agents.find(letter.receiver);
      const DeliveryRef delivery =
          message == none || receiver == none ? none : t.messages.delivery_to(message, receiver);
      if (delivery == none || t.messages.delivery(delivery).state <= State::answered ||
          !pending.insert(delivery).second) {
        return false;
      }
      ++t.messages.message(message).dead_letters;
    }
    const bool lost = !letter.has_original && letter.reason != Reason::malformed;
    const uint64_t id = letter.id;
    return !lost && letters.emplace(id, std::move(letter)).second;
  });
  if (!t.dead_letters.restore(std::move(letters))) {
    in.fail();
  }
}

}  // namespace parley::core
