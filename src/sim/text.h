// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace parley::sim {

namespace detail {

inline void append(std::string& out, std::string_view part) { out.append(part); }

template <class Number>
  requires std::is_integral_v<Number>
void append(std::string& out, Number part) {
  out.append(std::to_string(part));
}

}  // namespace detail

// The form with each `{}` replaced by the next part: a text or a whole number. For failures and
// histories, where a library for it would be more than is needed.
template <class... Parts>
std::string text(std::string_view form, const Parts&... parts) {
  std::string out;
  const auto put = [&](const auto& part) {
    const size_t at = form.find("{}");
    out.append(form.substr(0, at));
    form.remove_prefix(at == std::string_view::npos ? form.size() : at + 2);
    detail::append(out, part);
  };
  (put(parts), ...);
  return out.append(form);
}

}  // namespace parley::sim
