// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/mailbox.h"

#include <vector>

#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

void Mailbox::go_on() {
  std::vector<std::string> open;
  for (const auto& [id, mark] : listed_) {
    open.push_back(id);
  }
  for (const std::string& id : open) {
    fetch(id);
  }
  open.assign(unsettled_.begin(), unsettled_.end());
  for (const std::string& id : open) {
    settle(id);
  }
  if (is_listing_ || !listed_.empty()) {
    return;
  }
  is_listing_ = true;
  client_.ask({.target = "/v1/inbox?limit=10"}, [this](const Reply& reply) {
    is_listing_ = false;
    if (reply.status == 200) {
      on_listing(reply.body);
    }
  });
}

void Mailbox::on_listing(std::string_view body) {
  lib::JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed) {
    return;  // Which the schemas say.
  }
  is_listed_ = number_of(*parsed, "count") == 0;
  std::vector<std::string> ids;
  for (const Json item : parsed->find("notifications").elements()) {
    const std::string id(string_of(item, "id"));
    listed_[id] = string_of(item, "mark");
    ids.push_back(id);
  }
  for (const std::string& id : ids) {
    fetch(id);
  }
}

void Mailbox::fetch(const std::string& id) {
  // Few are read at a time, because a connection holds only so much that its client has not read.
  constexpr size_t at_a_time = 4;
  if (client_.waiting() >= at_a_time || !asked_.insert(id).second) {
    return;
  }
  client_.ask({.target = "/v1/messages/" + percent_encoded(id)}, [this, id](const Reply& reply) {
    asked_.erase(id);
    if (is_unknown(reply)) {
      lost_.insert(id);
      return;  // It is asked for again.
    }
    Item item{.id = id, .mark = listed_[id], .message = {}, .may_be_read = lost_.contains(id)};
    listed_.erase(id);
    lib::JsonDocument document;
    const auto parsed = document.parse(reply.body);
    if (reply.status != 200 || !parsed) {
      return;  // It went to another, say.
    }
    run_.check_message(client_.name(), client_.dialect(), *parsed);
    item.message = *parsed;
    const bool is_its_own = reply.header("parley-delivery").empty();
    if (on_message_(item) && is_its_own) {
      unsettled_.insert(id);
      settle(id);
    }
  });
}

void Mailbox::settle(const std::string& id) {
  if (!asked_.insert(id).second) {
    return;
  }
  client_.ask({"POST", text("/v1/messages/{}/ack", percent_encoded(id))},
              [this, id](const Reply& reply) {
                asked_.erase(id);
                if (!is_unknown(reply)) {
                  unsettled_.erase(id);
                }
              });
}

}  // namespace parley::edge_sim
