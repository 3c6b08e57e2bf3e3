// SPDX-License-Identifier: Apache-2.0
#include "node/upkeep/room_watch.h"

namespace parley::node {

namespace {

constexpr base::Duration pause = base::milliseconds(100);
// While there is little room. Each look asks for a snapshot, which lets old records go.
constexpr base::Duration little_room_pause = base::seconds(5);

}  // namespace

RoomWatch::Found RoomWatch::look(base::Time now) {
  if (!options_.room || now < due_) {
    return Found::nothing;
  }
  const uint64_t room = options_.room();
  // It must be a little more before it counts as enough again, so that it does not change all the
  // time.
  const uint64_t enough = options_.room_min + (trouble_ ? options_.room_min / 8 : 0);
  if (room >= enough) {
    trouble_.reset();
  } else if (!trouble_) {
    trouble_ = base::Error{
        base::Code::storage_full,
        "the disk of the broker is nearly full, and the rest is for what ends or frees something "
        "(disk.reserve): nothing new is taken until agents have settled what waits, or its "
        "operator has made room",
        {}};
    if (options_.warn) {
      options_.warn(*trouble_);
    }
  }
  due_ = now + (trouble_ ? little_room_pause : pause);
  return trouble_ ? Found::little : Found::enough;
}

}  // namespace parley::node
