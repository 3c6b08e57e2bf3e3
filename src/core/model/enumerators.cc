// SPDX-License-Identifier: Apache-2.0
#include "core/model/enumerators.h"

#include "core/model/words.h"

namespace parley::core {

namespace {

constexpr Words<kind_last> kind_words("notification", "request", "query", "response", "broadcast",
                                      "acknowledgement", "challenge", "escalation",
                                      "approval_request", "private_flag", "health_report");
constexpr Words<priority_last> priority_words("low", "normal", "high", "critical");
constexpr Words<content_type_last> content_type_words("json", "text", "artifact_ref");
constexpr Words<status_last> status_words("unset", "success", "partial", "error", "declined");
constexpr Words<on_timeout_last> on_timeout_words("fail", "retry", "escalate");
constexpr Words<needs_approval_last> needs_approval_words("nothing", "message", "answer");
constexpr Words<stance_last> stance_words("unset", "defend", "revise", "escalate");
constexpr Words<severity_last> severity_words("unset", "minor", "moderate", "critical");
constexpr Words<durability_last> durability_words("disk", "memory");
constexpr Words<principal_kind_last> principal_kind_words("unknown", "agent", "human", "admin");
constexpr Words<via_last> via_words("broker", "http", "websocket", "mcp", "a2a", "file", "webhook");

}  // namespace

std::string_view word_of(Kind value) { return kind_words[value]; }
std::string_view word_of(Priority value) { return priority_words[value]; }
std::string_view word_of(ContentType value) { return content_type_words[value]; }
std::string_view word_of(Status value) { return status_words[value]; }
std::string_view word_of(OnTimeout value) { return on_timeout_words[value]; }
std::string_view word_of(NeedsApproval value) { return needs_approval_words[value]; }
std::string_view word_of(Stance value) { return stance_words[value]; }
std::string_view word_of(Severity value) { return severity_words[value]; }
std::string_view word_of(Durability value) { return durability_words[value]; }
std::string_view word_of(PrincipalKind value) { return principal_kind_words[value]; }
std::string_view word_of(Via value) { return via_words[value]; }

}  // namespace parley::core
