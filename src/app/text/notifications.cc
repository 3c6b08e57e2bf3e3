// SPDX-License-Identifier: Apache-2.0
#include "app/text/notifications.h"

#include "app/client/client.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

using lib::Json;

Colour colour_of(std::string_view priority) {
  if (priority == "critical") {
    return Colour::red;
  }
  return priority == "high" ? Colour::yellow : Colour::plain;
}

}  // namespace

std::string notifications_table(Json inbox) {
  Table table({"ID", "FROM", "TYPE", "PRIORITY", "SENT", "PREVIEW"});
  for (const Json item : inbox.find("notifications").elements()) {
    constexpr size_t preview_columns = 60;
    const std::string priority = text_of(item, "priority");
    const std::string meant_for = text_of(item, "redirected_from");
    table.add({{text_of(item, "id")},
               {text_of(item, "from") + (meant_for.empty() ? "" : " to " + meant_for)},
               {text_of(item, "type")},
               {priority, colour_of(priority)},
               {text_of(item, "timestamp"), Colour::dim},
               {shortened(printable(text_of(item, "preview")), preview_columns)}});
  }
  return table.empty() ? std::string() : table.render(wants_colours());
}

}  // namespace parley::app
