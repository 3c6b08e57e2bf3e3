// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/features/catalog.h"

#include <algorithm>

#include "base/text.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"
#include "net/uri.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), base::to_lower);
  return out;
}

// The properties of a tool's schema that a client must repeat in headers, for proxies to route by.
std::vector<Catalog::HeaderParam> header_params(const std::string& schema) {
  std::vector<Catalog::HeaderParam> params;
  lib::JsonDocument document;
  const auto parsed = document.parse(schema);
  const Json properties = parsed ? parsed->find("properties") : Json();
  for (const lib::JsonMember property : properties.members()) {
    if (const auto header = property.value.find("x-mcp-header").as_string()) {
      params.push_back({std::string(property.key), "mcp-param-" + lower(*header)});
    }
  }
  return params;
}

// Members that tools, resources and prompts have in common; the title where there is one.
void describe(JsonWriter& out, std::string_view name, std::string_view title,
              std::string_view description) {
  out.key("name").text(name);
  if (!title.empty()) {
    out.key("title").text(title);
  }
  out.key("description").text(description);
}

void write_tool(JsonWriter& out, const Tool& tool) {
  out.object();
  describe(out, tool.name, tool.title, tool.description);
  out.key("inputSchema").raw(tool.input_schema);
  if (!tool.output_schema.empty()) {
    out.key("outputSchema").raw(tool.output_schema);
  }
  if (!tool.annotations.empty()) {
    out.key("annotations").raw(tool.annotations);
  }
  out.end_object();
}

void write_resource(JsonWriter& out, std::string_view key, const Resource& resource) {
  out.object().key(key).text(resource.uri);
  describe(out, resource.name, resource.title, resource.description);
  out.key("mimeType").text(resource.mime_type).end_object();
}

void write_prompt(JsonWriter& out, const Prompt& prompt) {
  out.object();
  describe(out, prompt.name, prompt.title, prompt.description);
  out.key("arguments").array();
  for (const Prompt::Argument& argument : prompt.arguments) {
    out.object().key("name").text(argument.name).key("description").text(argument.description);
    out.key("required").boolean(argument.required).end_object();
  }
  out.end_array().end_object();
}

// `"key":[…]`, with what `write` makes of each.
template <class All, class Write>
std::string list_text(std::string_view key, const All& all, const Write& write) {
  std::string text;
  JsonWriter out(text);
  out.object().key(key).array();
  for (const auto& each : all) {
    write(out, each);
  }
  out.end_array().end_object();
  return text.substr(1, text.size() - 2);
}

}  // namespace

void Catalog::add(Features features) {
  for (Tool& tool : features.tools) {
    std::vector<HeaderParam> headers = header_params(tool.input_schema);
    const KnownTool& known = tools_.emplace_back(KnownTool{std::move(tool), std::move(headers)});
    tools_by_name_.emplace(known.tool.name, &known);
  }
  for (Resource& resource : features.resources) {
    const Resource& known = resources_.emplace_back(std::move(resource));
    resources_by_uri_.emplace(known.uri, &known);
  }
  std::ranges::move(features.templates, std::back_inserter(templates_));
  std::ranges::move(features.prompts, std::back_inserter(prompts_));
  if (!features.instructions.empty()) {
    instructions_.append(instructions_.empty() ? "" : "\n").append(features.instructions);
  }
  lists_change_ = lists_change_ || features.lists_change;
  write_lists();
}

// The lists are the same for everyone, so they are written once and not for each request.
void Catalog::write_lists() {
  tools_list_ = list_text("tools", tools_, [](JsonWriter& out, const KnownTool& known) {
    write_tool(out, known.tool);
  });
  prompts_list_ = list_text("prompts", prompts_, write_prompt);
  resources_list_ = list_text(
      "resources", resources_,
      [](JsonWriter& out, const Resource& resource) { write_resource(out, "uri", resource); });
  templates_list_ =
      list_text("resourceTemplates", templates_, [](JsonWriter& out, const Resource& resource) {
        write_resource(out, "uriTemplate", resource);
      });
}

std::optional<Catalog::FoundTool> Catalog::tool(std::string_view name) const {
  const auto at = tools_by_name_.find(name);
  if (at == tools_by_name_.end()) {
    return std::nullopt;
  }
  return FoundTool{&at->second->tool, &at->second->headers};
}

const Prompt* Catalog::prompt(std::string_view name) const {
  const auto at = std::ranges::find(prompts_, name, &Prompt::name);
  return at == prompts_.end() ? nullptr : &*at;
}

std::optional<Catalog::FoundResource> Catalog::resource(std::string_view uri) const {
  if (const auto at = resources_by_uri_.find(uri); at != resources_by_uri_.end()) {
    return FoundResource{at->second, at->second->uri};
  }
  for (const Resource& each : templates_) {
    if (auto match = match_template(each.uri, uri)) {
      return FoundResource{&each, std::move(match->uri), std::move(match->variables)};
    }
  }
  return std::nullopt;
}

const Resource* Catalog::resource_template(std::string_view pattern) const {
  const auto at = std::ranges::find(templates_, pattern, &Resource::uri);
  return at == templates_.end() ? nullptr : &*at;
}

std::string Catalog::capabilities(Version version) const {
  const bool subscribable = std::ranges::any_of(resources_, &Resource::subscribable) ||
                            std::ranges::any_of(templates_, &Resource::subscribable);
  std::string text;
  JsonWriter out(text);
  const auto list = [&](std::string_view name) {
    out.key(name).object();
    if (lists_change_) {
      out.key("listChanged").boolean(true);
    }
  };
  out.object();
  list("tools");
  out.end_object();
  if (!resources_.empty() || !templates_.empty()) {
    list("resources");
    if (subscribable) {
      out.key("subscribe").boolean(true);
    }
    out.end_object();
  }
  if (!prompts_.empty()) {
    list("prompts");
    out.end_object();
  }
  out.key("logging").object().end_object();
  // Older versions complete too, but have no capability to say so.
  if (version >= Version::v2025_03_26) {
    out.key("completions").object().end_object();
  }
  out.end_object();
  return text;
}

std::optional<TemplateMatch> match_template(std::string_view pattern, std::string_view uri) {
  TemplateMatch match;
  JsonWriter out(match.variables);
  out.object();
  while (true) {
    const size_t open = std::min(pattern.find('{'), pattern.size());
    if (!uri.starts_with(pattern.substr(0, open))) {
      return std::nullopt;
    }
    match.uri += pattern.substr(0, open);
    uri.remove_prefix(open);
    pattern.remove_prefix(open);
    const size_t close = pattern.find('}');
    if (close == std::string_view::npos) {
      break;
    }
    // A variable is one segment: a slash within it must be percent-encoded.
    const size_t end = std::min(uri.find_first_of("/?#"), uri.size());
    const auto value = net::percent_decoded(uri.substr(0, end), false);
    if (!value || value->empty()) {
      return std::nullopt;
    }
    out.key(pattern.substr(1, close - 1)).text(*value);
    match.uri += net::percent_encoded(*value);
    uri.remove_prefix(end);
    pattern.remove_prefix(close + 1);
  }
  if (!uri.empty() || !pattern.empty()) {
    return std::nullopt;
  }
  out.end_object();
  return match;
}

std::optional<std::string> header_value(std::string_view text) {
  constexpr std::string_view prefix = "=?base64?";
  constexpr std::string_view suffix = "?=";
  const bool is_encoded = text.size() >= prefix.size() + suffix.size() &&
                          text.starts_with(prefix) && text.ends_with(suffix);
  if (!is_encoded) {
    return std::string(text);
  }
  text.remove_prefix(prefix.size());
  text.remove_suffix(suffix.size());
  return lib::base64_decoded(text);
}

namespace {

RpcError mismatch(std::string_view header, std::string_view body) {
  return {header_mismatch, "the header " + std::string(header) +
                               " must be there and say the same as " + std::string(body) +
                               " in the body"};
}

// Whether a header says what the body says.
bool same_value(std::string_view header, Json value) {
  if (const auto text = value.as_string()) {
    return header == *text;
  }
  if (value.kind() != lib::JsonKind::number) {
    return header == value.raw();
  }
  // Numbers are compared by their value: 1.0 and 1 are the same.
  lib::JsonDocument document;
  const auto number = document.parse(header);
  return number && number->kind() == lib::JsonKind::number &&
         number->as_double() == value.as_double();
}

}  // namespace

std::optional<RpcError> check_headers(const net::Request& request, const RpcMessage& message,
                                      const std::vector<Catalog::HeaderParam>* headers) {
  if (request.header("mcp-method") != message.method) {
    return mismatch("Mcp-Method", "method");
  }
  if (const std::string_view member = name_param(message.method); !member.empty()) {
    const auto wanted = message.text_param(member);
    const auto given = header_value(request.header("mcp-name"));
    if (wanted && given != *wanted) {
      return mismatch("Mcp-Name", "params." + std::string(member));
    }
  }
  if (headers == nullptr) {
    return std::nullopt;
  }
  const Json arguments = message.param("arguments");
  for (const Catalog::HeaderParam& param : *headers) {
    const Json value = arguments.find(param.property);
    const bool is_there = value && !value.is_null();
    const std::string_view text = request.header(param.header);
    const auto given = header_value(text);
    if (!given || (is_there ? !same_value(*given, value) : !text.empty())) {
      return mismatch(param.header, "params.arguments." + param.property);
    }
  }
  return std::nullopt;
}

}  // namespace parley::edge::mcp
