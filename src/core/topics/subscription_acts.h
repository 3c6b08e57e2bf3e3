// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

// Who would listen. It may not be registered yet.
struct Listener {
  AgentRef agent = none;  // none: a new one
  PrincipalKind kind = PrincipalKind::agent;
  Dialect dialect = Dialect::flow;
  std::string_view name;
};

// What is wrong with the characters of a topic's name, for those who subscribe to it and for those
// who publish on it; empty where nothing is.
std::string_view wrong_with_characters(std::string_view topic);

// Whether it can subscribe to all of these.
Checked check_topics(const Tables& t, const Listener& listener,
                     std::span<const std::string_view> topics, std::string_view field);

// Whether there may be so many new topics, made by this principal. The broker's own do not count.
Checked check_new_topics(const Tables& t, std::string_view maker, size_t count,
                         std::string_view field);

// Does nothing where it subscribes already. How many messages it gets that were retained.
uint32_t subscribe(Context& context, AgentRef agent, std::span<const std::string_view> topics);
void unsubscribe(Tables& t, AgentRef agent, std::string_view name);

Checked check(const ConstContext& context, const Subscribe& command);
Checked check(const ConstContext& context, const Unsubscribe& command);

Outcome on(Context& context, const Subscribe& command);
Outcome on(Context& context, const Unsubscribe& command);

}  // namespace parley::core
