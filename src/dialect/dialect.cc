// SPDX-License-Identifier: Apache-2.0
#include "dialect/dialect.h"

#include <algorithm>
#include <array>

#include "dialect/flow.h"

namespace parley::dialect {

namespace {

constexpr std::array<Codec, 1> table = {{
    {Dialect::flow, "flow", flow_message_bytes_max, decode_flow, encode_flow},
}};

}  // namespace

std::span<const Codec> codecs() { return table; }

const Codec* find_codec(Dialect dialect) {
  const auto* found = std::ranges::find(table, dialect, &Codec::dialect);
  return found == table.end() ? nullptr : found;
}

const Codec* find_codec(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Codec::name);
  return found == table.end() ? nullptr : found;
}

std::string_view name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::flow:
      return "flow";
    case Dialect::collab:
      return "collab";
    case Dialect::inbox:
      return "inbox";
    case Dialect::superprompt:
      return "superprompt";
    case Dialect::squad:
      return "squad";
  }
  return {};
}

}  // namespace parley::dialect
