// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http.h"
#include "net/websocket.h"
#include "sim/edge/byte_pipe.h"
#include "sim/random.h"

namespace parley::edge_sim {

// What a client asks over HTTP.
struct Ask {
  std::string method = "GET";
  std::string target;
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// What a client hears whose request was not whole in time: it may ask again.
inline constexpr int too_slow = 408;

// What came of it; `lost`: the connection ended first, and nobody knows.
struct Reply {
  bool lost = false;
  int status = 0;
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};

  std::string_view header(std::string_view name) const;
};

std::string request_text(const Ask& ask, std::string_view token);

// The client's end of a pipe. Going away resets the connection.
class Wire {
 public:
  explicit Wire(std::shared_ptr<BytePipe> pipe) : pipe_(std::move(pipe)) {}
  virtual ~Wire() { pipe_->client_gone = true; }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Reads up to `bytes_max` of what came. What it hears of may make its owner drop it afterwards,
  // never within.
  void pump(size_t bytes_max);
  bool is_over() const { return over_; }
  BytePipe& pipe() { return *pipe_; }
  // What the network had taken for the client, who never had all of it.
  std::string_view unheard() const { return pipe_->unheard; }

 protected:
  void write(std::string_view bytes) { pipe_->up.append(bytes); }
  // The first bytes of what is unread; returns how many it used.
  virtual void take(std::string_view bytes) = 0;
  virtual void ended() = 0;
  // All that was read so far was whole.
  void heard() { pipe_->unheard = pipe_->down; }

  bool over_ = false;

 private:
  std::shared_ptr<BytePipe> pipe_;
};

// Requests and their answers, pipelined. An answer that is an event stream is given part by part
// to `on_event`, and the last call has the whole answer without its body.
class CallWire final : public Wire {
 public:
  using Done = std::function<void(const Reply&)>;
  using OnEvent = std::function<void(std::string_view id, std::string_view data)>;

  using Wire::Wire;

  void ask(const Ask& ask, std::string_view token, Done done, OnEvent on_event = {});
  size_t waiting() const { return waiting_.size(); }
  // The head of an event stream has come.
  bool is_streaming() const { return streaming_; }

 private:
  struct Waiting {
    Done done;
    OnEvent on_event;
    bool is_head = false;
  };

  void take(std::string_view bytes) override;
  void ended() override;
  void take_events();
  void finish();

  std::deque<Waiting> waiting_;
  std::optional<net::ResponseParser> parser_;
  std::string unparsed_;
  std::string events_;  // Of a stream, not whole yet.
  bool streaming_ = false;
};

// A WebSocket.
class SocketWire final : public Wire {
 public:
  struct Heard {
    std::function<void(std::string_view text)> on_text;
    // Not let in, or over: the answer to the handshake, or the close code as its status.
    std::function<void(const Reply&)> on_end;
  };

  SocketWire(std::shared_ptr<BytePipe> pipe, const Ask& ask, std::string_view token, Heard heard,
             sim::Random& random);

  bool is_open() const { return open_; }
  void send(std::string_view text);
  void close();

 private:
  void take(std::string_view bytes) override;
  void ended() override;
  void take_frames();

  Heard heard_;
  sim::Random& random_;
  std::string bytes_;
  net::FrameReader reader_{net::Side::client, 8 * 1'024 * 1'024};
  bool open_ = false;
  bool told_ = false;
};

}  // namespace parley::edge_sim
