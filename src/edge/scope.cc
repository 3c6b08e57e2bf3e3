// SPDX-License-Identifier: Apache-2.0
#include "edge/scope.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/model/policy.h"
#include "dialect/dialect.h"

namespace parley::edge {

namespace {

constexpr uint8_t kind_count = static_cast<uint8_t>(core::kind_last) + 1;
constexpr uint64_t all_kinds = (uint64_t{1} << kind_count) - 1;

// The dialect's word for what is an answer where it can be.
std::string_view word_of(core::Dialect dialect, uint8_t kind) {
  core::Envelope envelope;
  envelope.dialect = dialect;
  envelope.kind = static_cast<core::Kind>(kind);
  envelope.in_reply_to.bytes[0] = 1;
  return dialect::codec_of(dialect).type(envelope);
}

uint64_t kinds_of(core::Dialect dialect, std::string_view word) {
  uint64_t kinds = 0;
  for (uint8_t kind = 0; kind < kind_count; ++kind) {
    kinds |= word_of(dialect, kind) == word ? uint64_t{1} << kind : 0;
  }
  return kinds;
}

}  // namespace

WantedScope scope_in(Members& body, const core::Agent* before, core::Dialect dialect) {
  const lib::Json given = body.find("scope");
  WantedScope wanted;
  if (!given && before != nullptr) {
    wanted.receivers.assign(before->scope.receivers.begin(), before->scope.receivers.end());
    wanted.kinds = before->scope.kinds;
  }
  if (!given || given.is_null()) {
    return wanted;
  }
  if (!given.is_object() || !core::policy_of(dialect).has_authority) {
    body.blame("scope", given.is_object() ? "only an agent that speaks squad has a scope"
                                          : "a scope is an object with to and types");
    return wanted;
  }
  constexpr std::array<std::string_view, 2> known = {"to", "types"};
  Members members(given, "/scope/");
  wanted.receivers = members.texts("to");
  const std::vector<std::string_view> types = members.texts("types");
  wanted.kinds = types.empty() ? all_kinds : 0;
  for (const std::string_view type : types) {
    if (!dialect::codec_of(dialect).meaning(type)) {
      members.blame("types", "\"" + std::string(type.substr(0, 64)) + "\" is no type of message");
    }
    wanted.kinds |= kinds_of(dialect, type);
  }
  if (const auto unknown = unknown_member(given, known)) {
    members.blame(*unknown);
  }
  if (members.error()) {
    body.blame(*members.error());
  }
  return wanted;
}

void render_scope(const core::Agent& agent, lib::JsonWriter& out) {
  if (agent.scope == core::Scope{}) {
    return;
  }
  out.key("scope").object().key("to").array();
  for (const std::string& receiver : agent.scope.receivers) {
    out.text(receiver);
  }
  out.end_array();
  if (agent.scope.kinds != all_kinds) {
    out.key("types").array();
    std::vector<std::string_view> words;
    for (uint8_t kind = 0; kind < kind_count; ++kind) {
      const std::string_view word = word_of(agent.dialect, kind);
      if ((agent.scope.kinds >> kind & 1) != 0 && std::ranges::find(words, word) == words.end()) {
        words.push_back(word);
        out.text(word);
      }
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace parley::edge
