// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/server.h"

namespace parley::net {

using base::Code;

// Reads one HTTP/1.x request after another out of a stream of bytes, with limits. Pure: no socket,
// no clock. Which requests come out does not depend on where the stream is split.
class RequestParser {
 public:
  // head: the head is whole, a body is to come, and nothing more is taken until `take_body`.
  enum class State : uint8_t { need_more, head, complete, failed };
  struct Limits {
    size_t header_bytes_max = 0;
    size_t body_bytes_max = 0;
  };

  explicit RequestParser(const Limits& limits);
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  // Takes bytes from the front and returns how many. What it leaves must come again, with more
  // behind it: it keeps at most `header_bytes_max` of them waiting. Takes nothing once complete or
  // failed.
  size_t feed(std::string_view bytes);
  // Goes on behind the head.
  void take_body();
  State state() const;
  // Why it failed; `code` is one of bad_request, header_too_large, payload_too_large,
  // version_not_supported, upgrade_required.
  const Error& error() const;

  // A byte of the request was taken.
  bool started() const;
  // Bytes of the request that are held here.
  size_t held_bytes() const;
  // The header is whole, the body is not, and the client waits for `100 Continue` to send it.
  bool expects_continue() const;

  // Of a request whose head is whole; `body` of a complete one. Views are good until `reset` or
  // destruction.
  std::string_view method() const;
  std::string_view path() const;
  std::string_view query() const;
  std::string_view body() const;
  // The first value of a header by its lower-case name; empty when it is not there. `host` is that
  // of the target when the target has one.
  std::string_view header(std::string_view name) const;
  bool keep_alive() const;
  bool is_http_1_0() const;
  // A valid upgrade to a WebSocket. One that is not valid fails.
  bool wants_websocket() const;

  // Ready for the next request.
  void reset();
  // Gives the memory back that earlier requests needed. Only before a request has started.
  void trim();

 private:
  struct State_;
  std::unique_ptr<State_> state_;
};

// The same for one response; for clients.
class ResponseParser {
 public:
  struct Limits {
    size_t header_bytes_max = 0;
    size_t body_bytes_max = 0;
  };

  // `to_head`: the response is to a HEAD request and has no body.
  ResponseParser(const Limits& limits, bool to_head);
  ~ResponseParser();

  size_t feed(std::string_view bytes);
  // The stream ended; that completes a response without a length.
  void feed_end();
  RequestParser::State state() const;
  const Error& error() const;

  // The header is whole: `status` and `header` are good, and what is there of the body may be taken
  // out of `body` before the rest comes.
  bool has_header() const;
  // The first value of a header by its lower-case name; empty when it is not there.
  std::string_view header(std::string_view name) const;
  int status() const;
  std::vector<std::pair<std::string, std::string>>& headers();
  std::string& body();
  bool keep_alive() const;

 private:
  struct State_;
  std::unique_ptr<State_> state_;
};

// How an answer is framed, beyond what it says.
struct Framing {
  bool keep_alive = true;
  bool to_head = false;  // the header as for GET, no body
  bool to_http_1_0 = false;
  bool is_stream = false;  // no length: chunked, or until the end for HTTP/1.0
};

// Appends the head of `response` and, unless it is a stream, the body. Line breaks in header values
// become spaces: no value starts a header of its own.
void append_response(std::string& out, const Response& response, const Framing& framing,
                     std::string_view date);

// Appends one chunk of a chunked body; nothing for no bytes, since that would end the body.
void append_chunk(std::string& out, std::string_view bytes);

// `Sun, 06 Nov 1994 08:49:37 GMT`.
std::string http_date(Time time);

// ASCII only, as HTTP's names are.
bool equal_ignoring_case(std::string_view a, std::string_view b);
// Whether the comma-separated `list` holds `token`, in either case.
bool list_holds(std::string_view list, std::string_view token);

}  // namespace parley::net
