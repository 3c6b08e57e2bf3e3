// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class SnapshotReader;
class SnapshotWriter;

// What a snapshot keeps of streams, and of messages with their deliveries. The reader fails where
// the bytes are none.

// By agent and, for each, in the order they were opened: the order decides who gets a message.
void encode_streams(const Tables& tables, SnapshotWriter& out);
void decode_streams(Tables& tables, SnapshotReader& in);

// After streams, threads, sessions and tasks: what is on hold is in no inbox, and some give tasks.
void encode_messages(const Tables& tables, SnapshotWriter& out);
void decode_messages(Tables& tables, SnapshotReader& in);

}  // namespace parley::core
