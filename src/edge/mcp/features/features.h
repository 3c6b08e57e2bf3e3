// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edge/mcp/features/call_handle.h"

namespace parley::edge::mcp {

// The features of a Model Context Protocol server: plain values that a Server is given before it
// runs.

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  std::string input_schema = R"({"type":"object"})";  // JSON Schema 2020-12, given out verbatim
  std::string output_schema{};                        // may be empty
  std::string annotations{};                          // JSON object; may be empty
  Handler handler;
};

// Completes `value` of the argument or variable; the first 100 are shown.
using Complete = std::function<std::vector<std::string>(
    const Client& client, std::string_view argument, std::string_view value)>;

// One resource, or all that a template such as `parley://threads/{id}` names; each {variable} is
// one segment, percent-encoded in the URI and decoded in the arguments.
struct Resource {
  std::string uri;  // or the template
  std::string name;
  std::string title;
  std::string description;
  std::string mime_type = "application/json";
  Handler read;
  Complete complete{};        // of the variables of a template
  bool subscribable = false;  // then someone calls Server::updated
};

struct Prompt {
  struct Argument {
    std::string name;
    std::string description;
    bool required = false;
  };
  std::string name;
  std::string title;
  std::string description;
  std::vector<Argument> arguments;
  Handler get;
  Complete complete{};
};

struct Features {
  std::string instructions;  // for the model, in a few sentences
  std::vector<Tool> tools;
  std::vector<Resource> resources;
  std::vector<Resource> templates;
  std::vector<Prompt> prompts;
  bool lists_change = false;  // then someone calls Server::list_changed
};

}  // namespace parley::edge::mcp
