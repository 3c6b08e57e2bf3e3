// SPDX-License-Identifier: Apache-2.0
// Any bytes: the decoder takes them or refuses them, and takes each entry in one form only.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "core/model/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parley;
  const std::string_view payload(reinterpret_cast<const char*>(data), size);
  const auto entry = core::decode_entry(base::Seq{1}, base::Time{1}, payload);
  if (entry) {
    std::string again;
    core::encode(*entry, again);
    CHECK(again == payload);
  }
  return 0;
}
