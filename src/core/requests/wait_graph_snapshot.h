// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class Reader;
class Writer;

// Who waits for whom, of a snapshot. Read after the messages, which it marks.
void encode_wait_graph(const Tables& tables, Writer& out);
void decode_wait_graph(Tables& tables, Reader& in);

}  // namespace parley::core
