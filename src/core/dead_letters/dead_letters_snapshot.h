// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class Reader;
class Writer;

// The dead letters in a snapshot. After the messages, whose headers open ones keep. The reader
// fails where the bytes are none.
void encode_dead_letters(const Tables& tables, Writer& out);
void decode_dead_letters(Tables& tables, Reader& in);

}  // namespace parley::core
