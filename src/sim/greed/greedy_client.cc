// SPDX-License-Identifier: Apache-2.0
#include "sim/greed/greedy_client.h"

#include <algorithm>
#include <array>

#include "sim/client/messages.h"

namespace parley::edge_sim {

using sim::text;

namespace {

constexpr auto table = std::to_array<AttackInfo>({
    {Attack::publishes, "publishes"},
    {Attack::threads, "threads"},
    {Attack::topics, "topics"},
    {Attack::patterns, "patterns"},
    {Attack::unknown_receivers, "unknown_receivers"},
    {Attack::critical, "critical"},
    {Attack::escalations, "escalations"},
    {Attack::scatters, "scatters"},
    {Attack::bytes, "bytes"},
    {Attack::waits, "waits"},
    {Attack::lists, "lists"},
    {Attack::questions, "questions"},
    {Attack::unread, "unread"},
    {Attack::stranger, "stranger"},
    {Attack::hoard, "hoard"},
});

std::string_view name_of(Attack attack) {
  return std::ranges::find(table, attack, &AttackInfo::attack)->name;
}

constexpr size_t large_bytes = 20'000;
constexpr uint64_t hoarded_max = 12'000;

}  // namespace

std::span<const AttackInfo> all_attacks() { return table; }

void GreedyClient::act() {
  switch (profile_.attack) {
    case Attack::publishes:
    case Attack::threads:
    case Attack::topics:
    case Attack::unknown_receivers:
    case Attack::escalations:
      send_batch(20);
      break;
    case Attack::hoard:
      if (last_ < hoarded_max) {
        send_batch(500);
      }
      break;
    case Attack::critical:
    case Attack::bytes:
      send_each(10);
      break;
    case Attack::patterns:
    case Attack::scatters:
      ask_in_row(1, 10);
      break;
    case Attack::waits:
      ask_in_row(8, 16);
      break;
    case Attack::questions:
      ask_in_row(2, 40);
      break;
    case Attack::lists:
      ask_in_row(40, 6);
      break;
    case Attack::unread:
      ask_in_row(20, 20);
      break;
    case Attack::stranger:
      constexpr size_t connections_max = 250;
      ask_in_row(std::min(wires_.size() + 5, connections_max), 10);
      break;
  }
}

CallWire& GreedyClient::wire(size_t number) {
  if (wires_.size() <= number) {
    wires_.resize(number + 1);
  }
  std::unique_ptr<CallWire>& held = wires_[number];
  if (held == nullptr || held->is_over()) {
    held = std::make_unique<CallWire>(run_.connect());
  }
  return *held;
}

void GreedyClient::send_batch(size_t count) {
  if (wire(0).waiting() > 1) {
    return;
  }
  std::string body;
  for (size_t n = 0; n < count; ++n) {
    body += (n > 0 ? "," : "[") + next_message();
  }
  wire(0).ask({"POST", "/v1/messages?lenient=true", body + "]"}, profile_.token,
              [this](const Reply& reply) {
                const auto has = [&reply](std::string_view word) {
                  return reply.body.find(word) != std::string::npos;
                };
                const std::string_view attack = name_of(profile_.attack);
                run_.setting.coverage.count("greedy", text("{} {}", attack, reply.status));
                if (has("LIMIT_REACHED")) {
                  run_.setting.coverage.count("greedy", text("{} is refused", attack));
                }
                if (has(R"("seq")")) {
                  run_.setting.coverage.count("greedy", text("{} is served", attack));
                }
              });
}

void GreedyClient::send_each(size_t count) {
  while (wire(0).waiting() < count) {
    const std::string message = next_message();
    const uint64_t cost = profile_.attack == Attack::bytes ? message.size() : 1;
    wire(0).ask({"POST", "/v1/messages?lenient=true", message}, profile_.token,
                [this, cost](const Reply& reply) {
                  run_.setting.coverage.count(
                      "greedy", text("{} {}", name_of(profile_.attack), reply.status));
                  accepted_ += reply.status == 202 ? cost : 0;
                });
  }
}

std::string GreedyClient::next_message() {
  const uint64_t number = ++last_;
  Draft draft{.sender = profile_.name, .receiver = profile_.name + ".noise"};
  draft.type = "broadcast";
  draft.words = "more";
  switch (profile_.attack) {
    case Attack::threads:
      draft.conversation = number % 4 == 0 && !profile_.threads.empty()
                               ? profile_.threads[number / 4 % profile_.threads.size()]
                               : text("{}-{}", profile_.name, number);
      break;
    case Attack::hoard:
      draft.conversation = text("{}-{}", profile_.name, number);
      break;
    case Attack::topics:
      draft.receiver = text("{}.t{}", profile_.name, number);
      break;
    case Attack::unknown_receivers:
      draft.type = "notification";
      draft.receiver = text("nobody-{}", number);
      break;
    case Attack::critical:
      draft.priority = "critical";
      break;
    case Attack::escalations:
      draft.receiver = profile_.silent;
      draft.type = "request";
      draft.response_timeout = base::milliseconds(1);
      draft.on_timeout = "escalate";
      break;
    case Attack::bytes:
      draft.words.assign(large_bytes, 'x');
      break;
    default:
      break;
  }
  std::string id;
  return encode("flow", draft, run_.now(), id);
}

Ask GreedyClient::next_ask() {
  const uint64_t number = ++last_;
  constexpr std::string_view message =
      R"("message":{"type":"request","payload":{"content_type":"text","body":"x"}})";
  constexpr std::array<std::string_view, 4> lists = {
      "/v1/threads?limit=100", "/v1/inbox?limit=1000", "/v1/topics", "/v1/agents"};
  switch (profile_.attack) {
    case Attack::patterns:
      return {"PUT", text("/v1/topics/{}.p{}.*/subscription", profile_.name, number)};
    case Attack::scatters:
      return number % 2 == 0
                 ? Ask{"POST", "/v1/scatter?lenient=true",
                       text(R"({"receivers":["{}"],"timeout":"1h",{}})", profile_.silent, message)}
                 : Ask{"POST", "/v1/pipelines?lenient=true",
                       text(R"({"stages":["{}","{}"],{}})", profile_.silent, profile_.silent,
                            message)};
    case Attack::waits:
      return {.target = number % 4 == 0 ? "/v1/inbox?wait=1ms" : "/v1/inbox?wait=20s"};
    case Attack::questions:
      return {.target = number % 2 == 0 ? "/v1/outbox?limit=100" : "/v1/messages?limit=100"};
    case Attack::stranger:
      return {.target = number % 8 == 0 ? "/v1/inbox" : "/openapi.json"};
    default:
      return {.target = std::string(lists[number % lists.size()])};
  }
}

void GreedyClient::ask_in_row(size_t connections, size_t requests) {
  for (size_t n = 0; n < connections; ++n) {
    while (wire(n).waiting() < requests) {
      wire(n).ask(next_ask(), profile_.token, [this](const Reply& reply) {
        run_.setting.coverage.count("greedy",
                                    text("{} {}", name_of(profile_.attack), reply.status));
      });
    }
  }
}

void GreedyClient::read() {
  const bool reads_nothing =
      profile_.attack == Attack::unread || profile_.attack == Attack::stranger;
  for (const auto& each : wires_) {
    if (each != nullptr && !each->is_over()) {
      each->pump(reads_nothing ? 0 : SIZE_MAX);
    }
  }
}

}  // namespace parley::edge_sim
