// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class SnapshotReader;
class SnapshotWriter;

// The principals in a snapshot, by name. The reader fails where the bytes are none.
void encode_agents(const Tables& tables, SnapshotWriter& out);
void decode_agents(Tables& tables, SnapshotReader& in);

}  // namespace parley::core
