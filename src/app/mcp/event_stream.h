// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parley::app {

// Reads server-sent events out of a stream of bytes, wherever the stream is split. Pure. Bounded:
// an event over `event_bytes_max` breaks the stream, and no event comes after it.
class EventStream {
 public:
  struct Event {
    std::string type;  // empty: a message
    std::string data;
  };
  static constexpr size_t event_bytes_max = size_t{64} << 20;

  void feed(std::string_view bytes);
  // The next whole event; none until more comes. Comments, and events without data, are skipped.
  std::optional<Event> next();

  bool is_broken() const { return is_broken_; }
  // The id of the last event that had one, with which a client goes on; empty when none had.
  const std::string& last_id() const { return last_id_; }
  // How long the server wants us to stay away before we come back.
  std::optional<uint32_t> retry_ms() const { return retry_ms_; }

 private:
  void take_field(std::string_view line);

  std::string buffer_;
  size_t at_ = 0;       // what is before it is done
  size_t scanned_ = 0;  // from there on a line end was not looked for
  Event event_;
  std::string last_id_;
  std::optional<uint32_t> retry_ms_;
  bool is_broken_ = false;
};

}  // namespace parley::app
