// SPDX-License-Identifier: Apache-2.0
#include "app/run/broker_connection.h"

namespace parley::app {

BrokerConnection::Answer BrokerConnection::call(const HttpCall& call) {
  if (!client_) {
    auto found = find_broker(options_);
    if (!found) {
      // Wrong options stay wrong, so they count as refused; a broker that is away may come back.
      const bool is_away = found.error().code == "UNAVAILABLE";
      return {.status = is_away ? 0 : 400, .body = {}, .failure = found.error()};
    }
    address_ = std::move(*found);
    net::Place place = place_of(address_);
    place.stop = stop_;
    client_.emplace(std::move(place));
  }
  auto response = client_->request(call.method, call.path, call.body, call.headers, call.patience);
  if (!response) {
    client_.reset();
    return {.status = 0, .body = {}, .failure = failure_of(response.error())};
  }
  Answer answer{.status = response->status,
                .body = std::move(response->body),
                .provenance = std::string(response->header("parley-provenance")),
                .failure = {}};
  if (!answer.is_good()) {
    answer.failure = refusal({answer.status, answer.body, {}});
  }
  return answer;
}

}  // namespace parley::app
