// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edge/mcp/features/features.h"
#include "edge/mcp/rpc.h"
#include "net/server.h"

namespace parley::edge::mcp {

// All that a server offers, found by name, and the texts of its lists, made once.
class Catalog {
 public:
  // A property of a tool's arguments that must also be in a header (`x-mcp-header`).
  struct HeaderParam {
    std::string property;
    std::string header;  // in lower case: mcp-param-region
  };
  struct FoundTool {
    const Tool* tool = nullptr;
    const std::vector<HeaderParam>* headers = nullptr;
  };
  struct FoundResource {
    const Resource* resource = nullptr;
    std::string uri;               // in the one way to write it
    std::string variables = "{}";  // of the template, as a JSON object
  };

  Catalog() { write_lists(); }
  void add(Features features);

  std::optional<FoundTool> tool(std::string_view name) const;
  const Prompt* prompt(std::string_view name) const;
  std::optional<FoundResource> resource(std::string_view uri) const;
  const Resource* resource_template(std::string_view pattern) const;

  // Members of results.
  const std::string& tools_list() const { return tools_list_; }
  const std::string& prompts_list() const { return prompts_list_; }
  const std::string& resources_list() const { return resources_list_; }
  const std::string& templates_list() const { return templates_list_; }
  const std::string& instructions() const { return instructions_; }
  // The server's capabilities, as a JSON object.
  std::string capabilities(Version version) const;
  bool lists_change() const { return lists_change_; }

 private:
  struct KnownTool {
    Tool tool;
    std::vector<HeaderParam> headers;
  };
  void write_lists();

  // Deques: what is found stays where it is.
  std::deque<KnownTool> tools_;
  std::deque<Resource> resources_;
  std::deque<Resource> templates_;
  std::deque<Prompt> prompts_;
  std::unordered_map<std::string_view, const KnownTool*> tools_by_name_;
  std::unordered_map<std::string_view, const Resource*> resources_by_uri_;
  std::string instructions_;
  bool lists_change_ = false;
  std::string tools_list_, prompts_list_, resources_list_, templates_list_;
};

// What `uri` says, if it fits the pattern: `{name}` is one segment.
struct TemplateMatch {
  std::string variables;  // as a JSON object
  std::string uri;        // the same for each way to write it: percent-encoded as we do
};
std::optional<TemplateMatch> match_template(std::string_view pattern, std::string_view uri);

// What the modern era wants in headers: method and name as in the body, and the parameters that a
// tool names. None: all is well. `headers`: of the tool that is called, or null.
std::optional<RpcError> check_headers(const net::Request& request, const RpcMessage& message,
                                      const std::vector<Catalog::HeaderParam>* headers);

// A header's value as it was meant: `=?base64?…?=` is decoded. None where that is no base64.
std::optional<std::string> header_value(std::string_view text);

}  // namespace parley::edge::mcp
