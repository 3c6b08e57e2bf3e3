// SPDX-License-Identifier: Apache-2.0
// Answers that are made of many records: some of them in a turn, the rest in later ones. None is
// read from the disk by the loop.
#include "edge/api/api.h"

namespace parley::edge {

namespace {

// What is rendered in one turn; a record alone may be larger.
constexpr size_t records_per_turn = 64;
constexpr size_t bytes_per_turn = size_t{256} << 10;

}  // namespace

void Api::list(const net::Exchange& exchange, const Principal& caller, Listing listing) {
  const auto shared = std::make_shared<Listing>(std::move(listing));
  shared->caller = caller;
  // Those who wait are known by their exchange, and told to stop by that.
  waiting_[exchange] = {caller, [shared] { shared->is_over = true; }};
  go_on(exchange, shared);
}

void Api::go_on(const net::Exchange& exchange, const std::shared_ptr<Listing>& listing) {
  if (listing->is_over || !is_still_good(exchange, listing->caller)) {
    return;
  }
  const core::Messages& messages =
      broker_.machine().find(listing->caller.workspace)->tables().messages;
  std::vector<base::Seq> next;
  for (size_t bytes = 0; listing->at + next.size() < listing->records.size() &&
                         next.size() < records_per_turn && bytes < bytes_per_turn;) {
    next.push_back(listing->records[listing->at + next.size()]);
    const core::MessageRef ref = messages.find(next.back());
    bytes += ref == core::none ? 0 : messages.message(ref).whole_bytes;
  }
  broker_.warm(next, [this, exchange, listing, count = next.size()] {
    for (size_t n = 0; n < count && !listing->is_over; ++n) {
      if (!listing->each(listing->records[listing->at++])) {
        listing->records.resize(listing->at);
        break;
      }
    }
    if (listing->is_over || !is_still_good(exchange, listing->caller)) {
      return;
    }
    if (listing->at < listing->records.size()) {
      server_->post([this, exchange, listing] { go_on(exchange, listing); });
      return;
    }
    listing->is_over = true;
    respond(exchange, listing->answer());
  });
}

}  // namespace parley::edge
