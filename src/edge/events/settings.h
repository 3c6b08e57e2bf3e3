// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "edge/events/routing.h"
#include "edge/events/schedule.h"
#include "lib/toml.h"

namespace parley::edge::events {

// The tables of the configuration that say what becomes of events.
struct Tables {
  std::vector<EventRoute> routes{};  // empty: default_routes()
  std::vector<Schedule> schedules{};

  std::span<const EventRoute> routes_in_use() const {
    return routes.empty() ? std::span<const EventRoute>(default_routes()) : routes;
  }
  bool operator==(const Tables&) const = default;
};

// Whether the entry belongs to a table that `read_tables` takes: [[github.route]] or [[schedule]].
bool is_of_tables(std::string_view name);

// What is wrong, and where.
struct TableFault {
  int line = 0;
  base::Error error;
};

// Reads the entries of the tables, in the order of their lines; passes over all others. The error
// names the nearest key, or what a value must be.
std::expected<Tables, TableFault> read_tables(std::span<const lib::TomlEntry> entries);

}  // namespace parley::edge::events
