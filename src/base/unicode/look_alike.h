// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace parley::base {

// What a name looks like, for comparing: ASCII letters in lower case, and a fullwidth, Cyrillic or
// Greek letter as the Latin letter that a reader takes it for. All other characters stay. The table
// is small on purpose: letters that look the same in most fonts, not those that are merely alike.
std::string skeleton(std::string_view name);

// Whether it is ASCII only. Two such names are told apart by their letters, in any font.
bool is_ascii(std::string_view text);

}  // namespace parley::base
