// SPDX-License-Identifier: Apache-2.0
// The endpoint: which era a request is of, and the methods that both eras have.
#include "edge/mcp/server.h"

#include <algorithm>

#include "edge/api/call.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr size_t completions_max = 100;

bool is_json(std::string_view content_type) {
  constexpr std::string_view json = "application/json";
  return content_type.size() >= json.size() &&
         net::equal_ignoring_case(content_type.substr(0, json.size()), json) &&
         (content_type.size() == json.size() || content_type[json.size()] == ';' ||
          content_type[json.size()] == ' ');
}

// A request says by itself that it is modern. One that says so only in its header gets the answer
// of that era, which names what is missing.
bool is_modern(const net::Request& http, const Message& message) {
  if (message.meta(version_key)) {
    return true;
  }
  const std::string_view header = http.header("mcp-protocol-version");
  if (header.empty() || message.method == "initialize" || !http.header("mcp-session-id").empty()) {
    return false;
  }
  const auto version = find_version(header);
  return !version || *version > newest_legacy;
}

}  // namespace

Server::Server(Host& host, base::Clock& clock, Options options)
    : host_(host),
      clock_(clock),
      options_(std::move(options)),
      // No number is that of another process: clients come back with numbers.
      last_number_(static_cast<uint64_t>(clock.now().us)),
      sessions_(options_.limits, options_.key) {
  if (options_.notes == nullptr) {
    options_.notes = std::make_unique<Notes>();
  }
}

Server::~Server() = default;

void Server::add(Offer offer) { catalog_.add(std::move(offer)); }

std::string Server::server_info() const {
  std::string text;
  JsonWriter(text)
      .object()
      .key("name")
      .plain("parley")
      .key("title")
      .plain("Parley")
      .key("version")
      .text(options_.version)
      .end_object();
  return text;
}

void Server::on_request(const net::Exchange& exchange, const net::Request& http,
                        const Principal& principal) {
  const Request request{exchange, http, principal};
  if (http.method == "POST") {
    post(request);
  } else if (http.method == "GET") {
    get(request);
  } else {
    delete_session(request);
  }
}

void Server::refuse(const net::Exchange& exchange, int status, const Fault& fault,
                    std::string_view id) {
  host_.respond(exchange, json_response(status, error_text(id, fault)));
}

void Server::post(const Request& request) {
  constexpr int unsupported_media_type = 415;
  if (!is_json(request.http.header("content-type"))) {
    refuse(request.exchange, unsupported_media_type,
           {invalid_request, "send `Content-Type: application/json`"});
    return;
  }
  const auto body = document_.parse(request.http.body);
  if (!body) {
    refuse(request.exchange, 400, {parse_error, body.error().detail});
    return;
  }
  if (body->is_object()) {
    const auto message = read_message(*body);
    if (!message) {
      refuse(request.exchange, 400, message.error().fault, message.error().id);
      return;
    }
    if (is_modern(request.http, *message)) {
      post_modern(request, *message);
      return;
    }
  }
  post_legacy(request, *body);
}

// The lists, which are the same for everyone.
bool Server::dispatch_list(Stream& stream, const Message& message, Version version) {
  const std::string* list = message.method == "tools/list"       ? &catalog_.tools_list()
                            : message.method == "prompts/list"   ? &catalog_.prompts_list()
                            : message.method == "resources/list" ? &catalog_.resources_list()
                            : message.method == "resources/templates/list"
                                ? &catalog_.templates_list()
                                : nullptr;
  if (list == nullptr) {
    return false;
  }
  if (message.given_param("cursor")) {
    answer(stream, error_text(message.id, {invalid_params,
                                           "there is no such cursor: the lists have one page"}));
  } else if (version > newest_legacy) {
    answer(stream, modern_result(message.id, *list + std::string(public_cache)));
  } else {
    answer(stream, result_text(message.id, *list));
  }
  return true;
}

void Server::dispatch(Stream& stream, const Message& message, const Client& client,
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
    answer(stream,
           error_text(message.id, {method_not_found,
                                   "there is no method \"" + std::string(message.method) + "\""}),
           version > newest_legacy ? 404 : 200);
  }
}

void Server::call_tool(Stream& stream, const Message& message, const Client& client) {
  const auto name = message.text_param("name");
  const auto found = name ? catalog_.tool(*name) : std::nullopt;
  const Json arguments = message.given_param("arguments");
  if (!found || (arguments && !arguments.is_object())) {
    answer(stream, error_text(message.id,
                              {invalid_params, found ? "arguments is an object"
                                                     : "there is no such tool: see tools/list"}));
    return;
  }
  start(stream, message, client, found->tool->act, *name, arguments,
        arguments ? arguments.raw() : "{}");
}

void Server::read_resource(Stream& stream, const Message& message, const Client& client) {
  const auto uri = message.text_param("uri");
  if (!uri) {
    answer(stream, error_text(message.id, {invalid_params, "uri is missing"}));
    return;
  }
  const auto found = catalog_.resource(*uri);
  if (!found) {
    const Answers none;
    const Ask ask{Run(*this, 0), client, {}, *uri, {}, none};
    answer(stream, error_text(message.id, resource_not_found(ask)));
    return;
  }
  start(stream, message, client, found->resource->read, *uri, {}, found->variables);
}

void Server::get_prompt(Stream& stream, const Message& message, const Client& client) {
  const auto name = message.text_param("name");
  const Prompt* const prompt = name ? catalog_.prompt(*name) : nullptr;
  const Json arguments = message.given_param("arguments");
  const auto refused = [&](const std::string& why) {
    answer(stream, error_text(message.id, {invalid_params, why}));
  };
  if (prompt == nullptr) {
    refused("there is no such prompt: see prompts/list");
    return;
  }
  if (arguments && !arguments.is_object()) {
    refused("arguments is an object of strings");
    return;
  }
  for (const Prompt::Argument& argument : prompt->arguments) {
    const Json value = arguments ? arguments.find(argument.name) : Json();
    const bool is_given = value && !value.is_null();
    if (is_given ? !value.as_string() : argument.required) {
      refused("the argument " + argument.name + (is_given ? " is a string" : " is missing"));
      return;
    }
  }
  start(stream, message, client, prompt->get, *name, arguments, arguments ? arguments.raw() : "{}");
}

void Server::complete(Stream& stream, const Message& message, const Client& client) {
  const Json ref = message.param("ref");
  const Json argument = message.param("argument");
  const auto text = [](Json object, std::string_view key) {
    const Json value = object && object.is_object() ? object.find(key) : Json();
    return value ? value.as_string() : std::nullopt;
  };
  const auto type = text(ref, "type");
  const auto name = text(argument, "name");
  const auto value = text(argument, "value");
  const bool of_prompt = type == "ref/prompt";
  const auto which = text(ref, of_prompt ? "name" : "uri");
  const Prompt* const prompt = of_prompt && which ? catalog_.prompt(*which) : nullptr;
  const Resource* const resource =
      type == "ref/resource" && which ? catalog_.resource_template(*which) : nullptr;
  if (!name || !value || (prompt == nullptr && resource == nullptr)) {
    answer(stream, error_text(message.id, {invalid_params,
                                           "ref names a prompt or a template of resources that is "
                                           "offered, argument has a name and a value"}));
    return;
  }
  const bool has_it = prompt != nullptr
                          ? std::ranges::find(prompt->arguments, *name, &Prompt::Argument::name) !=
                                prompt->arguments.end()
                          : resource->uri.find("{" + std::string(*name) + "}") != std::string::npos;
  if (!has_it) {
    answer(stream, error_text(message.id, {invalid_params, "\"" + std::string(*which) +
                                                               "\" has no argument \"" +
                                                               std::string(*name) + "\""}));
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
  answer(stream, client.era == Era::modern ? modern_result(message.id, members)
                                           : result_text(message.id, members));
}

}  // namespace parley::edge::mcp
