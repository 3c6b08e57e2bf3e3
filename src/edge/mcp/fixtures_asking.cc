// SPDX-License-Identifier: Apache-2.0
// The tools and the prompt that ask the client for something before they answer.
#include "edge/mcp/fixtures.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr std::string_view name_schema =
    R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})";
constexpr std::string_view confirm_schema =
    R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]})";
constexpr std::string_view color_schema =
    R"({"type":"object","properties":{"color":{"type":"string"}},"required":["color"]})";

Question sampling(std::string key, std::string_view prompt, int tokens_max) {
  std::string params;
  JsonWriter out(params);
  out.object().key("messages").array().object().key("role").plain("user").key("content").object();
  out.key("type").plain("text").key("text").text(prompt).end_object().end_object().end_array();
  out.key("maxTokens").number(tokens_max).end_object();
  return {std::move(key), "sampling/createMessage", std::move(params)};
}

Question roots(std::string key) { return {std::move(key), "roots/list", "{}"}; }

// The value at a path of the client's answer; empty when it is not there or no string.
std::string text_in(std::string_view answer, std::initializer_list<std::string_view> path) {
  lib::JsonDocument document;
  const auto parsed = document.parse(answer);
  Json at = parsed ? *parsed : Json();
  for (const std::string_view key : path) {
    at = at && at.is_object() ? at.find(key) : Json();
  }
  return std::string(at ? at.as_string().value_or("") : std::string_view{});
}

// What the user put into the form, as JSON.
std::string content_in(std::string_view answer) {
  lib::JsonDocument document;
  const auto parsed = document.parse(answer);
  const Json content = parsed && parsed->is_object() ? parsed->find("content") : Json();
  return std::string(content ? content.raw() : "{}");
}

std::string argument(const CallContext& context, std::string_view name,
                     std::string_view otherwise) {
  const Json value = context.arguments.find(name);
  return std::string(value ? value.as_string().value_or(otherwise) : otherwise);
}

Tool asking(std::string name, std::string description, Handler handler) {
  return {.name = std::move(name),
          .title = {},
          .description = std::move(description),
          .handler = std::move(handler)};
}

// Asks by the form, then answers `begin`ACTION`middle`CONTENT`end`.
Handler form_tool(std::string message, std::string schema, std::string begin, std::string middle,
                  std::string end) {
  return [=](const CallContext& context) {
    const std::string_view answer = context.answer("form");
    if (answer.empty()) {
      context.call.ask({form("form", argument(context, "message", message), schema)});
      return;
    }
    context.call.done(
        tool_text(begin + text_in(answer, {"action"}) + middle + content_in(answer) + end));
  };
}

constexpr std::string_view user_schema =
    R"({"type":"object","properties":{"username":{"type":"string","description":"Your name"},)"
    R"("email":{"type":"string","description":"Your address"}},"required":["username","email"]})";
constexpr std::string_view defaults_schema =
    R"({"type":"object","properties":{"name":{"type":"string","default":"John Doe"},)"
    R"("age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},)"
    R"("status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},)"
    R"("verified":{"type":"boolean","default":true}},"required":[]})";
constexpr std::string_view enums_schema =
    R"({"type":"object","properties":{)"
    R"("untitledSingle":{"type":"string","enum":["option1","option2","option3"]},)"
    R"("titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},)"
    R"({"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},)"
    R"("legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],)"
    R"("enumNames":["Option One","Option Two","Option Three"]},)"
    R"("untitledMulti":{"type":"array","items":{"type":"string",)"
    R"("enum":["option1","option2","option3"]}},)"
    R"("titledMulti":{"type":"array","items":{"anyOf":[)"
    R"({"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},)"
    R"({"const":"value3","title":"Third Choice"}]}}},"required":[]})";

void add_legacy_tools(Features& features) {
  features.tools.push_back(
      asking("test_sampling", "Asks the client's model", [](const CallContext& context) {
        const std::string_view answer = context.answer("model");
        if (answer.empty()) {
          context.call.ask({sampling("model", argument(context, "prompt", "Hello"), 100)});
          return;
        }
        context.call.done(tool_text("LLM response: " + text_in(answer, {"content", "text"})));
      }));
  features.tools.back().input_schema =
      R"({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})";
  features.tools.push_back(asking("test_elicitation", "Asks the user",
                                  form_tool("Who are you?", std::string(user_schema),
                                            "User response: action=", ", content=", "")));
  features.tools.back().input_schema =
      R"({"type":"object","properties":{"message":{"type":"string"}},"required":["message"]})";
  features.tools.push_back(asking("test_elicitation_sep1034_defaults",
                                  "Asks the user, with defaults",
                                  form_tool("Please check these", std::string(defaults_schema),
                                            "Elicitation completed: action=", ", content=", "")));
  features.tools.push_back(asking("test_elicitation_sep1330_enums", "Asks the user to choose",
                                  form_tool("Please choose", std::string(enums_schema),
                                            "Elicitation completed: action=", ", content=", "")));
}

void add_single_questions(Features& features) {
  const auto greet = [](const CallContext& context) {
    const std::string name = text_in(context.answer("user_name"), {"content", "name"});
    if (name.empty()) {
      context.call.ask({form("user_name", "What is your name?", name_schema)});
      return;
    }
    context.call.done(tool_text("Hello, " + name + "!"));
  };
  features.tools.push_back(
      asking("test_input_required_result_elicitation", "Asks for a name", greet));
  features.tools.push_back(asking("test_streaming_elicitation", "Asks for a name", greet));
  features.tools.push_back(asking(
      "test_input_required_result_sampling", "Asks the client's model",
      [](const CallContext& context) {
        const std::string text = text_in(context.answer("capital_question"), {"content", "text"});
        if (text.empty()) {
          context.call.ask({sampling("capital_question", "What is the capital of France?", 100)});
          return;
        }
        context.call.done(tool_text(text));
      }));
  features.tools.push_back(asking("test_input_required_result_list_roots", "Asks for the roots",
                                  [](const CallContext& context) {
                                    const std::string_view answer = context.answer("client_roots");
                                    if (answer.empty()) {
                                      context.call.ask({roots("client_roots")});
                                      return;
                                    }
                                    context.call.done(tool_text("Roots: " + std::string(answer)));
                                  }));
  const auto with_state = [](const CallContext& context) {
    if (context.answer("confirm").empty() || context.state != "confirming") {
      context.call.ask({form("confirm", "Please confirm", confirm_schema)}, "confirming");
      return;
    }
    context.call.done(tool_text("state-ok"));
  };
  features.tools.push_back(asking("test_input_required_result_request_state",
                                  "Asks, and knows its state again", with_state));
  features.tools.push_back(asking("test_input_required_result_tampered_state",
                                  "Asks, and takes no other state", with_state));
}

void add_several_questions(Features& features) {
  features.tools.push_back(asking(
      "test_input_required_result_multiple_inputs", "Asks for three things",
      [](const CallContext& context) {
        if (context.answer("user_name").empty() || context.answer("greeting").empty() ||
            context.answer("client_roots").empty()) {
          context.call.ask({form("user_name", "What is your name?", name_schema),
                            sampling("greeting", "Generate a greeting", 50), roots("client_roots")},
                           "asked");
          return;
        }
        context.call.done(tool_text(text_in(context.answer("greeting"), {"content", "text"}) +
                                    ", " +
                                    text_in(context.answer("user_name"), {"content", "name"})));
      }));
  features.tools.push_back(asking(
      "test_input_required_result_multi_round", "Asks twice", [](const CallContext& context) {
        if (context.answer("step1").empty()) {
          context.call.ask({form("step1", "Step 1: What is your name?", name_schema)}, "round 1");
        } else if (context.answer("step2").empty()) {
          context.call.ask({form("step2", "Step 2: What is your favorite color?", color_schema)},
                           "round 2");
        } else {
          context.call.done(tool_text(text_in(context.answer("step1"), {"content", "name"}) +
                                      " likes " +
                                      text_in(context.answer("step2"), {"content", "color"})));
        }
      }));
  features.tools.push_back(
      asking("test_input_required_result_capabilities", "Asks for what the client can do",
             [](const CallContext& context) {
               std::vector<Question> questions;
               if (context.client.can.elicitation && context.answer("user_name").empty()) {
                 questions.push_back(form("user_name", "What is your name?", name_schema));
               }
               if (context.client.can.sampling && context.answer("greeting").empty()) {
                 questions.push_back(sampling("greeting", "Generate a greeting", 50));
               }
               if (questions.empty()) {
                 context.call.done(tool_text("Nothing is left to ask."));
               } else {
                 context.call.ask(std::move(questions));
               }
             }));
  features.tools.push_back(asking(
      "test_missing_capability", "Needs a client that samples", [](const CallContext& context) {
        if (context.answer("greeting").empty()) {
          context.call.ask({sampling("greeting", "Generate a greeting", 50)});
          return;
        }
        context.call.done(tool_text("Sampled."));
      }));
}

}  // namespace

void add_asking_fixtures(Features& features) {
  add_legacy_tools(features);
  add_single_questions(features);
  add_several_questions(features);
  features.prompts.push_back(
      {.name = "test_input_required_result_prompt",
       .title = {},
       .description = "A prompt that asks for its context",
       .arguments = {},
       .get = [](const CallContext& context) {
         const std::string given = text_in(context.answer("user_context"), {"content", "context"});
         if (given.empty()) {
           context.call.ask({form("user_context", "What context should the prompt use?",
                                  R"({"type":"object","properties":{"context":{"type":"string"}},)"
                                  R"("required":["context"]})")});
           return;
         }
         context.call.done(prompt_text("A prompt with a context", "Use this context: " + given));
       }});
}

}  // namespace parley::edge::mcp
