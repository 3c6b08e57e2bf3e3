// SPDX-License-Identifier: Apache-2.0
#include "core/model/policy.h"

#include <algorithm>

namespace parley::core {

namespace {

constexpr std::array<Role, 2> flow_roles = {{{""}, {"orchestrator"}}};
constexpr std::array<Role, 4> collab_roles = {
    {{"coordinator"}, {"worker"}, {"specialist"}, {"observer", false}}};
constexpr std::array<Role, 2> inbox_roles = {{{"director"}, {"specialist"}}};
constexpr std::array<Role, 2> superprompt_roles = {{{"orchestrator"}, {"worker"}}};
constexpr std::array<Role, 5> squad_roles = {
    {{"main"},
     {.name = "subagent", .directs = false, .is_for_session = true},
     {"council", false},
     {.name = "reviewer", .reviews = true},
     {"cron"}}};
constexpr std::array<std::string_view, 5> collab_statuses = {"", "idle", "working", "waiting",
                                                             "offline"};

constexpr std::string_view no_text;
constexpr std::span<const std::string_view> any_status;

constexpr std::array<Policy::DurationRule, priority_count> same_for_all(Policy::DurationRule ttl) {
  return {ttl, ttl, ttl, ttl};
}

constexpr Policy flow = {
    .name = std::string_view("flow"),
    .ttl = std::array{&Rules::flow_ttl_low, &Rules::flow_ttl_normal, &Rules::flow_ttl_high,
                      &Rules::flow_ttl_critical},
    .request_timeout = &Rules::flow_request_timeout,
    .query_timeout = &Rules::flow_query_timeout,
    .timeout_to_many = nullptr,
    .retries = nullptr,
    .retries_max = nullptr,
    .retries_tasks = false,
    .retries_keep_expiry = false,
    .retries_delivery = false,
    .on_unavailable = nullptr,
    .requests_block = false,
    .secrets = &Rules::secrets_policy,
    .response_times = same_for_all(nullptr),
    .blocked_after = nullptr,
    .escalates_critical = false,
    .confidence_min = nullptr,
    .expiry_escalates = false,
    .has_rates = true,
    .has_thread_limits = true,
    .has_domain_topics = true,
    .wants_confidence = true,
    .answers_join_chain = false,
    .session_field = no_text,
    .reply_to_field = no_text,
    .receiver_field = no_text,
    .discipline = Discipline::channels,
    .lease = &Rules::flow_lease,
    .size_of = SizeOf::nothing,
    .size_max = nullptr,
    .size_rule = no_text,
    .ids_are_uuids = true,
    .reading_settles = false,
    .priority_max = Priority::critical,
    .roles = std::span<const Role>(flow_roles),
    .has_task_roles = false,
    .via_hub = false,
    .has_authority = false,
    .heartbeat_renews = false,
    .statuses = any_status,
    .busy_status = no_text,
};

constexpr Policy collab = {
    .name = std::string_view("collab"),
    .ttl = same_for_all(&Rules::collab_ttl),
    .request_timeout = &Rules::collab_timeout_command,
    .query_timeout = &Rules::collab_timeout_query,
    .timeout_to_many = &Rules::collab_timeout_broadcast,
    .retries = &Rules::collab_retry_delays,
    .retries_max = nullptr,
    .retries_tasks = false,
    .retries_keep_expiry = true,
    .retries_delivery = true,
    .on_unavailable = &Rules::collab_on_unavailable,
    .requests_block = true,
    .secrets = &Rules::secrets_policy,
    .response_times = same_for_all(nullptr),
    .blocked_after = nullptr,
    .escalates_critical = false,
    .confidence_min = nullptr,
    .expiry_escalates = false,
    .has_rates = false,
    .has_thread_limits = false,
    .has_domain_topics = false,
    .wants_confidence = true,
    .answers_join_chain = true,
    .session_field = std::string_view("/sessionId"),
    .reply_to_field = std::string_view("/replyTo"),
    .receiver_field = std::string_view("/to"),
    .discipline = Discipline::bands,
    .lease = &Rules::collab_lease,
    .size_of = SizeOf::whole_message,
    .size_max = &Rules::collab_message_bytes_max,
    .size_rule = std::string_view("collab.message_bytes_max"),
    .ids_are_uuids = false,
    .reading_settles = false,
    .priority_max = Priority::critical,
    .roles = std::span<const Role>(collab_roles),
    .has_task_roles = false,
    .via_hub = false,
    .has_authority = false,
    .heartbeat_renews = false,
    .statuses = std::span<const std::string_view>(collab_statuses),
    .busy_status = std::string_view("working"),
};

constexpr Policy inbox = {
    .name = std::string_view("inbox"),
    .ttl = same_for_all(&Rules::inbox_ttl),
    .request_timeout = nullptr,
    .query_timeout = nullptr,
    .timeout_to_many = nullptr,
    .retries = nullptr,
    .retries_max = nullptr,
    .retries_tasks = false,
    .retries_keep_expiry = false,
    .retries_delivery = false,
    .on_unavailable = nullptr,
    .requests_block = false,
    .secrets = &Rules::secrets_policy,
    .response_times = same_for_all(nullptr),
    .blocked_after = nullptr,
    .escalates_critical = false,
    .confidence_min = nullptr,
    .expiry_escalates = false,
    .has_rates = false,
    .has_thread_limits = false,
    .has_domain_topics = false,
    .wants_confidence = true,
    .answers_join_chain = false,
    .session_field = no_text,
    .reply_to_field = no_text,
    .receiver_field = no_text,
    .discipline = Discipline::bands,
    .lease = &Rules::inbox_lease,
    .size_of = SizeOf::content,
    .size_max = &Rules::inbox_content_bytes,
    .size_rule = std::string_view("inbox.content_bytes"),
    .ids_are_uuids = false,
    .reading_settles = true,
    .priority_max = Priority::high,
    .roles = std::span<const Role>(inbox_roles),
    .has_task_roles = true,
    .via_hub = false,
    .has_authority = false,
    .heartbeat_renews = true,
    .statuses = any_status,
    .busy_status = no_text,
};

constexpr Policy superprompt = {
    .name = std::string_view("superprompt"),
    .ttl = same_for_all(&Rules::superprompt_ttl),
    .request_timeout = &Rules::superprompt_task_timeout,
    .query_timeout = &Rules::superprompt_task_timeout,
    .timeout_to_many = nullptr,
    .retries = &Rules::superprompt_retry_delays,
    .retries_max = &Rules::superprompt_retries_max,
    .retries_tasks = true,
    .retries_keep_expiry = false,
    .retries_delivery = false,
    .on_unavailable = nullptr,
    .requests_block = false,
    .secrets = &Rules::superprompt_secrets_policy,
    .response_times = same_for_all(nullptr),
    .blocked_after = nullptr,
    .escalates_critical = false,
    .confidence_min = nullptr,
    .expiry_escalates = false,
    .has_rates = false,
    .has_thread_limits = false,
    .has_domain_topics = false,
    .wants_confidence = true,
    .answers_join_chain = false,
    .session_field = no_text,
    .reply_to_field = no_text,
    .receiver_field = no_text,
    .discipline = Discipline::bands,
    .lease = &Rules::superprompt_lease,
    .size_of = SizeOf::whole_message,
    .size_max = &Rules::superprompt_message_bytes_max,
    .size_rule = std::string_view("superprompt.message_bytes_max"),
    .ids_are_uuids = false,
    .reading_settles = false,
    .priority_max = Priority::high,
    .roles = std::span<const Role>(superprompt_roles),
    .has_task_roles = false,
    .via_hub = true,
    .has_authority = false,
    .heartbeat_renews = false,
    .statuses = any_status,
    .busy_status = no_text,
};

constexpr Policy squad = {
    .name = std::string_view("squad"),
    .ttl = same_for_all(&Rules::squad_ttl),
    .request_timeout = nullptr,
    .query_timeout = nullptr,
    .timeout_to_many = nullptr,
    .retries = nullptr,
    .retries_max = nullptr,
    .retries_tasks = false,
    .retries_keep_expiry = false,
    .retries_delivery = false,
    .on_unavailable = nullptr,
    .requests_block = false,
    .secrets = &Rules::secrets_policy,
    .response_times = std::array{&Rules::squad_response_p3, &Rules::squad_response_p2,
                                 &Rules::squad_response_p1, &Rules::squad_response_p0},
    .blocked_after = &Rules::squad_blocked_after,
    .escalates_critical = true,
    .confidence_min = &Rules::squad_confidence_min,
    .expiry_escalates = true,
    .has_rates = false,
    .has_thread_limits = false,
    .has_domain_topics = false,
    .wants_confidence = false,
    .answers_join_chain = false,
    .session_field = no_text,
    .reply_to_field = no_text,
    .receiver_field = no_text,
    .discipline = Discipline::bands,
    .lease = &Rules::squad_lease,
    .size_of = SizeOf::nothing,
    .size_max = nullptr,
    .size_rule = no_text,
    .ids_are_uuids = false,
    .reading_settles = false,
    .priority_max = Priority::critical,
    .roles = std::span<const Role>(squad_roles),
    .has_task_roles = false,
    .via_hub = false,
    .has_authority = true,
    .heartbeat_renews = false,
    .statuses = any_status,
    .busy_status = no_text,
};

// In the order of the enum.
constexpr std::array policies = {flow, collab, inbox, superprompt, squad};
static_assert(policies.size() == static_cast<size_t>(dialect_last) + 1);

}  // namespace

const Policy& policy_of(Dialect dialect) { return policies[static_cast<size_t>(dialect)]; }

std::vector<std::string> dialect_list() {
  std::vector<std::string> names;
  for (const Policy& policy : policies) {
    names.emplace_back(policy.name.value);
  }
  return names;
}

std::string dialect_names() {
  std::string names;
  for (size_t n = 0; n < policies.size(); ++n) {
    names += n == 0 ? "" : n + 1 == policies.size() ? " or " : ", ";
    names += policies[n].name.value;
  }
  return names;
}

std::optional<Dialect> find_dialect(std::string_view name) {
  for (size_t n = 0; n < policies.size(); ++n) {
    if (policies[n].name.value == name) {
      return static_cast<Dialect>(n);
    }
  }
  return std::nullopt;
}

Duration default_ttl(const Rules& rules, Dialect sender, Priority priority) {
  return rules.*policy_of(sender).ttl.value[static_cast<size_t>(priority)];
}

Duration default_timeout(const Rules& rules, Dialect sender, Kind kind, bool to_many) {
  const Policy& policy = policy_of(sender);
  const Policy::DurationRule to_one =
      kind == Kind::query ? policy.query_timeout : policy.request_timeout;
  const Policy::DurationRule timeout =
      to_many && policy.timeout_to_many.value != nullptr ? policy.timeout_to_many.value : to_one;
  return timeout == nullptr ? Duration{} : rules.*timeout;
}

std::optional<Duration> retry_pause(const Rules& rules, Dialect sender, bool to_many,
                                    uint64_t retries) {
  const auto own = policy_of(sender).retries.value;
  if (own == nullptr) {
    return retries < rules.flow_request_retries ? std::optional(Duration{}) : std::nullopt;
  }
  const Delays& delays = rules.*own;
  const Policy::NumberRule limit = policy_of(sender).retries_max;
  const uint64_t max = limit == nullptr ? delays.count : std::min(delays.count, rules.*limit);
  return !to_many && retries < max ? std::optional(delays.pauses[retries]) : std::nullopt;
}

bool directs(Dialect dialect, std::string_view role) { return role_of(dialect, role).directs; }

Role role_of(Dialect dialect, std::string_view role) {
  const std::span<const Role> roles = policy_of(dialect).roles;
  const auto at = std::ranges::find(roles, role, &Role::name);
  return at == roles.end() ? Role{role} : *at;
}

bool has_reviewers(Dialect dialect) {
  return std::ranges::any_of(policy_of(dialect).roles.value, &Role::reviews);
}

Duration response_time(const Rules& rules, Dialect sender, Priority priority) {
  const Policy::DurationRule rule =
      policy_of(sender).response_times.value[static_cast<size_t>(priority)];
  return rule == nullptr ? Duration{} : rules.*rule;
}

SecretsPolicy secrets_policy(const Rules& rules, Dialect sender) {
  return static_cast<SecretsPolicy>(rules.*policy_of(sender).secrets.value);
}

Duration default_lease(const Rules& rules, Dialect receiver) {
  return rules.*policy_of(receiver).lease.value;
}

}  // namespace parley::core
