// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class SnapshotReader;
class SnapshotWriter;

// The threads in a snapshot, by their first message, and their order in each standing. After the
// agents. The reader fails where the bytes are none.
void encode_threads(const Tables& tables, SnapshotWriter& out);
void decode_threads(Tables& tables, SnapshotReader& in);

}  // namespace parley::core
