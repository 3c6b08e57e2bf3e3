// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The texts of which the target of a request is made: RFC 3986.
namespace parley::net {

// Decodes `%41` and, in a query, `+`. None when the text is not well-formed, or not UTF-8 then.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
// One segment of a path, or one value of a query.
std::string percent_encoded(std::string_view text);

// The segments of a path; the first slash begins the first one.
std::vector<std::string_view> path_segments(std::string_view path);

// A parameter of a query, decoded; none when it is not there.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace parley::net
