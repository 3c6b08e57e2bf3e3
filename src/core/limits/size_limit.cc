// SPDX-License-Identifier: Apache-2.0
// How large a message a receiver takes: its dialect says so.
#include "core/limits/size_limit.h"

#include "core/model/refusal.h"

namespace parley::core {

namespace {

std::string size_fault(const Rules& rules, const Agent& receiver, Dialect sent_in,
                       const MessageSizes& sizes, const std::string& who) {
  if (receiver.kind != PrincipalKind::agent || receiver.dialect == sent_in) {
    return {};
  }
  const Policy& policy = policy_of(receiver.dialect);
  const Policy::NumberRule rule = policy.size_max;
  const uint64_t bytes_max = rule == nullptr ? UINT64_MAX : rules.*rule;
  const std::string name(policy.name.value);
  const std::string limit =
      std::to_string(bytes_max) + " (" + std::string(policy.size_rule.value) + ")";
  if (policy.size_of == SizeOf::content && sizes.content >= bytes_max) {
    return "its content has up to " + std::to_string(sizes.content) + " bytes in " + name + "; " +
           who + " speaks " + name + " and takes fewer than " + limit +
           "; summarize it, or name a file that has the rest";
  }
  if (policy.size_of == SizeOf::whole_message && sizes.whole > bytes_max) {
    return "the message has up to " + std::to_string(sizes.whole) + " bytes in " + name + "; " +
           who + " speaks " + name + " and takes at most " + limit;
  }
  return {};
}

}  // namespace

std::string size_fault(const Rules& rules, const Agent& receiver, Dialect sent_in,
                       const MessageSizes& sizes) {
  return size_fault(rules, receiver, sent_in, sizes, quoted(receiver.name));
}

std::string size_fault(const Rules& rules, const Agent& receiver, const Message& message) {
  return message.is_own ? std::string()
                        : size_fault(rules, receiver, message.dialect,
                                     {message.whole_bytes, message.content_bytes}, "its receiver");
}

}  // namespace parley::core
