// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class Reader;
class Writer;

// What a snapshot keeps of limits that belong to no single agent: shared token buckets, exchanges
// that may be ping-pong, and who is near its limits. The reader fails where the bytes are none.
void encode_limits(const Tables& tables, Writer& out);
void decode_limits(Tables& tables, Reader& in);

}  // namespace parley::core
