// SPDX-License-Identifier: Apache-2.0
#include "dialect/content.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dialect/reading.h"

namespace parley::dialect {

namespace {

using base::Code;
using base::Error;
using lib::Json;

std::unexpected<Error> fault(std::string detail, std::string pointer) {
  return std::unexpected(Error{Code::validation_failed, std::move(detail), std::move(pointer)});
}

std::unexpected<Error> wrong(const ContentRow& row, Json found, const std::string& pointer) {
  std::string detail(row.key);
  detail.append(": wanted ").append(row.shape->wanted).append(", found ");
  detail.append(found ? describe(found) : "nothing");
  if (row.required) {
    detail.append("; it is required");
  }
  return fault(std::move(detail), pointer);
}

class Checker {
 public:
  Checker(std::span<const ContentRow> rows, uint8_t type) : rows_(rows), types_(bit_of(type)) {}

  // `within` is the object's place in the rows, `pointer` the one in the message.
  std::expected<void, Error> check(Json object, const std::string& within,
                                   const std::string& pointer) const {
    std::vector<bool> seen(rows_.size());
    for (const lib::JsonMember& member : object.members()) {
      const auto row = std::ranges::find_if(
          rows_, [&](const ContentRow& each) { return is_of(each, within, member.key); });
      if (row == rows_.end()) {
        continue;
      }
      const std::string place = pointer + pointer_step(member.key);
      const auto at = static_cast<size_t>(row - rows_.begin());
      if (seen[at]) {
        return fault(std::string(row->key) + ": the member is there twice; leave one out", place);
      }
      seen[at] = true;
      if (auto good = check_member(*row, member.value, place); !good) {
        return good;
      }
    }
    for (size_t at = 0; at < rows_.size(); ++at) {
      if (rows_[at].required && !seen[at] && is_of(rows_[at], within, rows_[at].key)) {
        return wrong(rows_[at], {}, pointer + pointer_step(rows_[at].key));
      }
    }
    return {};
  }

 private:
  bool is_of(const ContentRow& row, std::string_view within, std::string_view key) const {
    return (row.types & types_) != 0 && row.within == within && row.key == key;
  }

  std::expected<void, Error> check_member(const ContentRow& row, Json value,
                                          const std::string& place) const {
    if (value.is_null() && !row.required) {
      return {};
    }
    if (!row.shape->fits(value)) {
      return wrong(row, value, place);
    }
    const std::string inner = std::string(row.within) + "/" + std::string(row.key);
    if (std::ranges::none_of(rows_, [&](const ContentRow& each) { return each.within == inner; })) {
      return {};
    }
    if (value.is_object()) {
      return check(value, inner, place);
    }
    size_t at = 0;
    for (const Json element : value.elements()) {
      if (auto good = check(element, inner, place + "/" + std::to_string(at)); !good) {
        return good;
      }
      ++at;
    }
    return {};
  }

  std::span<const ContentRow> rows_;
  uint32_t types_;
};

}  // namespace

std::expected<void, Error> check_content(std::span<const ContentRow> rows, uint8_t type,
                                         Json object, std::string_view pointer) {
  return Checker(rows, type).check(object, "", std::string(pointer));
}

}  // namespace parley::dialect
