// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/ids.h"

namespace parley::core {

struct Tables;
class Reader;
class Writer;

// Writes the tables in their one canonical form: the same for equal states, whatever the history
// that led there. Slots are left out; agents and topics are named by their place in name order,
// messages by seq. What can be worked out again (look-ups, deadlines, inboxes) is left out too.
//
// The tables and their fields stand one behind the other without tags. So a new table, and a field
// that is added, removed or moved, makes another format: raise the number in `snapshot_magic`
// (rooms.h) with it. A rule that is added or removed does not, since rules are written by name;
// nor does an enumerator behind the last one.
//
// A machine reads the snapshots of its own format only, and the records before a snapshot are gone.
// So a broker does not start on the data directory of another format, and says so. Its operator
// starts the version that wrote it; to change to the new one, lets the agents settle what waits,
// and begins with an empty directory.
void encode(const Tables& tables, Writer& out);

// Fills tables that are new. False when the bytes are not what encode() writes; the tables are
// then good for nothing.
bool decode(Tables& tables, Reader& in);

// Adds the records that the tables still need: a record that no table names is lost with its
// segment. Some may be named twice, and none may be among them.
void add_live(const Tables& tables, std::vector<base::Seq>& seqs);

// Whether the tables agree with each other, as those of a machine always do.
bool is_consistent(const Tables& tables);

}  // namespace parley::core
