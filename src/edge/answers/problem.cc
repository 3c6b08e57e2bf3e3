// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/problem.h"

namespace parley::edge {

net::Response problem(const base::Error& error, const ProblemExtras& extras) {
  const base::CodeInfo& info = base::info(error.code);
  net::Response response;
  response.status = info.http_status;
  response.content_type = "application/problem+json";
  lib::JsonWriter out(response.body);
  out.object()
      .key("type")
      .text("urn:parley:error:" + std::string(info.name))
      .key("title")
      .text(info.title)
      .key("status")
      .number(info.http_status)
      .key("detail")
      .text(base::whole_detail(error))
      .key("code")
      .text(info.name);
  if (!error.field.empty()) {
    out.key("field").text(error.field);
  }
  if (!error.cycle.empty()) {
    out.key("cycle").array();
    for (const std::string& name : base::names_in_cycle(error)) {
      out.text(name);
    }
    out.end_array();
  }
  if (error.retry_after.us > 0) {
    constexpr int64_t second = 1'000'000;
    out.key("retry_after").text(base::format_duration(base::rough(error.retry_after)));
    response.headers.emplace_back("Retry-After",
                                  std::to_string((error.retry_after.us + second - 1) / second));
  }
  out.key("advice").text(info.advice);
  if (extras.members) {
    extras.members(out);
  }
  out.end_object();
  response.headers.insert(response.headers.end(), extras.headers.begin(), extras.headers.end());
  return response;
}

net::Response json_response(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

}  // namespace parley::edge
