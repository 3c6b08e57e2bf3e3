// SPDX-License-Identifier: Apache-2.0
#include "edge/api/listing.h"

#include <memory>

#include "edge/api/context.h"
#include "edge/api/waiting.h"

namespace parley::edge {

namespace {

// What is rendered in one turn; a record alone may be larger.
constexpr size_t records_per_turn = 64;
constexpr size_t bytes_per_turn = size_t{256} << 10;

void go_on(const Asker& asker, const std::shared_ptr<Listing>& listing) {
  if (listing->is_over || asker.refuse_if_stale()) {
    return;
  }
  const core::Messages& messages = asker.tables().messages;
  std::vector<base::Seq> next;
  for (size_t bytes = 0; listing->at + next.size() < listing->records.size() &&
                         next.size() < records_per_turn && bytes < bytes_per_turn;) {
    next.push_back(listing->records[listing->at + next.size()]);
    const core::MessageRef ref = messages.find(next.back());
    bytes += ref == core::none ? 0 : messages.message(ref).whole_bytes;
  }
  asker.broker().records().warm(next, [asker, listing, count = next.size()] {
    for (size_t n = 0; n < count && !listing->is_over; ++n) {
      if (!listing->each(listing->records[listing->at++])) {
        listing->records.resize(listing->at);
        break;
      }
    }
    if (listing->is_over || asker.refuse_if_stale()) {
      return;
    }
    if (listing->at < listing->records.size()) {
      asker.context->server->post([asker, listing] { go_on(asker, listing); });
      return;
    }
    listing->is_over = true;
    if (auto answer = listing->answer()) {
      asker.respond(std::move(*answer));
    } else {
      asker.refuse(answer.error());
    }
  });
}

}  // namespace

void list(const Asker& asker, Listing listing) {
  const auto shared = std::make_shared<Listing>(std::move(listing));
  // If the client hangs up, the listing stops.
  asker.context->waiting->add(asker, [shared] { shared->is_over = true; });
  go_on(asker, shared);
}

}  // namespace parley::edge
