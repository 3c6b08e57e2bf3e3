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

std::string argument(const Ask& ask, std::string_view name, std::string_view otherwise) {
  const Json value = ask.arguments.find(name);
  return std::string(value ? value.as_string().value_or(otherwise) : otherwise);
}

Tool asking(std::string name, std::string description, Act act) {
  return {.name = std::move(name),
          .title = {},
          .description = std::move(description),
          .act = std::move(act)};
}

// Asks by the form, then answers `begin`ACTION`middle`CONTENT`end`.
Act form_tool(std::string message, std::string schema, std::string begin, std::string middle,
              std::string end) {
  return [=](const Ask& ask) {
    const std::string_view answer = ask.answer("form");
    if (answer.empty()) {
      ask.run.ask({form("form", argument(ask, "message", message), schema)});
      return;
    }
    ask.run.done(
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

void add_legacy_tools(Offer& offer) {
  offer.tools.push_back(asking("test_sampling", "Asks the client's model", [](const Ask& ask) {
    const std::string_view answer = ask.answer("model");
    if (answer.empty()) {
      ask.run.ask({sampling("model", argument(ask, "prompt", "Hello"), 100)});
      return;
    }
    ask.run.done(tool_text("LLM response: " + text_in(answer, {"content", "text"})));
  }));
  offer.tools.back().input_schema =
      R"({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})";
  offer.tools.push_back(asking("test_elicitation", "Asks the user",
                               form_tool("Who are you?", std::string(user_schema),
                                         "User response: action=", ", content=", "")));
  offer.tools.back().input_schema =
      R"({"type":"object","properties":{"message":{"type":"string"}},"required":["message"]})";
  offer.tools.push_back(asking("test_elicitation_sep1034_defaults", "Asks the user, with defaults",
                               form_tool("Please check these", std::string(defaults_schema),
                                         "Elicitation completed: action=", ", content=", "")));
  offer.tools.push_back(asking("test_elicitation_sep1330_enums", "Asks the user to choose",
                               form_tool("Please choose", std::string(enums_schema),
                                         "Elicitation completed: action=", ", content=", "")));
}

void add_single_questions(Offer& offer) {
  const auto greet = [](const Ask& ask) {
    const std::string name = text_in(ask.answer("user_name"), {"content", "name"});
    if (name.empty()) {
      ask.run.ask({form("user_name", "What is your name?", name_schema)});
      return;
    }
    ask.run.done(tool_text("Hello, " + name + "!"));
  };
  offer.tools.push_back(asking("test_input_required_result_elicitation", "Asks for a name", greet));
  offer.tools.push_back(asking("test_streaming_elicitation", "Asks for a name", greet));
  offer.tools.push_back(
      asking("test_input_required_result_sampling", "Asks the client's model", [](const Ask& ask) {
        const std::string text = text_in(ask.answer("capital_question"), {"content", "text"});
        if (text.empty()) {
          ask.run.ask({sampling("capital_question", "What is the capital of France?", 100)});
          return;
        }
        ask.run.done(tool_text(text));
      }));
  offer.tools.push_back(
      asking("test_input_required_result_list_roots", "Asks for the roots", [](const Ask& ask) {
        const std::string_view answer = ask.answer("client_roots");
        if (answer.empty()) {
          ask.run.ask({roots("client_roots")});
          return;
        }
        ask.run.done(tool_text("Roots: " + std::string(answer)));
      }));
  const auto with_state = [](const Ask& ask) {
    if (ask.answer("confirm").empty() || ask.state != "confirming") {
      ask.run.ask({form("confirm", "Please confirm", confirm_schema)}, "confirming");
      return;
    }
    ask.run.done(tool_text("state-ok"));
  };
  offer.tools.push_back(asking("test_input_required_result_request_state",
                               "Asks, and knows its state again", with_state));
  offer.tools.push_back(asking("test_input_required_result_tampered_state",
                               "Asks, and takes no other state", with_state));
}

void add_several_questions(Offer& offer) {
  offer.tools.push_back(asking(
      "test_input_required_result_multiple_inputs", "Asks for three things", [](const Ask& ask) {
        if (ask.answer("user_name").empty() || ask.answer("greeting").empty() ||
            ask.answer("client_roots").empty()) {
          ask.run.ask({form("user_name", "What is your name?", name_schema),
                       sampling("greeting", "Generate a greeting", 50), roots("client_roots")},
                      "asked");
          return;
        }
        ask.run.done(tool_text(text_in(ask.answer("greeting"), {"content", "text"}) + ", " +
                               text_in(ask.answer("user_name"), {"content", "name"})));
      }));
  offer.tools.push_back(
      asking("test_input_required_result_multi_round", "Asks twice", [](const Ask& ask) {
        if (ask.answer("step1").empty()) {
          ask.run.ask({form("step1", "Step 1: What is your name?", name_schema)}, "round 1");
        } else if (ask.answer("step2").empty()) {
          ask.run.ask({form("step2", "Step 2: What is your favorite color?", color_schema)},
                      "round 2");
        } else {
          ask.run.done(tool_text(text_in(ask.answer("step1"), {"content", "name"}) + " likes " +
                                 text_in(ask.answer("step2"), {"content", "color"})));
        }
      }));
  offer.tools.push_back(
      asking("test_input_required_result_capabilities", "Asks for what the client can do",
             [](const Ask& ask) {
               std::vector<Question> questions;
               if (ask.client.can.elicitation && ask.answer("user_name").empty()) {
                 questions.push_back(form("user_name", "What is your name?", name_schema));
               }
               if (ask.client.can.sampling && ask.answer("greeting").empty()) {
                 questions.push_back(sampling("greeting", "Generate a greeting", 50));
               }
               if (questions.empty()) {
                 ask.run.done(tool_text("Nothing is left to ask."));
               } else {
                 ask.run.ask(std::move(questions));
               }
             }));
  offer.tools.push_back(
      asking("test_missing_capability", "Needs a client that samples", [](const Ask& ask) {
        if (ask.answer("greeting").empty()) {
          ask.run.ask({sampling("greeting", "Generate a greeting", 50)});
          return;
        }
        ask.run.done(tool_text("Sampled."));
      }));
}

}  // namespace

void add_asking_fixtures(Offer& offer) {
  add_legacy_tools(offer);
  add_single_questions(offer);
  add_several_questions(offer);
  offer.prompts.push_back(
      {.name = "test_input_required_result_prompt",
       .title = {},
       .description = "A prompt that asks for its context",
       .arguments = {},
       .get = [](const Ask& ask) {
         const std::string context = text_in(ask.answer("user_context"), {"content", "context"});
         if (context.empty()) {
           ask.run.ask({form("user_context", "What context should the prompt use?",
                             R"({"type":"object","properties":{"context":{"type":"string"}},)"
                             R"("required":["context"]})")});
           return;
         }
         ask.run.done(prompt_text("A prompt with a context", "Use this context: " + context));
       }});
}

}  // namespace parley::edge::mcp
