// SPDX-License-Identifier: Apache-2.0
#include "app/client/client.h"

#include <utility>

#include "net/client/client.h"
#include "net/uri.h"

namespace parley::app {

namespace {

using base::Code;
using lib::Json;

constexpr lib::JsonLimits answer_limits{.bytes_max = size_t{256} << 20, .depth_max = 128};

std::string_view advice_for(std::string_view code) {
  for (const base::CodeInfo& info : base::all_codes()) {
    if (info.name == code) {
      return info.advice;
    }
  }
  return {};
}

}  // namespace

Failure refusal(const HttpReply& reply) {
  lib::JsonDocument document;
  const auto problem = document.parse(reply.body, answer_limits);
  if (problem && problem->is_object()) {
    const std::string code = text_of(*problem, "code");
    std::string detail = text_of(*problem, "detail");
    detail = detail.empty() ? text_of(*problem, "title") : detail;
    if (const std::string field = text_of(*problem, "field"); !field.empty()) {
      detail += " (field " + field + ")";
    }
    if (!code.empty() || !detail.empty()) {
      return {code, detail, std::string(advice_for(code))};
    }
  }
  return {"HTTP_" + std::to_string(reply.status),
          "the answer is HTTP " + std::to_string(reply.status) + " and no answer of a broker",
          "Check that --url names a Parley broker."};
}

std::expected<HttpReply, Failure> exchange(const BrokerAddress& address, const HttpCall& call) {
  net::Client client(place_of(address));
  auto response = client.request(call.method, call.path, call.body, call.headers, call.patience);
  if (!response) {
    Failure failure = failure_of(response.error());
    if (response.error().code == Code::unavailable) {
      failure.advice = "Look with `parley doctor`; `parley serve` starts a broker.";
    }
    return std::unexpected(std::move(failure));
  }
  std::string date(response->header("date"));
  std::string provenance(response->header("parley-provenance"));
  return HttpReply{response->status, std::move(response->body), std::move(date),
                   std::move(provenance)};
}

std::expected<HttpReply, Failure> ask(const ClientOptions& options, const HttpCall& call) {
  const auto address = find_broker(options);
  if (!address) {
    return std::unexpected(address.error());
  }
  auto reply = exchange(*address, call);
  if (reply && (reply->status < 200 || reply->status > 299)) {
    return std::unexpected(refusal(*reply));
  }
  return reply;
}

int ask_and_show(const ClientOptions& options, const HttpCall& call,
                 const std::function<int(Json)>& show) {
  const auto reply = ask(options, call);
  if (!reply) {
    return complain(reply.error());
  }
  if (options.json) {
    print_json(reply->body);
    return 0;
  }
  lib::JsonDocument document;
  const auto json = document.parse(reply->body.empty() ? "{}" : reply->body, answer_limits);
  if (!json) {
    return complain({"BAD_ANSWER", "the answer is no JSON: " + json.error().detail,
                     "Check that --url names a Parley broker."});
  }
  return show(*json);
}

std::string encoded(std::string_view text) { return net::percent_encoded(text); }

}  // namespace parley::app
