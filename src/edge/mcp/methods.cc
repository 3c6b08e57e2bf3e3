// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/methods.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

// The protocol allows no more values in one answer.
constexpr size_t completions_max = 100;

}  // namespace

void Methods::dispatch(ResponseStream& stream, const RpcMessage& message, const Client& client,
                       Version version) {
  if (dispatch_list(stream, message, version)) {
    return;
  }
  if (message.method == "tools/call") {
    call_tool(stream, message, client);
  } else if (message.method == "resources/read") {
    read_resource(stream, message, client);
  } else if (message.method == "prompts/get") {
    get_prompt(stream, message, client);
  } else if (message.method == "completion/complete") {
    complete(stream, message, client);
  } else {
    transport_.answer(
        stream,
        error_text(message.id, {method_not_found,
                                "there is no method \"" + std::string(message.method) + "\""}),
        version > newest_legacy ? 404 : 200);
  }
}

void Methods::refuse(ResponseStream& stream, const RpcMessage& message, std::string why) {
  transport_.answer(stream, error_text(message.id, {invalid_params, std::move(why)}));
}

// Answers the lists, which are the same for everyone and were written beforehand. False: the method
// is none of them.
bool Methods::dispatch_list(ResponseStream& stream, const RpcMessage& message, Version version) {
  const std::string* list = message.method == "tools/list"       ? &state_.catalog.tools_list()
                            : message.method == "prompts/list"   ? &state_.catalog.prompts_list()
                            : message.method == "resources/list" ? &state_.catalog.resources_list()
                            : message.method == "resources/templates/list"
                                ? &state_.catalog.templates_list()
                                : nullptr;
  if (list == nullptr) {
    return false;
  }
  if (message.given_param("cursor")) {
    refuse(stream, message, "there is no such cursor: the lists have one page");
  } else if (version > newest_legacy) {
    transport_.answer(stream, state_.modern_result(message.id, *list + std::string(public_cache)));
  } else {
    transport_.answer(stream, result_text(message.id, *list));
  }
  return true;
}

void Methods::call_tool(ResponseStream& stream, const RpcMessage& message, const Client& client) {
  const auto name = message.text_param("name");
  const auto found = name ? state_.catalog.tool(*name) : std::nullopt;
  const Json arguments = message.given_param("arguments");
  if (!found || (arguments && !arguments.is_object())) {
    refuse(stream, message,
           found ? "arguments is an object" : "there is no such tool: see tools/list");
    return;
  }
  calls_.start(stream, message, client,
               {.handler = found->tool->handler,
                .name = *name,
                .arguments = arguments,
                .arguments_text = arguments ? arguments.raw() : "{}"});
}

void Methods::read_resource(ResponseStream& stream, const RpcMessage& message,
                            const Client& client) {
  const auto uri = message.text_param("uri");
  if (!uri) {
    refuse(stream, message, "uri is missing");
    return;
  }
  const auto found = state_.catalog.resource(*uri);
  if (!found) {
    const Answers none;
    const CallContext context{CallHandle(calls_, 0), client, {}, *uri, {}, none};
    transport_.answer(stream, error_text(message.id, resource_not_found(context)));
    return;
  }
  calls_.start(stream, message, client,
               {.handler = found->resource->read,
                .name = *uri,
                .arguments = {},
                .arguments_text = found->variables});
}

void Methods::get_prompt(ResponseStream& stream, const RpcMessage& message, const Client& client) {
  const auto name = message.text_param("name");
  const Prompt* const prompt = name ? state_.catalog.prompt(*name) : nullptr;
  const Json arguments = message.given_param("arguments");
  if (prompt == nullptr) {
    refuse(stream, message, "there is no such prompt: see prompts/list");
    return;
  }
  if (arguments && !arguments.is_object()) {
    refuse(stream, message, "arguments is an object of strings");
    return;
  }
  for (const Prompt::Argument& argument : prompt->arguments) {
    const Json value = arguments.find(argument.name);
    const bool is_given = value && !value.is_null();
    if (is_given ? !value.as_string() : argument.required) {
      refuse(stream, message,
             "the argument " + argument.name + (is_given ? " is a string" : " is missing"));
      return;
    }
  }
  calls_.start(stream, message, client,
               {.handler = prompt->get,
                .name = *name,
                .arguments = arguments,
                .arguments_text = arguments ? arguments.raw() : "{}"});
}

void Methods::complete(ResponseStream& stream, const RpcMessage& message, const Client& client) {
  const Json ref = message.param("ref");
  const Json argument = message.param("argument");
  const auto text = [](Json object, std::string_view key) {
    return object.find(key).as_string();
  };
  const auto type = text(ref, "type");
  const auto name = text(argument, "name");
  const auto value = text(argument, "value");
  const bool of_prompt = type == "ref/prompt";
  const auto which = text(ref, of_prompt ? "name" : "uri");
  const Prompt* const prompt = of_prompt && which ? state_.catalog.prompt(*which) : nullptr;
  const Resource* const resource =
      type == "ref/resource" && which ? state_.catalog.resource_template(*which) : nullptr;
  if (!name || !value || (prompt == nullptr && resource == nullptr)) {
    refuse(stream, message,
           "ref names a prompt or a template of resources that is offered, argument has a name and "
           "a value");
    return;
  }
  // A name that nothing has is a mistake of the client; one without completions is not.
  const bool has_it = prompt != nullptr
                          ? std::ranges::find(prompt->arguments, *name, &Prompt::Argument::name) !=
                                prompt->arguments.end()
                          : resource->uri.find("{" + std::string(*name) + "}") != std::string::npos;
  if (!has_it) {
    refuse(stream, message,
           "\"" + std::string(*which) + "\" has no argument \"" + std::string(*name) + "\"");
    return;
  }
  const Complete& completes = prompt != nullptr ? prompt->complete : resource->complete;
  const std::vector<std::string> values =
      completes ? completes(client, *name, *value) : std::vector<std::string>{};
  std::string members;
  JsonWriter out(members);
  out.key("completion").object().key("values").array();
  for (size_t n = 0; n < std::min(values.size(), completions_max); ++n) {
    out.text(values[n]);
  }
  out.end_array().key("total").number(uint64_t{values.size()});
  out.key("hasMore").boolean(values.size() > completions_max).end_object();
  transport_.answer(stream, client.era == Era::modern ? state_.modern_result(message.id, members)
                                                      : result_text(message.id, members));
}

}  // namespace parley::edge::mcp
