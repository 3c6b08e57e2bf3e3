// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/fixtures.h"

#include "edge/mcp/server.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::JsonWriter;

// One red pixel, and a WAV file without a sample.
constexpr std::string_view png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg==";
constexpr std::string_view wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
constexpr base::Duration pause = base::milliseconds(50);

Result content(std::string_view items) { return {"\"content\":[" + std::string(items) + "]"}; }

std::string text_item(std::string_view text) {
  std::string out;
  JsonWriter(out).object().key("type").plain("text").key("text").text(text).end_object();
  return out;
}

std::string data_item(std::string_view type, std::string_view mime, std::string_view data) {
  std::string out;
  JsonWriter writer(out);
  writer.object().key("type").plain(type).key("data").plain(data);
  writer.key("mimeType").plain(mime).end_object();
  return out;
}

std::string resource_item(std::string_view uri, std::string_view mime, std::string_view text) {
  std::string out;
  JsonWriter writer(out);
  writer.object().key("type").plain("resource").key("resource").object().key("uri").text(uri);
  writer.key("mimeType").plain(mime).key("text").text(text).end_object().end_object();
  return out;
}

// A tool that always gives the same result.
Tool fixed(std::string name, std::string description, Result result) {
  return {.name = std::move(name),
          .title = {},
          .description = std::move(description),
          .handler = [result = std::move(result)](const CallContext& context) {
            context.call.done(result);
          }};
}

// Does the steps one after the other, with a pause between, then ends the call.
void in_steps(Server& server, const CallHandle& call, std::vector<std::function<void()>> steps,
              Result result) {
  for (size_t n = 0; n < steps.size(); ++n) {
    const auto at = server.now() + base::Duration{pause.us * static_cast<int64_t>(n)};
    server.waits().add(at, std::move(steps[n]));
  }
  const auto end = server.now() + base::Duration{pause.us * static_cast<int64_t>(steps.size())};
  server.waits().add(end, [call, result = std::move(result)] { call.done(result); });
}

constexpr std::string_view schema_2020_12 =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("$defs":{"address":{"$anchor":"addressDef","type":"object",)"
    R"("properties":{"street":{"type":"string"},"city":{"type":"string"}}}},)"
    R"("properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},)"
    R"("contactMethod":{"type":"string","enum":["phone","email"]},)"
    R"("phone":{"type":"string"},"email":{"type":"string"}},)"
    R"("allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],)"
    R"("if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},)"
    R"("then":{"required":["phone"]},"else":{"required":["email"]},)"
    R"("additionalProperties":false})";

void add_plain_tools(Features& features) {
  auto& tools = features.tools;
  tools.push_back(fixed("test_simple_text", "Returns text",
                        tool_text("This is a simple text response for testing.")));
  tools.push_back(fixed("test_image_content", "Returns an image",
                        content(data_item("image", "image/png", png))));
  tools.push_back(
      fixed("test_audio_content", "Returns audio", content(data_item("audio", "audio/wav", wav))));
  tools.push_back(fixed("test_embedded_resource", "Returns a resource",
                        content(resource_item("test://embedded-resource", "text/plain",
                                              "This is an embedded resource content."))));
  tools.push_back(fixed("test_multiple_content_types", "Returns several kinds of content",
                        content(text_item("Multiple content types test:") + "," +
                                data_item("image", "image/png", png) + "," +
                                resource_item("test://mixed-content-resource", "application/json",
                                              R"({"test":"data","value":123})"))));
  tools.push_back(fixed("test_error_handling", "Fails always",
                        tool_error("This tool intentionally returns an error for testing")));
  Tool schema = fixed("json_schema_2020_12_tool", "Has a schema of JSON Schema 2020-12",
                      tool_text("The arguments were taken."));
  schema.input_schema = schema_2020_12;
  tools.push_back(std::move(schema));
  Tool header = fixed("test_header_param", "Has an argument that is in a header as well",
                      tool_text("The header and the argument agree."));
  header.input_schema =
      R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}})";
  tools.push_back(std::move(header));
}

void add_stepping_tools(Features& features, Server& server) {
  features.tools.push_back(
      {.name = "test_tool_with_progress",
       .title = {},
       .description = "Reports progress",
       .handler = [&server](const CallContext& context) {
         std::vector<std::function<void()>> steps;
         for (const int done : {0, 50, 100}) {
           steps.emplace_back([call = context.call, done] { call.progress(done, 100, "Working"); });
         }
         in_steps(server, context.call, std::move(steps), tool_text("Done."));
       }});
  const auto logging = [&server](const CallContext& context) {
    std::vector<std::function<void()>> steps;
    for (const std::string_view text : {R"("Tool execution started")", R"("Tool processing data")",
                                        R"("Tool execution completed")"}) {
      steps.emplace_back([call = context.call, text] { call.log(Level::info, "fixtures", text); });
    }
    in_steps(server, context.call, std::move(steps), tool_text("Logged."));
  };
  features.tools.push_back({.name = "test_tool_with_logging",
                            .title = {},
                            .description = "Logs three times",
                            .handler = logging});
  features.tools.push_back({.name = "test_logging_tool",
                            .title = {},
                            .description = "Logs where the client asked for it",
                            .handler = logging});
  features.tools.push_back({.name = "test_reconnection",
                            .title = {},
                            .description = "Closes the stream before it answers",
                            .handler = [&server](const CallContext& context) {
                              std::vector<std::function<void()>> steps = {
                                  [call = context.call] { call.hang_up(); }, [] {}};
                              in_steps(server, context.call, std::move(steps),
                                       tool_text("Reconnection test completed successfully."));
                            }});
  const auto change = [&](std::string name, ChangeNotice::Kind list) {
    features.tools.push_back({.name = std::move(name),
                              .title = {},
                              .description = "Says that a list has changed",
                              .handler = [&server, list](const CallContext& context) {
                                server.list_changed(list);
                                context.call.done(tool_text("Changed."));
                              }});
  };
  change("test_trigger_tool_change", ChangeNotice::Kind::tools);
  change("test_trigger_prompt_change", ChangeNotice::Kind::prompts);
}

Result blob(std::string_view uri, std::string_view mime, std::string_view data) {
  std::string out;
  JsonWriter writer(out);
  writer.key("contents").array().object().key("uri").text(uri).key("mimeType").plain(mime);
  writer.key("blob").plain(data).end_object().end_array();
  return {std::move(out)};
}

void add_resources(Features& features) {
  const auto fixed_resource = [](std::string uri, std::string name, std::string mime,
                                 Result result) {
    return Resource{.uri = std::move(uri),
                    .name = name,
                    .title = {},
                    .description = "For testing: " + name,
                    .mime_type = std::move(mime),
                    .read = [result = std::move(result)](const CallContext& context) {
                      context.call.done(result);
                    }};
  };
  features.resources.push_back(
      fixed_resource("test://static-text", "Static text", "text/plain",
                     resource_text("test://static-text", "text/plain",
                                   "This is the content of the static text resource.")));
  features.resources.push_back(fixed_resource("test://static-binary", "Static binary", "image/png",
                                              blob("test://static-binary", "image/png", png)));
  Resource watched =
      fixed_resource("test://watched-resource", "Watched", "text/plain",
                     resource_text("test://watched-resource", "text/plain", "Watch this."));
  watched.subscribable = true;
  features.resources.push_back(std::move(watched));
  features.templates.push_back({.uri = "test://template/{id}/data",
                                .name = "Template",
                                .title = {},
                                .description = "For testing: a template",
                                .read = [](const CallContext& context) {
                                  const std::string id(*context.arguments.find("id").as_string());
                                  std::string data;
                                  JsonWriter out(data);
                                  out.object().key("id").text(id).key("templateTest").boolean(true);
                                  out.key("data").text("Data for ID: " + id).end_object();
                                  context.call.done(
                                      resource_text(context.uri, "application/json", data));
                                }});
}

std::string user_message(std::string_view item) {
  return R"({"role":"user","content":)" + std::string(item) + "}";
}

Result messages(std::string_view items) { return {"\"messages\":[" + std::string(items) + "]"}; }

std::string argument(const CallContext& context, std::string_view name) {
  const lib::Json value = context.arguments.find(name);
  return std::string(value ? value.as_string().value_or("") : std::string_view{});
}

void add_prompts(Features& features) {
  features.prompts.push_back(
      {.name = "test_simple_prompt",
       .title = {},
       .description = "A prompt",
       .arguments = {},
       .get = [](const CallContext& context) {
         context.call.done(prompt_text("A prompt", "This is a simple prompt for testing."));
       }});
  features.prompts.push_back(
      {.name = "test_prompt_with_arguments",
       .title = {},
       .description = "A prompt with arguments",
       .arguments = {{"arg1", "The first", true}, {"arg2", "The second", true}},
       .get =
           [](const CallContext& context) {
             context.call.done(prompt_text("A prompt with arguments",
                                           "Prompt with arguments: arg1='" +
                                               argument(context, "arg1") + "', arg2='" +
                                               argument(context, "arg2") + "'"));
           },
       .complete =
           [](const Client&, std::string_view, std::string_view value) {
             std::vector<std::string> fitting;
             for (const std::string_view word : {"paris", "park", "party"}) {
               if (word.starts_with(value)) {
                 fitting.emplace_back(word);
               }
             }
             return fitting;
           }});
  features.prompts.push_back(
      {.name = "test_prompt_with_embedded_resource",
       .title = {},
       .description = "A prompt with a resource",
       .arguments = {{"resourceUri", "The resource", true}},
       .get = [](const CallContext& context) {
         context.call.done(messages(
             user_message(resource_item(argument(context, "resourceUri"), "text/plain",
                                        "Embedded resource content for testing.")) +
             "," + user_message(text_item("Please process the embedded resource above."))));
       }});
  features.prompts.push_back(
      {.name = "test_prompt_with_image",
       .title = {},
       .description = "A prompt with an image",
       .arguments = {},
       .get = [](const CallContext& context) {
         context.call.done(messages(user_message(data_item("image", "image/png", png)) + "," +
                                    user_message(text_item("Please analyze the image above."))));
       }});
}

}  // namespace

void add_content_fixtures(Features& features, Server& server) {
  add_plain_tools(features);
  add_stepping_tools(features, server);
  add_resources(features);
  add_prompts(features);
}

Features fixtures(Server& server) {
  Features features;
  features.lists_change = true;
  add_content_fixtures(features, server);
  add_asking_fixtures(features);
  return features;
}

}  // namespace parley::edge::mcp
