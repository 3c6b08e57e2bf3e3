// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/connection/connection_state.h"
#include "net/http.h"

namespace parley::net {

// The HTTP of a connection: reads requests, hands them to the handler, and writes its answers. A
// part of Connection.
class HttpProtocol {
 public:
  explicit HttpProtocol(ConnectionState& connection);

  // Takes from the front of the bytes what can be used now; false when nothing more can be.
  bool take(std::span<char>& bytes);
  // Whether a request may follow those that were read.
  bool takes_more() const { return !last_request_; }
  // Whether the requests that were read must be answered before more are.
  bool is_paused() const;
  // The number of requests that the handler heard of.
  uint64_t requests() const { return number_; }
  // A part of a request was taken.
  bool has_part() const { return parser_.started(); }
  size_t held_bytes() const { return parser_.held_bytes(); }

  // The answers, as in Server. Each does nothing where the request is answered or not there.
  bool is_unanswered(uint64_t number) const;
  void respond(uint64_t number, const Response& response);
  // True when from now on the connection is a stream: `append_to_stream` and `end_stream`.
  bool start_stream(uint64_t number, const Response& head);
  void append_to_stream(std::string& out, std::string_view bytes) const;
  void end_stream(std::string& out) const;
  // Whether the request only asks, so that it may be asked again.
  bool is_safe(uint64_t number) const;
  // Whether the request wants a WebSocket; then it is answered by this.
  bool is_upgrade(uint64_t number) const;
  void accept_websocket(uint64_t number, std::string_view protocol);

  // Answers in place of the next request, behind the others; nothing follows.
  void refuse(const Error& error);
  // Asks the handler again who sends the request whose body is coming in. True when that caller is
  // no longer known: then the handler heard the request without its body, and the body is dropped.
  bool check_caller();

  // Drops what was read of a request, and gives back its memory.
  void drop_request();
  // Gives back memory that no request uses now.
  void trim();

 private:
  Request request() const;
  // Asks the handler who sends it. False when that caller has too many connections: it was told.
  bool hear_head();
  void head_complete(bool is_all);
  void request_complete();
  void send_continue();
  AnswerQueue::Slot* find(uint64_t number) const;
  void answered(AnswerQueue::Slot& slot);

  ConnectionState& connection_;
  RequestParser parser_;
  bool last_request_ = false;  // nothing may follow the request that was read last
  bool head_heard_ = false;    // the handler heard the head of the request that is being read
  bool continue_due_ = false;  // `100 Continue` waits for the answers before it
  bool stream_is_chunked_ = false;
  uint64_t number_ = 0;  // of the last request
  std::string accept_;   // Sec-WebSocket-Accept of the upgrade that waits
};

// Makes it a 426 that names the protocol (RFC 9110, 15.5.22) and its version (RFC 6455, 4.4).
Response upgrade_required(Response problem);

}  // namespace parley::net
