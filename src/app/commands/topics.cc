// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

using lib::Json;

int list_topics(const ClientOptions& options) {
  return ask_and_show(options, {"GET", "/v1/topics"}, [](Json answer) {
    Table table({"TOPIC", "KEPT", "SUBSCRIBERS"});
    const Json topics = answer.find("topics");
    for (const Json topic : topics ? topics.elements() : Json::Elements()) {
      std::string names;
      const Json subscribers = topic.find("subscribers");
      for (const Json name : subscribers ? subscribers.elements() : Json::Elements()) {
        names += (names.empty() ? "" : ", ") + std::string(name.as_string().value_or(name.raw()));
      }
      // Who subscribes is not for everyone; how many is.
      table.add({{text_of(topic, "name")},
                 {text_of(topic, "retained")},
                 {names.empty() ? text_of(topic, "subscriber_count") : names}});
    }
    std::printf("%s", table.empty() ? "no topics\n" : table.render(wants_colours()).c_str());
    if (text_of(answer, "more") == "true") {
      std::fprintf(stderr, "these are the first of %s; GET /v1/topics?after=NAME lists the rest\n",
                   text_of(answer, "count").c_str());
    }
    return 0;
  });
}

}  // namespace

void add_topics(Command& app, int& exit_code) {
  const auto options = std::make_shared<ClientOptions>();
  Command* topics =
      app.add_subcommand("topics", "List topics, and who subscribes to them or how many do");
  add_client_options(*topics, *options);
  add_example(*topics, "parley topics --json");
  topics->callback([=, &exit_code] { exit_code = list_topics(*options); });
}

}  // namespace parley::app
