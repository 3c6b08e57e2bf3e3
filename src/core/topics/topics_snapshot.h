// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class SnapshotReader;
class SnapshotWriter;

// The topics in a snapshot, by name, with their subscribers. What they retain is told by the
// messages. After the agents. The reader fails where the bytes are none.
void encode_topics(const Tables& tables, SnapshotWriter& out);
void decode_topics(Tables& tables, SnapshotReader& in);
// Who subscribes to which patterns.
void encode_wildcards(const Tables& tables, SnapshotWriter& out);
void decode_wildcards(Tables& tables, SnapshotReader& in);

}  // namespace parley::core
