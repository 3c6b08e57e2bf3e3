// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/time.h"

namespace parley::edge::mcp {

// Reaching one is a coded outcome; docs/mcp.md says which.
struct Limits {
  uint64_t sessions_per_principal_max = 64;  // one more evicts the one that was idle for longest
  uint64_t sessions_max = 10'000;
  uint64_t streams_per_principal_max = 64;  // that listen, of either era
  uint64_t streams_max = 20'000;            // of all, also of calls, with their client or without
  // Calls that are not answered yet. The public name of this limit calls them runs.
  uint64_t runs_per_principal_max = 256;
  // Of what one principal's open calls keep: their arguments and the client's answers, and in
  // batches what waits for its turn or for the last answer.
  uint64_t held_bytes_max = 8 * 1024 * 1024;
  uint64_t subscriptions_max = 256;         // resources of one session or one listening stream
  uint64_t uri_bytes_max = 1'024;           // of a resource that is subscribed to
  uint64_t questions_max = 8;               // to the client, at a time
  uint64_t batch_max = 100;                 // messages in one array
  uint64_t kept_events_max = 256;           // of one session, for a client that comes back
  uint64_t kept_bytes_max = 256 * 1024;
  uint64_t kept_bytes_of_principal_max = 16 * 1024 * 1024;  // of all its sessions
  uint64_t state_bytes_max = 64 * 1024;  // of what the client carries between two calls
  base::Duration session_idle = base::minutes(60);
  base::Duration session_life = base::hours(30 * 24);
  base::Duration state_ttl = base::minutes(60);     // of a question to the client
  base::Duration resume_within = base::minutes(5);  // after a client hung up in the middle
  base::Duration stream_after = base::seconds(1);   // a call that takes longer answers by events
  base::Duration keep_alive = base::seconds(15);    // between comments on a silent stream
};

}  // namespace parley::edge::mcp
