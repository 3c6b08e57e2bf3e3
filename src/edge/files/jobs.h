// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/ids.h"
#include "edge/files/tree.h"

// What the loop and the thread of the files tell each other. Plain values.
namespace parley::edge::files {

// What a directory of the tree is for: what is in it.
enum class BoxKind : uint8_t {
  agent,         // pending, archive, outbox
  human,         // pending, archive
  announcements  // one directory that all read; nothing in it is moved
};

// The directories of a box. Files are found in the first four.
enum class Place : uint8_t {
  pending,
  archive,
  outbox,
  announcements,
  sent,     // outbox/sent: what the broker took
  rejected  // what it refused
};

// From the loop. `seq` is the message's place in the journal.

// Makes the directories and looks after them from now on.
struct AddBox {
  std::string box;
  BoxKind kind = BoxKind::agent;
};
// Its agent is gone for good: the directory is removed when that is long enough ago, unless it is
// added again.
struct EndBox {
  std::string box;
};
// It is not looked after any more.
struct CloseBox {
  std::string box;
};
// Writes a message that waits.
struct Put {
  std::string box;
  base::Seq seq;
  std::string id;
  std::string text;
};
// It is settled: its file goes to the archive, if it is not there.
struct Settle {
  std::string box;
  base::Seq seq;
};
// It waits no more, for now: its file goes.
struct Withdraw {
  std::string box;
  base::Seq seq;
};
// What was found is now the message `seq`, and stays where it is: or it goes, because the broker
// writes it itself, or keeps it among what was sent.
struct Take {
  enum class How : uint8_t { stays, goes, sent };
  std::string box;
  Place place = Place::pending;
  std::string name;
  base::Seq seq;
  How how = How::stays;
};
// What was found is no message: it is moved aside, with a file beside it that says what is wrong.
struct Refuse {
  std::string box;
  Place place = Place::pending;
  std::string name;
  std::string why;  // JSON
};
// What was found is looked at again later.
struct Postpone {
  std::string box;
  Place place = Place::pending;
  std::string name;
};
// Adds to a file beside the boxes, in one write.
struct Append {
  std::string file;
  std::string text;
};
// Reads the end of such a file: is answered with its text.
struct ReadBack {
  std::string file;
  std::string text;
};
using Job = std::variant<AddBox, EndBox, CloseBox, Put, Settle, Withdraw, Take, Refuse, Postpone,
                         Append, ReadBack>;

// From the thread.

// A message has a file. In the archive: its receiver moved it there, and so is done with it.
struct Placed {
  std::string box;
  base::Seq seq;
  bool is_archived = false;
};
// Its file is neither in pending nor in the archive.
struct Missing {
  std::string box;
  base::Seq seq;
};
// A file that is no message of the broker's: someone sends it. It is whole, and an object of JSON.
struct Found {
  std::string box;
  Place place = Place::pending;
  std::string name;
  FileText file;
};
using Report = std::variant<Placed, Missing, Found, ReadBack>;

}  // namespace parley::edge::files
