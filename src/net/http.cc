// SPDX-License-Identifier: Apache-2.0
// The only source that includes Beast: it costs several seconds to compile.
//
// Beast asserts what a client can make false: a last chunk that arrives in parts of less than five
// bytes. The code behind the assertion copes; the fuzz target runs it under AddressSanitizer.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK  // as server.cc
#define BOOST_DISABLE_ASSERTS
#include "net/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/text.h"

namespace parley::net {

namespace {

namespace http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

// What the body's string keeps between requests: a longer one gives its memory back at once.
constexpr size_t body_kept_max = 16 * 1024;

bool is_token_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Base64 of 16 bytes: 22 digits, of which the last has four bits, then `==`.
bool is_websocket_key(std::string_view key) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return key.size() == 24 && key.substr(22) == "==" &&
         key.find_first_not_of(digits) == size_t{22} && digits.find(key[21]) % 16 == 0;
}

// Where a piece of the header lies in the one string that holds them all.
struct Piece {
  uint32_t at = 0;
  uint32_t size = 0;
};

// The fields of the header, kept in one string, so that a field needs no allocation.
class Head {
 public:
  // Keeps the memory of an ordinary head for the next one, and no more.
  void clear() {
    constexpr size_t text_kept = 4096;
    constexpr size_t fields_kept = 64;
    text_.clear();
    fields_.clear();
    if (text_.capacity() > text_kept || fields_.capacity() > fields_kept) {
      trim();
    }
  }
  void trim() {
    text_.shrink_to_fit();
    fields_.shrink_to_fit();
  }
  Piece add(std::string_view text) {
    const Piece piece{static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(text.size())};
    text_ += text;
    return piece;
  }
  void add_field(std::string_view name, std::string_view value) {
    const Piece name_piece = add(name);
    for (size_t at = name_piece.at; at < text_.size(); ++at) {
      text_[at] = base::to_lower(text_[at]);
    }
    fields_.emplace_back(name_piece, add(value));
  }
  std::string_view get(Piece piece) const {
    return std::string_view(text_).substr(piece.at, piece.size);
  }
  std::string_view find(std::string_view name) const {
    for (const auto& [field_name, value] : fields_) {
      if (get(field_name) == name) {
        return get(value);
      }
    }
    return {};
  }
  // Whether one of the fields of this name, each a list, holds the token.
  bool holds(std::string_view name, std::string_view token) const {
    return std::ranges::any_of(fields_, [&](const auto& field) {
      return get(field.first) == name && list_holds(get(field.second), token);
    });
  }
  size_t count(std::string_view name) const {
    return static_cast<size_t>(std::ranges::count_if(
        fields_, [&](const auto& field) { return get(field.first) == name; }));
  }
  const std::vector<std::pair<Piece, Piece>>& fields() const { return fields_; }
  size_t bytes() const { return text_.size() + fields_.size() * sizeof(fields_[0]); }

 private:
  std::string text_;
  std::vector<std::pair<Piece, Piece>> fields_;
};

// Beast's parser, which calls back with each part; this stores the parts in our own way.
template <bool is_request>
class Sink final : public http::basic_parser<is_request> {
 public:
  Sink(Head& head, std::string& body) : head_(head), body_(body) {}

  Piece method;
  Piece target;
  int version = 11;
  int status = 0;

 private:
  // Trailers of a chunked body are checked by Beast and dropped: nobody here needs them, and they
  // must not pass for fields of the header.
  void on_field_impl(http::field field, BeastView name, BeastView value, BeastError& ec) override {
    if (this->is_header_done()) {
      return;
    }
    if (is_request && field == http::field::transfer_encoding &&
        (!equal_ignoring_case(view(value), "chunked") || version < 11)) {
      ec = http::error::bad_transfer_encoding;
      return;
    }
    // RFC 9110, 8.6 allows to accept `4, 4` and a second equal field. We refuse them: two lengths
    // are how requests are smuggled past proxies.
    if (is_request && field == http::field::content_length &&
        (view(value).find(',') != std::string_view::npos || std::exchange(has_length_, true))) {
      ec = http::error::bad_content_length;
      return;
    }
    head_.add_field(view(name), view(value));
  }
  void on_request_impl(http::verb, BeastView method_name, BeastView request_target,
                       int request_version, BeastError&) override {
    method = head_.add(view(method_name));
    target = head_.add(view(request_target));
    version = request_version;
  }
  void on_response_impl(int response_status, BeastView, int response_version,
                        BeastError&) override {
    status = response_status;
    version = response_version;
  }
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, BeastError&) override {}
  size_t on_body_impl(BeastView bytes, BeastError&) override {
    body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(uint64_t, BeastView, BeastError&) override {}
  size_t on_chunk_body_impl(uint64_t, BeastView bytes, BeastError&) override {
    body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(BeastError&) override {}

  Head& head_;
  std::string& body_;
  bool has_length_ = false;
};

// Holds the lines of a header to RFC 9112: each ends with CR LF (2.2), none goes on in the next
// (5.2). Beast joins such lines, and waits for more where one ends with LF alone.
class LineCheck {
 public:
  // `bytes` is the part of the header that Beast has not taken yet. False when a line is wrong.
  bool look(std::string_view bytes) {
    while (!at_end_ && seen_ < bytes.size()) {
      if (at_line_) {
        const char first = bytes[seen_];
        if (first == ' ' || first == '\t') {
          return false;
        }
        at_end_ = first == '\r';
        at_line_ = false;
        continue;
      }
      const size_t end = bytes.find('\n', seen_);
      if (end == std::string_view::npos) {
        seen_ = bytes.size();
        return true;
      }
      if ((end == 0 ? before_ : bytes[end - 1]) != '\r') {
        return false;
      }
      seen_ = end + 1;
      at_line_ = true;
    }
    return true;
  }
  // Beast has taken these bytes; the others come again.
  void took(std::string_view taken) {
    if (!taken.empty()) {
      before_ = taken.back();
      seen_ -= std::min(seen_, taken.size());
    }
  }

 private:
  size_t seen_ = 0;  // bytes at the front that were looked at
  char before_ = '\0';
  bool at_line_ = false;  // the next byte is the first of a line
  bool at_end_ = false;   // a line that begins with CR is the header's last
};

// Feeds a Sink and enforces the limits. Beast's own limit of the header counts only the bytes of
// one call, so a header in many small parts would have no limit: we count ourselves.
template <bool is_request>
class Reader {
 public:
  Reader(size_t header_bytes_max, size_t body_bytes_max)
      : header_bytes_max_(header_bytes_max), body_bytes_max_(body_bytes_max) {
    reset();
  }

  void reset() {
    head.clear();
    body.clear();
    if (body.capacity() > body_kept_max) {
      body.shrink_to_fit();  // a request may wait for long, and its connection with it
    }
    sink.emplace(head, body);
    sink->header_limit(std::numeric_limits<uint32_t>::max());
    sink->body_limit(body_bytes_max_);
    header_taken_ = 0;
    lines_ = {};
    state = RequestParser::State::need_more;
  }

  void fail(Code code, std::string detail) {
    error = Error{code, std::move(detail), {}};
    state = RequestParser::State::failed;
  }

  size_t feed(std::string_view bytes) {
    const size_t size = bytes.size();
    while (state == RequestParser::State::need_more && !bytes.empty()) {
      const bool in_header = !sink->is_header_done();
      if (is_request && in_header && !lines_.look(bytes)) {
        fail(Code::bad_request,
             "not valid HTTP/1.1: a line of the header ends without CR LF or is "
             "continued in the next");
        break;
      }
      const size_t body_before = body.size();
      BeastError ec;
      const size_t taken = sink->put(boost::asio::const_buffer(bytes.data(), bytes.size()), ec);
      lines_.took(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      header_taken_ += in_header ? taken : 0;
      const bool waits = ec == http::error::need_more;
      // Bytes that the parser could not take yet belong to the header, to the header of a chunk or
      // to a trailer. So do bytes that it took without making the body longer.
      const bool is_body = body.size() > body_before;
      const size_t header_bytes = (in_header ? header_taken_
                                   : is_body ? 0
                                             : taken) +
                                  (waits ? bytes.size() : 0);
      if (header_bytes > header_bytes_max_) {
        fail(Code::header_too_large,
             fmt::format("the header is over {} bytes; send fewer or shorter header fields",
                         header_bytes_max_));
      } else if (waits) {
        break;
      } else if (ec) {
        fail(ec);
      } else if (sink->is_done()) {
        state = RequestParser::State::complete;
      } else if (is_request && in_header && sink->is_header_done()) {
        state = RequestParser::State::head;
      }
    }
    return size - bytes.size();
  }

  bool started() const { return header_taken_ > 0; }

  Head head;
  std::string body;
  std::optional<Sink<is_request>> sink;
  RequestParser::State state = RequestParser::State::need_more;
  Error error;

 private:
  void fail(BeastError ec) {
    if (ec == http::error::body_limit) {
      fail(Code::payload_too_large,
           fmt::format("the body is over {} bytes; send less at once", body_bytes_max_));
    } else if (ec == http::error::bad_version) {
      fail(Code::version_not_supported, "this server speaks HTTP/1.1 and HTTP/1.0 only");
    } else {
      fail(Code::bad_request, fmt::format("not valid HTTP/1.1: {}", ec.message()));
    }
  }

  size_t header_bytes_max_;
  size_t body_bytes_max_;
  size_t header_taken_ = 0;
  LineCheck lines_;
};

}  // namespace

struct RequestParser::State_ {
  explicit State_(const Limits& limits) : reader(limits.header_bytes_max, limits.body_bytes_max) {}

  // What Beast does not check.
  void check() {
    const Head& head = reader.head;
    const size_t hosts = head.count("host");
    if (hosts > 1 || (hosts == 0 && reader.sink->version >= 11)) {
      return reader.fail(Code::bad_request,
                         fmt::format("HTTP/1.1 wants one Host header, found {}", hosts));
    }
    // Which of two counts would be a matter of taste: a proxy may have checked the other one.
    for (const std::string_view name : {"authorization", "origin", "x-hub-signature-256"}) {
      if (head.count(name) > 1) {
        return reader.fail(Code::bad_request,
                           fmt::format("the header {} may be there only once", name));
      }
    }
    split_target();
    if (head.holds("upgrade", "websocket") && head.holds("connection", "upgrade")) {
      check_upgrade();
    }
  }

  void split_target() {
    std::string_view target = reader.head.get(reader.sink->target);
    authority = {};
    // The absolute form, as a proxy sends it. Its host counts, not the Host header's (3.2.2).
    if (const size_t scheme = target.find("://");
        scheme != std::string_view::npos && !target.starts_with('/')) {
      const size_t path_at = target.find_first_of("/?", scheme + 3);
      authority = target.substr(scheme + 3, path_at - std::min(path_at, scheme + 3));
      target = path_at == std::string_view::npos ? "/" : target.substr(path_at);
    }
    const size_t mark = target.find('?');
    path = target.substr(0, mark);
    query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
    if (path.empty()) {
      path = "/";
    }
  }

  void check_upgrade() {
    const Head& head = reader.head;
    if (head.get(reader.sink->method) != "GET" || reader.sink->version < 11) {
      return reader.fail(Code::bad_request, "a WebSocket starts with GET and HTTP/1.1");
    }
    if (head.count("sec-websocket-version") > 1) {
      return reader.fail(Code::bad_request, "Sec-WebSocket-Version may be there only once");
    }
    if (head.find("sec-websocket-version") != "13") {
      return reader.fail(Code::upgrade_required,
                         fmt::format("Sec-WebSocket-Version must be 13, found \"{}\"",
                                     printable(head.find("sec-websocket-version"))));
    }
    if (head.count("sec-websocket-key") != 1 || !is_websocket_key(head.find("sec-websocket-key"))) {
      return reader.fail(Code::bad_request, "Sec-WebSocket-Key must be base64 of 16 bytes");
    }
    wants_websocket = true;
  }

  void check_body() {
    if (wants_websocket && !reader.body.empty()) {
      reader.fail(Code::bad_request, "a WebSocket's upgrade has no body");
    }
  }

  static std::string printable(std::string_view text) {
    std::string out(text.substr(0, 40));
    std::ranges::replace_if(
        out, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }, '?');
    return out;
  }

  Reader<true> reader;
  std::string_view path;
  std::string_view query;
  std::string_view authority;  // of a target in absolute form
  bool wants_websocket = false;
};

RequestParser::RequestParser(const Limits& limits) : state_(std::make_unique<State_>(limits)) {}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

size_t RequestParser::feed(std::string_view bytes) {
  Reader<true>& reader = state_->reader;
  if (reader.state != State::need_more) {
    return 0;
  }
  size_t skipped = 0;
  if (!reader.started()) {
    // RFC 9112, 2.2: empty lines before a request are ignored.
    while (bytes.starts_with("\r\n")) {
      bytes.remove_prefix(2);
      skipped += 2;
    }
    if (bytes.empty() || bytes == "\r") {
      return skipped;
    }
    if (!is_token_char(bytes.front())) {
      // Said now, not when the header fails to end: this is how TLS on a plain port looks.
      reader.fail(Code::bad_request, "not valid HTTP/1.1: a request starts with a method");
      return skipped;
    }
  }
  const bool had_head = reader.sink->is_header_done();
  const size_t taken = reader.feed(bytes);
  if (reader.state == State::head || reader.state == State::complete) {
    had_head ? state_->check_body() : state_->check();
  } else if (reader.state == State::failed && reader.error.code == Code::version_not_supported) {
    const std::string_view line = bytes.substr(0, bytes.find('\r'));
    if (line.substr(line.rfind(' ') + 1).substr(0, 5) != "HTTP/") {
      reader.fail(Code::bad_request, "not valid HTTP/1.1: the request line has no version");
    }
  }
  return skipped + taken;
}

void RequestParser::take_body() {
  CHECK(state_->reader.state == State::head);
  state_->reader.state = State::need_more;
}

RequestParser::State RequestParser::state() const { return state_->reader.state; }
size_t RequestParser::held_bytes() const {
  return state_->reader.head.bytes() + state_->reader.body.size();
}
const Error& RequestParser::error() const { return state_->reader.error; }
bool RequestParser::started() const { return state_->reader.started(); }

bool RequestParser::expects_continue() const {
  const Reader<true>& reader = state_->reader;
  return reader.state == State::need_more && reader.sink->is_header_done() && reader.body.empty() &&
         reader.sink->version >= 11 &&
         equal_ignoring_case(reader.head.find("expect"), "100-continue");
}

std::string_view RequestParser::method() const {
  return state_->reader.head.get(state_->reader.sink->method);
}
std::string_view RequestParser::path() const { return state_->path; }
std::string_view RequestParser::query() const { return state_->query; }
std::string_view RequestParser::body() const { return state_->reader.body; }
std::string_view RequestParser::header(std::string_view name) const {
  if (name == "host" && !state_->authority.empty()) {
    return state_->authority;
  }
  return state_->reader.head.find(name);
}
bool RequestParser::keep_alive() const { return state_->reader.sink->keep_alive(); }
bool RequestParser::is_http_1_0() const { return state_->reader.sink->version < 11; }
bool RequestParser::wants_websocket() const { return state_->wants_websocket; }

void RequestParser::reset() {
  state_->reader.reset();
  state_->wants_websocket = false;
}

void RequestParser::trim() {
  CHECK(!started());
  state_->reader.head.trim();
  state_->reader.body.shrink_to_fit();
}

struct ResponseParser::State_ {
  explicit State_(const Limits& limits) : reader(limits.header_bytes_max, limits.body_bytes_max) {}

  void finish() {
    if (reader.state == RequestParser::State::complete) {
      for (const auto& [name, value] : reader.head.fields()) {
        headers.emplace_back(reader.head.get(name), reader.head.get(value));
      }
    }
  }

  Reader<false> reader;
  std::vector<std::pair<std::string, std::string>> headers;
};

ResponseParser::ResponseParser(const Limits& limits, bool to_head)
    : state_(std::make_unique<State_>(limits)) {
  state_->reader.sink->skip(to_head);
}
ResponseParser::~ResponseParser() = default;

size_t ResponseParser::feed(std::string_view bytes) {
  if (state_->reader.state != RequestParser::State::need_more) {
    return 0;
  }
  const size_t taken = state_->reader.feed(bytes);
  state_->finish();
  return taken;
}

void ResponseParser::feed_end() {
  Reader<false>& reader = state_->reader;
  if (reader.state != RequestParser::State::need_more) {
    return;
  }
  BeastError ec = http::error::partial_message;
  if (reader.sink->got_some()) {
    reader.sink->put_eof(ec);
  }
  if (ec) {
    reader.fail(Code::unavailable, "the connection ended before the answer did");
    return;
  }
  reader.state = RequestParser::State::complete;
  state_->finish();
}

RequestParser::State ResponseParser::state() const { return state_->reader.state; }
const Error& ResponseParser::error() const { return state_->reader.error; }
bool ResponseParser::has_header() const { return state_->reader.sink->is_header_done(); }
std::string_view ResponseParser::header(std::string_view name) const {
  return state_->reader.head.find(name);
}
int ResponseParser::status() const { return state_->reader.sink->status; }
std::vector<std::pair<std::string, std::string>>& ResponseParser::headers() {
  return state_->headers;
}
std::string& ResponseParser::body() { return state_->reader.body; }
bool ResponseParser::keep_alive() const { return state_->reader.sink->keep_alive(); }

}  // namespace parley::net
