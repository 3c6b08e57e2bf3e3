// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::core {

struct Tables;
class Reader;
class Writer;

// Writes the tables in their one canonical form: the same for equal states, whatever the history
// that led there. Slots are left out; agents and topics are named by their place in name order,
// messages by seq. What can be worked out again (look-ups, deadlines, inboxes) is left out too.
void encode(const Tables& tables, Writer& out);

// Fills tables that are new. False when the bytes are not what encode() writes; the tables are
// then good for nothing.
bool decode(Tables& tables, Reader& in);

// Whether the tables agree with each other, as those of a machine always do.
bool is_consistent(const Tables& tables);

}  // namespace parley::core
