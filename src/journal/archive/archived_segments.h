// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "journal/file/segment.h"
#include "journal/journal.h"

namespace parley::journal {

// The segments of an archive, by the records that they hold. Full log segments do not overlap, and
// each has every record from its first to its last. Carried segments have some of the records
// between theirs, and overlap the others: after a crash a record may be in two of them.
//
// A segment stays at its address until it is removed. Not thread-safe: the archive's mutex guards
// it.
class ArchivedSegments {
 public:
  void add(Segment segment);

  // Those that hold the record `seq`, or may. The log segment is the first, if there is one.
  std::vector<const Segment*> holders(Seq seq) const;

  // Those without a record after `upto`. Carried ones come first, so that of two copies of a record
  // a trim keeps the carried one, and the log segment with the other can be given back.
  std::vector<Segment*> trimmed(Seq upto);

  void remove(const Segment& segment);

 private:
  std::map<Seq, Segment> logs_;             // by base
  std::map<std::string, Segment> carried_;  // by path
};

}  // namespace parley::journal
