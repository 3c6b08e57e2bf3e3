// SPDX-License-Identifier: Apache-2.0
// The writing half of http.h; apart from Beast, which only reads.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "base/text.h"
#include "net/http.h"
#include "net/server.h"

namespace parley::net {

namespace {

struct Reason {
  int status;
  std::string_view phrase;
};

std::string_view reason_phrase(int status) {
  // The first is by far the most frequent, so the search is not worth an order or a tree.
  static constexpr auto reasons = std::to_array<Reason>({
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  });
  const auto* const found = std::ranges::find(reasons, status, &Reason::status);
  return found == reasons.end() ? "Status" : found->phrase;
}

void append_number(std::string& out, size_t number, int base) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

// A line break in a value would begin a header of its own.
void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  }
  out += "\r\n";
}

}  // namespace

void append_response(std::string& out, const Response& response, const Framing& framing,
                     std::string_view date) {
  const bool has_body = response.status != 204 && response.status != 304;
  out += framing.to_http_1_0 ? "HTTP/1.0 " : "HTTP/1.1 ";
  append_number(out, static_cast<size_t>(response.status), 10);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\nDate: ";
  out += date;
  out += "\r\n";
  if (has_body && !response.content_type.empty()) {
    append_field(out, "Content-Type", response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    append_field(out, name, value);
  }
  if (framing.is_stream) {
    out += framing.to_http_1_0 ? "" : "Transfer-Encoding: chunked\r\n";
  } else if (has_body) {
    out += "Content-Length: ";
    append_number(out, response.body.size(), 10);
    out += "\r\n";
  }
  if (!framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (framing.to_http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (has_body && !framing.to_head && !framing.is_stream) {
    out += response.body;
  }
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  append_number(out, bytes.size(), 16);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

std::string http_date(Time time) {
  const time_t seconds = static_cast<time_t>(time.us / 1'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  // Not strftime: its names follow the locale.
  constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[size_t(parts.tm_wday) % 7],
                     parts.tm_mday, months[size_t(parts.tm_mon) % 12], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Response Handler::problem(const Error& error) {
  Response response;
  response.status = base::info(error.code).http_status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = error.detail + "\n";
  return response;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, base::to_lower, base::to_lower);
}

bool list_holds(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    const size_t first = item.find_first_not_of(" \t");
    item = first == std::string_view::npos ? std::string_view{} : item.substr(first);
    item = item.substr(0, item.find_last_not_of(" \t") + 1);
    if (equal_ignoring_case(item, token)) {
      return true;
    }
  }
  return false;
}

}  // namespace parley::net
