// SPDX-License-Identifier: Apache-2.0
// Any bytes as WebSocket frames: never a crash, never more kept than a control frame, and the same
// events however the bytes are split. The first byte chooses the side, the second the splits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "net/websocket.h"

namespace parley {
namespace {

using net::FrameReader;

constexpr size_t message_bytes_max = 4096;

using Events = std::vector<std::tuple<FrameReader::Kind, uint16_t, std::string>>;

Events read(std::string_view bytes, net::Side side, uint64_t split_seed) {
  FrameReader reader(side, message_bytes_max);
  Events events;
  std::string kept;
  while (!bytes.empty()) {
    split_seed = split_seed == 0 ? 0 : base::mix64(split_seed, bytes.size());
    const size_t part = split_seed == 0 ? bytes.size() : 1 + split_seed % 16;
    kept += bytes.substr(0, part);
    bytes.remove_prefix(std::min(part, bytes.size()));
    std::span<char> rest(kept);
    while (true) {
      const FrameReader::Event event = reader.next(rest);
      if (event.kind == FrameReader::Kind::need_more) {
        break;
      }
      CHECK(event.data.size() <= message_bytes_max);
      events.emplace_back(event.kind, event.code, event.data);
      if (event.kind == FrameReader::Kind::text) {
        net::Utf8 utf8;
        CHECK(utf8.feed(event.data) && utf8.is_complete());
      }
      if (event.kind == FrameReader::Kind::failed) {
        CHECK(net::CloseCode::may_be_sent(event.code));
        return events;
      }
      if (event.kind == FrameReader::Kind::close) {
        return events;
      }
    }
    kept.erase(0, kept.size() - rest.size());
    CHECK(kept.size() < 140);
  }
  return events;
}

void run(std::string_view bytes) {
  if (bytes.size() < 2) {
    return;
  }
  const net::Side side = bytes[0] % 2 == 0 ? net::Side::server : net::Side::client;
  const uint64_t seed = 1 + static_cast<uint8_t>(bytes[1]);
  bytes.remove_prefix(2);
  CHECK(read(bytes, side, 0) == read(bytes, side, seed));
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  parley::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
